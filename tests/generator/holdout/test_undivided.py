"""Worlds of which nothing is held out (`--holdout none`): one split, for models that were trained
elsewhere."""

import re
from collections import Counter
from pathlib import Path

import pytest

from evaluator.api import evaluate
from evaluator.report.page import write_page
from evaluator.runs.dataset import Dataset as Questions
from evaluator.runs.folder import read_named
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world, write_benchmarks
from generator.describe.request import TextRequest
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan, arrangements
from generator.holdout.request import HoldoutRequest
from generator.judge.verify import verify_dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.vocabulary.schema import read_vocabulary
from tests.generator.unrendered import write_planned

VOCABULARY = read_vocabulary("clevr")
COUNTS = {"train": 200, "val": 3, "seen": 5, "partial": 5, "unseen": 5}


def test_every_arrangement_is_in_the_one_split() -> None:
    rule = SplitPlan(VOCABULARY, draw_block("none", VOCABULARY, 0))
    places = [rule.place(arrangement) for arrangement in arrangements(VOCABULARY, "color")]
    assert rule.splits == ("all",)
    assert {(placing.split, len(placing.held_out)) for placing in places} == {("all", 0)}


def test_crowded_scenes_of_three_shapes_can_be_asked_about_two_of_their_objects() -> None:
    """A block leaves the family of CLEVR itself no unseen scene of three objects or more."""
    planned = prepare(
        WorldOptions(
            family="clevr-original",
            holdout="none",
            scenes="60",
            resolution="64x48",
            objects=(3, 6),
            pairs=False,
        )
    ).planned
    assert [scene.split for scene in planned] == ["all"] * 60
    numbers = Counter(len(scene.objects) for scene in planned)
    assert set(numbers) == {3, 4, 5, 6}
    assert max(numbers.values()) - min(numbers.values()) <= 1
    for scene in planned:
        shapes = Counter(category for category, _ in scene.objects)
        lone = {
            attributes["color"] for category, attributes in scene.objects if shapes[category] == 1
        }
        assert len(lone) > 1


def test_it_is_one_benchmark_whatever_the_seed() -> None:
    request = HoldoutRequest("bindsplit", ("none",), (3,))
    assert request.holdouts(VOCABULARY) == HoldoutRequest("bindsplit", ("none",)).holdouts(
        VOCABULARY
    )


@pytest.mark.parametrize("objects", [(2, 2), pytest.param((3, 6), marks=pytest.mark.full)])
def test_protocols_are_asked_verified_and_measured_in_one_row(
    objects: tuple[int, int], tmp_path: Path
) -> None:
    prepared = prepare(
        WorldOptions(
            family="clevr-many", holdout="none", scenes="30", resolution="64x48", objects=objects
        )
    )
    write_planned(tmp_path, prepared)
    (first,) = write_benchmarks(
        tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False
    ).values()
    assert first.scenes == {"all": 30}
    assert not first.unknown_words
    protocols = ("binary", "integration", "skill")[: 3 if objects[1] > 2 else 1]
    describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=prepared.holdout,
        name="texts",
        request=TextRequest(protocols),
    )
    certificates = verify_dataset(tmp_path, None)
    assert {name: certificate["findings"] for name, certificate in certificates.items()} == {
        "none": [],
        "texts": [],
    }
    questions = Questions.open(tmp_path, "texts")
    rows = evaluate("blind:length", questions, out=tmp_path / "run").results["rows"]
    assert {row["protocol"] for row in rows} == {*protocols}
    assert {(row["split"], row["minus"]) for row in rows} == {("all", None)}
    differences = [row for row in rows if row["unit"] == "difference" and row["low"] is not None]
    assert all(-1 <= row["low"] <= row["high"] <= 1 for row in differences)
    write_page([read_named(str(tmp_path / "run"))], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Nothing is held out: all scenes are of one split." in page
    assert re.search(r">\s*all %\s*<", page)


def test_a_world_of_splits_becomes_one_of_one_split(tmp_path: Path) -> None:
    prepared = prepare(
        WorldOptions(family="clevr", holdout="3x3", scenes=COUNTS, resolution="64x48")
    )
    write_planned(tmp_path, prepared)
    (nothing,) = HoldoutRequest("bindsplit", ("none",)).holdouts(prepared.vocabulary)
    summary = describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=nothing,
        name="none",
        request=TextRequest(("binary",)),
    )
    assert summary.scenes == {"all": 218}
    assert verify_dataset(tmp_path, "none")["none"]["findings"] == []
