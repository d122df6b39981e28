"""A dataset whose images lie in tars is scored as one whose images lie in folders."""

from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import first_request
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from tests.evaluator.conftest import score_command
from tests.generator.worlds import rewrite


@pytest.mark.full
@pytest.mark.usefixtures("bags")
def test_scores_do_not_depend_on_where_images_lie(drawn: Path, tmp_path: Path) -> None:
    root = rewrite(drawn, tmp_path / "tars", tar_bytes=20_000)
    holdout = Holdout.from_dict(Dataset.open(drawn).block())
    name = design_of(holdout).benchmark_name(holdout)
    describe_world(
        root, Dataset.open(root).world, holdout=holdout, name=name, request=first_request(holdout)
    )
    assert len(list(root.glob("world/shards/*.tar"))) > 2
    assert not list(root.glob("world/images"))
    for dataset, run in ((drawn, "loose"), (root, "packed")):
        done = score_command(
            "run", dataset, "--model", f"bag:sharp@{drawn}", "--out", tmp_path / run
        )
        assert done.exit_code == 0, done.output
    assert Dataset.open(root).world.digest != Dataset.open(drawn).world.digest
    loose, packed = (sorted((tmp_path / run).rglob("*.parquet")) for run in ("loose", "packed"))
    assert [path.read_bytes() for path in packed] == [path.read_bytes() for path in loose] != []
