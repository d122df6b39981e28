"""Certificates: status, sentence, counts, and what makes a dataset unjudgeable."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from generator.dataset.certificate import Level
from generator.judge.certificate import (
    Finding,
    Findings,
    Images,
    Reproduced,
    finding,
    guarded,
    make_certificate,
)
from generator.judge.verify import verify_dataset
from tests.generator.judge.datasets import BENCHMARK, CROWDS, SPLITS, judged, make, seal


def test_a_clean_dataset_is_clean(copied: Path) -> None:
    certificate = judged(copied)
    assert certificate["status"] == "clean"
    assert certificate["findings"] == []
    assert "have no leak; every positive is true, every negative false" in certificate["sentence"]
    assert certificate["counts"]["scenes"] == 174


def test_a_benchmark_without_its_block_is_not_clean(copied: Path, benchmark: Path) -> None:
    (benchmark / "holdout.json").unlink()
    seal(benchmark)
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert set(certificate["faults"]) == {"missing holdout"}


@pytest.mark.parametrize("at", ["", "file://"])
def test_a_folder_or_url_that_cannot_be_written_gets_a_verdict(at: str) -> None:
    """A process without the right to write; root gives up its own first, when all is imported."""
    code = """
import json, logging, os, sys, tempfile
from pathlib import Path
from generator.base.store import local_folder
from generator.judge.verify import verify_dataset
where, root, certificate = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
def verify():
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=root.parent)
    return verify_dataset(local_folder(where), None)
verify()
certificate.unlink()
for path in (*root.rglob("*"), root):
    path.chmod(0o555 if path.is_dir() else 0o444)
if os.geteuid() == 0:
    os.seteuid(65534)
logging.basicConfig()
print(json.dumps(verify()))
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        root = make(Path(folder) / "dataset", CROWDS, SPLITS)
        path = root / "benchmarks" / BENCHMARK / "verify.json"
        command = [sys.executable, "-c", code, f"{at}{root}", str(root), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for path_ in (root, *root.rglob("*")):
            path_.chmod(0o755)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[BENCHMARK]["status"] == "clean"
        assert f"The certificate is not written to {at}{root}/" in done.stderr
        assert not path.exists()


def test_a_certificate_that_cannot_be_replaced_is_returned(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    (root / "benchmarks" / BENCHMARK / "verify.json").mkdir()
    assert verify_dataset(root, None)[BENCHMARK]["status"] == "clean"


def test_the_first_twenty_of_a_fault_are_listed() -> None:
    findings = Findings()
    findings.add(finding("b", str(n)) for n in range(23))
    findings.append(finding("a", "x"))
    assert findings.counts == {"b": 23, "a": 1}
    listed = [finding["what"] for finding in findings.listed()]
    assert listed == ["x", *map(str, range(20)), "and 3 more"]


def test_a_check_that_ends_over_the_files_is_a_finding_and_keeps_what_it_found() -> None:
    def check() -> Iterator[Finding]:
        yield finding("leak", "a")
        raise KeyError("category")

    assert list(guarded(check(), "pools")) == [
        finding("leak", "a"),
        finding(
            "unjudged",
            "pools cannot be judged, since the data of a file do not fit its format: "
            "KeyError('category')",
        ),
    ]


TABLES = {
    "splits": pa.table({"split": ["train", None]}),
    "items": pa.table({"protocol": ["binary", "mine"]}),
}


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
        ({"design": "mine"}, "clean", "the design 'mine' as its author describes it"),
        (
            {},
            "clean",
            "every file whole; not made again, since it was not requested; at the level of "
            "records: no pixel was compared.",
        ),
    ],
)
def test_the_sentence_says_what_was_judged(
    manifest: dict[str, Any], status: str, words: str
) -> None:
    certificate = make_certificate(
        Findings(),
        {"sums": "b", **manifest},
        TABLES,
        world="w",
        images=Images(),
        reproduced=Reproduced(),
    )
    assert (
        certificate["status"],
        certificate["level"],
        certificate["world"],
        certificate["benchmark"],
    ) == (
        status,
        Level.RECORDS,
        "w",
        "b",
    )
    assert words in certificate["sentence"]


def test_a_finding_fails() -> None:
    findings = Findings()
    findings.append(finding("wrong form", "text 1"))
    certificate = make_certificate(
        findings,
        {},
        {},
        world=None,
        images=Images(Level.SAMPLED, sentence="one image"),
        reproduced=Reproduced(),
    )
    assert (certificate["status"], certificate["sentence"], certificate["counts"]["scenes"]) == (
        "failed",
        "failed: 1 x wrong form.",
        0,
    )
    assert certificate["level"] == "sampled images"


def test_a_look_at_images_is_in_the_sentence() -> None:
    certificate = make_certificate(
        Findings(),
        {},
        TABLES,
        world=None,
        images=Images(Level.ALL, (), {"scenes": 4}, "4 of 4 images show their records"),
        reproduced=Reproduced(True),
    )
    assert "every file whole; made again byte for byte" in certificate["sentence"]
    assert certificate["sentence"].endswith(
        "; at the level of all images: 4 of 4 images show their records."
    )
    assert certificate["images"] == {"scenes": 4}
