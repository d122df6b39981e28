"""The table of what training changed elsewhere: before and after, pooled over trainings."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.report.tables.forgetting import ForgettingTable
from evaluator.report.tables.sources import read_sources
from evaluator.statistics.pooled import pool
from generator.base.errors import UserError
from tests.evaluator.report.tables.conftest import cell

Made = Callable[..., str]


@pytest.fixture
def run_of(measured: Path, tmp_path: Path) -> Made:
    """Writes a run as if a model had made it: its name, what is known of it, and the main accuracy of binary."""

    def write(model: str, share: float, **info: Any) -> str:
        folder = tmp_path / model
        shutil.copytree(measured, folder)
        for name in ("run.json", "results.json"):
            record = json.loads((folder / name).read_text())
            record["model"] = model
            if name == "run.json":
                record["info"] = info
            else:
                for row in record["rows"]:
                    if (row["protocol"], row["split"], row["metric"]) == ("binary", "seen", "accuracy"):
                        row |= {"value": share, "low": share - 0.1, "high": share + 0.05}
            (folder / name).write_text(json.dumps(record))
        return str(folder)

    return write


def trained(weights: str, base: str) -> dict[str, Any]:
    return {"weights_sha256": weights, "trained_on": {"base": {"model": "base", "weights_sha256": base}}}


def test_each_trained_model_counts_as_a_run_and_is_compared_with_its_base(measured: Path, run_of: Made) -> None:
    """Three trainings of one base; the base is given with each of them and counts once."""
    base, values = run_of("base", 0.6, weights_sha256="b"), [0.4, 0.5, 0.6]
    after = [run_of(f"tuned{i}", value, **trained(f"t{i}", "b")) for i, value in enumerate(values)]
    sources = read_sources(
        [f"HN={measured}", f"control={measured}"], (), [f"HN={base}"] * 3, [f"HN={each}" for each in after]
    )
    assert [(each["runs"], each["model"]) for each in sources[0].elsewhere] == [(1, "HN, before"), (3, "HN, after")]
    table = ForgettingTable("10", "Forgetting").make(sources)
    line = next(line.labels for line in table.lines if "binary accuracy swap seen" in line.labels[0])
    assert line[1] == "HN"
    expected = pool(values, [v - 0.1 for v in values], [v + 0.05 for v in values], ["k"] * 3, 0.95)
    shown = cell(table, line, "After").numbers
    assert (shown["value"], shown["low"], shown["high"]) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-6
    )
    assert cell(table, line, "Change").text == "-10.0"
    assert "was not measured" in cell(table, [line[0], "control"], "After").reason
    assert not [line for line in table.lines if "mean score" in line.labels[0]]
    assert not ForgettingTable("10", "Forgetting").make(read_sources([f"HN={measured}"])).lines


def test_mistakes_are_said(run_of: Made) -> None:
    base, other = run_of("base", 0.6, weights_sha256="b"), run_of("other", 0.6, **trained("t", "changed"))
    with pytest.raises(UserError, match=r"did not start from one that --before gives for 'HN'"):
        read_sources([], (), [f"HN={base}"], [f"HN={other}"])
    with pytest.raises(UserError, match="Expected --before LABEL=RUN"):
        read_sources([], (), [base])
