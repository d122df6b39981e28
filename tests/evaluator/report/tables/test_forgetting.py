"""The table of forgetting: before and after, pooled over trainings."""

import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.results import Results
from evaluator.provenance.contamination import CONTAMINATED
from evaluator.report.tables.forgetting import ForgettingTable, measured_elsewhere
from evaluator.report.tables.sources import Source
from evaluator.statistics.pooled import pool
from tests.evaluator.analysis.test_pooling import made_run, trained
from tests.evaluator.report.tables.conftest import cell


def tuned(block: str, before: float, after: float) -> Results:
    """A run of a model that was trained on a block and measured on another benchmark."""
    row = {"metric": "R@1", "value": 0.1}
    elsewhere = [made_run(value, block="other", benchmark="e/w", rows=(row,)) for value in (before, after)]
    elsewhere[1]["training"] = {"status": CONTAMINATED, "said": "CONTAMINATED: 1 of 9."}
    return {**trained(0.5, block, 0), "forgetting": [dict(zip(("before", "after"), elsewhere, strict=True))]}


def source(label: str, *runs: Results) -> Source:
    return Source((label,), [{**entry, "model": label} for entry in pool_runs(runs)], "", runs)


def test_trainings_are_pooled_as_runs_of_the_block_that_all_were_measured_on() -> None:
    found = source("HN", tuned("a", 0.6, 0.4), tuned("b", 0.6, 0.5), tuned("c", 0.6, 0.6))
    table = ForgettingTable("10", "Forgetting").make([found, source("base", made_run())])
    (before, after) = measured_elsewhere(found)
    assert [(each["runs"], each["blocks"], each["model"]) for each in (before, after)] == [
        (3, 1, "HN, before"),
        (3, 1, "HN, after"),
    ]
    split = before["rows"][0]["split"]
    lines = [line.labels for line in table.lines[:2]]
    assert lines == [[f"bench-other: binary accuracy {split}", label] for label in ("HN", "base")]
    values = [0.4, 0.5, 0.6]
    expected = pool(values, [v - 0.1 for v in values], [v + 0.05 for v in values], ["k"] * 3, 0.95)
    shown = cell(table, lines[0], "After").numbers
    assert (shown["value"], shown["low"], shown["high"]) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-6
    )
    assert cell(table, lines[0], "Before").text == "60.0 ± 0.0"
    assert cell(table, lines[0], "Change").text == "-10.0"
    assert cell(table, lines[0], "Chance").text == "50.0"
    assert "was not measured before the run" in cell(table, lines[1], "After").reason
    assert "HN, after: CONTAMINATED: 1 of 9." in table.mark


def test_only_main_metrics_have_a_line() -> None:
    table = ForgettingTable("10", "Forgetting").make([source("HN", tuned("a", 0.6, 0.4))])
    assert not [line for line in table.lines if "R@1" in line.labels[0]]
    assert [line.labels[0] for line in table.lines][1:] == ["chance", "items", "clusters", "unscored"]


def test_without_measurements_there_is_no_line() -> None:
    assert not ForgettingTable("10", "Forgetting").make([source("base", made_run())]).lines
