"""Composed and decomposed recall and their gap against their definitions in plain Python."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.runs.measure import measure
from tests.evaluator.synthetic import Builder, write_run


def test_a_random_scorer_has_the_gap_of_chance(tmp_path: Path) -> None:
    builder = Builder(3, 2000)
    decomposed = [(f"d{i}", truth, None) for i in range(1, 5) for truth in (True, False)]
    for _ in range(6000):
        builder.add(
            "integration",
            "composed",
            [("c", True, None), *[("n", False, None)] * 4, *decomposed],
            None,
            "OA",
            (2, 2, 0),
        )
    root = builder.write(tmp_path / "dataset")
    rng = np.random.default_rng(0)
    results = measure(write_run(root, tmp_path / "run", lambda n: rng.normal(size=n)))
    gaps = [row for row in results["rows"] if row["metric"] == "integration gap" and row["n"] == 4]
    assert len(gaps) == 4
    for row in gaps:
        assert row["chance"] == pytest.approx(2**-4 - 1 / 5, abs=1e-6)
        assert round(100 * row["chance"], 1) == -13.8
        assert row["low"] < row["chance"] < row["high"]
        assert row["value"] == pytest.approx(-0.1375, abs=0.04)
