"""Tables of papers in a terminal."""

import pytest

from evaluator.cli.paper_table import print_table
from evaluator.report.tables.table import Cell, Column, Line, Table


def test_a_group_stands_once_above_its_columns_and_notes_below(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [Line(["a"], [Cell("1.0", "[0.5, 2.0]"), Cell(reason="no run"), Cell("3.0")])]
    print_table(Table(["model"], [Column("x", "Group"), Column("y", "Group"), Column("z", "Other")], lines, "Table 1", "T", ["In %."]))  # fmt: skip
    shown = capsys.readouterr().out
    assert shown.startswith("Table 1. T\n")
    assert shown.count("Group") == shown.count("Other") == 1
    assert "[0.5, 2.0]" in shown
    assert shown.rstrip().endswith("(a) no run.")
