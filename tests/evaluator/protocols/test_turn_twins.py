"""Turn twins as questions of `pairs`: who sees which side an image shows answers all of them, who
reads only the captions none."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.api import evaluate
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.generator.turned_worlds import write_turned_world

COUNTS = {"train": 60, "val": 2, "seen": 16, "partial": 8, "unseen": 8}


@pytest.fixture(scope="module", params=["clevr", "pug-frames"])
def judged(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A verified dataset of turn twins, seen from four viewpoints."""
    root = tmp_path_factory.mktemp("turns") / "dataset"
    prepared = write_turned_world(root, request.param, scenes=COUNTS, turns="180")
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name="turns",
        request=TextRequest(("pairs", "binary")),
    )
    assert verify_dataset(root, None)["turns"]["status"] == "clean"
    return root


def rows_of(root: Path, model: str, out: Path) -> dict[tuple[str, str], dict[str, Any]]:
    results: Any = evaluate(model, root, protocols=("pairs",), out=out).results
    return {
        (row["split"], row["metric"]): row
        for row in results["rows"]
        if row["kind"] == "turn" and not row["is_gap"]
    }


def test_every_pair_of_sides_is_asked_and_the_oracle_is_right(judged: Path, tmp_path: Path) -> None:
    rows = rows_of(judged, "oracle", tmp_path / "run")
    for split in ("seen", "partial", "unseen"):
        assert rows[split, "group"]["items"] == COUNTS[split] / 2
        for metric in ("text", "image", "group", "matching"):
            assert rows[split, metric]["value"] == 1.0


def test_a_reader_of_captions_alone_ties_on_every_pair(judged: Path, tmp_path: Path) -> None:
    rows = rows_of(judged, "blind:length", tmp_path / "run")
    for metric in ("text", "image", "group", "matching"):
        row = rows["seen", metric]
        assert row["value"] == 0
        if metric != "text":
            assert row["ties"] == row["items"]
