"""Reading the folder of a run: what is missing or changed is refused with the way to mend it."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.measure import measure
from evaluator.run_folder import open_run, pool_path, read_results
from generator.dataset.errors import UserError
from generator.dataset.files import read_json, write_json
from tests.evaluator.synthetic import Builder, write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = Builder(0, 4)
    builder.add("binary", "swap", [("c", True, None), ("n", False, None)])
    return write_run(builder.write(tmp_path / "dataset"), tmp_path / "run", lambda n: np.tile([1.0, 0.0], n // 2))


def test_a_run_is_read_with_its_benchmark(folder: Path) -> None:
    run = open_run(folder)
    assert (run.benchmark.name, run.record["model"], run.channels) == ("all", "random", ["cosine"])


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no finished run; give a folder written by `score run`"):
        open_run(tmp_path)


def test_a_dataset_that_changed_is_refused(folder: Path) -> None:
    write_json(folder / "run.json", {**read_json(folder / "run.json"), "world": "0" * 64})
    with pytest.raises(UserError, match=r"changed since .* was scored; run `score run` again with another --out"):
        open_run(folder)


def test_results_are_read_or_said_to_be_missing(folder: Path) -> None:
    with pytest.raises(UserError, match="has no results; write them with `score measure"):
        read_results(open_run(folder))
    assert measure(folder) == read_results(open_run(folder))


def test_lost_scores_are_refused(folder: Path) -> None:
    (folder / "scores.parquet").unlink()
    with pytest.raises(UserError, match=r"has lost its scores.parquet; run `score run` again"):
        measure(folder)


def test_only_the_first_channel_of_a_pool_has_a_plain_name() -> None:
    assert pool_path(Path("run"), "grid", "itm", 0) == Path("run/pools/grid.npy")
    assert pool_path(Path("run"), "grid", "itc", 1) == Path("run/pools/grid.itc.npy")
