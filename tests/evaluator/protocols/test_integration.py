"""Composed and decomposed recall and their gap against their definitions in plain Python."""

import statistics
from pathlib import Path

import numpy as np
import pytest

from evaluator.runs.measure import measure
from tests.evaluator.protocols.plain import PlainItem, Value, check_rows, wins
from tests.evaluator.synthetic import Builder, Row, write_run


def expected(q: PlainItem) -> dict[str, Value]:
    slots = sorted({row["slot"] for row in q.rows} - {"c", "n"})
    pairs = [(q.of(slot, True)[0], q.of(slot, False)[0]) for slot in slots]
    won = all(wins(a, b) for a, b in pairs)
    composed, decomposed = (
        q.recall(),
        (float(won), not won and not any(wins(b, a) for a, b in pairs), 0.5 ** len(slots)),
    )
    gap = (decomposed[0] - composed[0], composed[1] or decomposed[1], decomposed[2] - composed[2])
    return {"R@1 composed": composed, "R@1 decomposed": decomposed, "integration gap": gap}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("integration", expected, [("level", "n")], asked, results)


def test_the_mean_over_n_is_unweighted_with_the_sample_deviation(results: Row) -> None:
    macro = [row for row in results["rows"] if row["average"].startswith("macro")]
    assert len(macro) == 3 * 2 * 4
    for row in macro:
        parts = [
            other for other in results["rows"] if other["n"] is not None and other["items"]
            and all(other[name] == row[name] for name in ("protocol", "metric", "level", "split"))
        ]  # fmt: skip
        assert row["value"] == pytest.approx(statistics.fmean(part["value"] for part in parts), abs=2e-6)
        assert row["chance"] == pytest.approx(statistics.fmean(part["chance"] for part in parts), abs=2e-6)
        assert row["sd"] == pytest.approx(statistics.stdev(part["value"] for part in parts), abs=2e-6)
        assert row["low"] <= row["value"] <= row["high"]


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
