"""The short table of results as text cells."""

from evaluator.analysis.pooling import pool_runs
from evaluator.report.overview import read_lines, shown_splits
from evaluator.report.short import short_table
from tests.evaluator.cli.test_results_table import results


def test_a_line_has_a_cell_for_each_heading() -> None:
    found = results({"split": "seen", "value": 0.5}, {"split": "unseen", "value": None, "low": None}, {"kind": "flip"})
    entries = pool_runs([found])
    lines = [line for group in read_lines(entries) for line in group]
    table = short_table(lines, entries, shown_splits(lines), 2)
    assert table.labels == ["protocol", "metric", "kind"]
    assert table.numbers[:3] == ["seen %", "unseen %", "chance %"]
    assert all(len(row) == len(table.labels) + len(table.numbers) for row in table.rows)
    assert table.rows[0][3].startswith("50.00 (")
    assert table.rows[0][4] == "–"


def test_a_split_that_holds_the_others_gives_the_counts() -> None:
    """By familiarity `full` has all items, so that a sum over the splits would count them twice."""
    found = results({"split": "full", "items": 9}, {"split": "seen", "items": 5}, {"split": "mixed", "items": 3})
    entries = pool_runs([found])
    lines = [line for group in read_lines(entries) for line in group]
    table = short_table(lines, entries, ["full", "seen", "mixed"])
    items = len(table.labels) + table.numbers.index("items")
    assert [row[items] for row in table.rows] == ["9"]
