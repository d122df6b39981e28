"""A certificate says its level, and what it leaves open."""

from typing import Any

import pyarrow as pa
import pytest

from generator.judge.certificate import certificate
from generator.judge.findings import Findings, finding
from generator.judge.levels import Images, Level, Reproduced

TABLES = {"splits": pa.table({"split": ["train", None]}), "items": pa.table({"protocol": ["binary", "mine"]})}


@pytest.mark.parametrize(
    ("manifest", "status", "words"),
    [
        ({}, "clean", "clean: judged: 1 scenes, 0 texts and 2 items have no leak"),
        ({"declared_leaks": ["so"]}, "as declared", "have the declared leaks only (so)"),
        (
            {"declared_leaks": ["so"], "exposed_negatives": True},
            "as declared",
            "training negatives may name what is held out",
        ),
        ({"balance": {}}, "clean", "counts and balance as declared"),
        ({}, "clean", "the form of items of mine not judged"),
        ({"design": "mine"}, "clean", "the design 'mine' in its author's words"),
        (
            {},
            "clean",
            "every file whole; not made again, since nobody asked for it; at the level of records: no pixel was compared.",
        ),
    ],
)
def test_the_sentence_says_what_was_judged(manifest: dict[str, Any], status: str, words: str) -> None:
    found = certificate(Findings(), {"sums": "b", **manifest}, TABLES, "w", Images(), Reproduced())
    assert (found["status"], found["level"], found["world"], found["benchmark"]) == (status, Level.RECORDS, "w", "b")
    assert words in found["sentence"]


def test_a_finding_fails() -> None:
    findings = Findings()
    findings.append(finding("wrong form", "text 1"))
    found = certificate(findings, {}, {}, None, Images(Level.SAMPLED, sentence="one image"), Reproduced())
    assert (found["status"], found["sentence"], found["counts"]["scenes"]) == ("failed", "failed: 1 x wrong form.", 0)
    assert found["level"] == "sampled images"


def test_a_look_at_images_is_in_the_sentence() -> None:
    found = certificate(
        Findings(),
        {},
        TABLES,
        None,
        Images(Level.ALL, (), {"scenes": 4}, "4 of 4 images show their records"),
        Reproduced(True),
    )
    assert "every file whole; made again byte for byte" in found["sentence"]
    assert found["sentence"].endswith("; at the level of all images: 4 of 4 images show their records.")
    assert found["images"] == {"scenes": 4}
