"""Measured runs, for comparison."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.runs.measure import measure
from tests.evaluator.synthetic import Builder, one_of_each, planted, write_run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three runs of a benchmark with items of every protocol but retrieval, with ties and unscored
    items."""
    folder = tmp_path_factory.mktemp("runs")
    root = one_of_each(Builder(0, 240), 25).write(folder / "dataset")
    rng = np.random.default_rng(1)
    runs = [
        write_run(root, folder / name, lambda n: planted(rng, n), broken=[i, 90])
        for i, name in enumerate("xyz")
    ]
    for run in runs:
        measure(run)
    return runs
