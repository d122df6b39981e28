"""Summaries of holdouts are the words of the generator, and names of a holdout are those of the vocabulary."""

from pathlib import Path
from typing import Any

import pytest

from generator.holdout.request import design_of, draw_holdouts
from generator.judge.benchmark_manifest import _summary, _unknown
from generator.vocabulary.schema import read_vocabulary
from tests.generator.judge.datasets import BLOCK, CROWDS, SPLITS, judged, make, restate, said

CLEVR = read_vocabulary("clevr")
WORDS = {"attributes": {"color": ["red"]}, "objects": ["cube", "sphere"], "relations": ["left"], "category": "shape"}


@pytest.mark.parametrize(
    ("design", "asked"),
    [
        ("bindsplit", ["3x3"]),
        ("bindsplit", ["2x2", "relation:pair=2x2"]),
        ("coverage", ["k1..3"]),
        ("systematicity", ["2x2", "atoms=1x1"]),
    ],
)
def test_a_summary_is_made_from_the_holdout_alone(design: str, asked: list[str]) -> None:
    for holdout in draw_holdouts(asked, design, CLEVR, 0):
        assert _summary(holdout.to_dict()) == design_of(holdout).summary(holdout)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, []),
        ({"kind": "size"}, ["the attribute kind 'size'"]),
        ({"category": "animal"}, ["the category 'animal'"]),
        ({"absent_values": ["blue"]}, ["the value 'blue'"]),
        ({"triples": [["cube", "above", "cone"]]}, ["the object 'cone'", "the relation 'above'"]),
        ({"bindings": [["red", "cube"], ["red", "cube"]]}, ["the binding 'red cube' twice"]),
    ],
)
def test_a_holdout_names_what_the_vocabulary_has(change: dict[str, Any], named: list[str]) -> None:
    assert list(_unknown({**BLOCK, **change}, WORDS)) == named


def test_what_the_manifest_declares_is_that_of_the_holdout(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    assert judged(root)["status"] == "clean"
    restate(root, design="coverage", held_out="nothing", equal_familiarity="no")
    told = said(judged(root), "wrong manifest")
    for words in ("has the design 'coverage'", "says equal_familiarity: no", "'nothing' is held out"):
        assert words in told
