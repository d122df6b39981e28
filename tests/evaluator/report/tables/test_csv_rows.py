"""Tables as rows of numbers."""

from evaluator.report.tables.csv_rows import csv_rows
from evaluator.report.tables.table import Cell, Column, Line, Table


def test_each_cell_with_a_number_or_a_reason_is_a_row() -> None:
    numbers = {"value": 0.51234, "unit": "share", "low": 0.4, "kind": "swap"}
    lines = [
        Line(["a"], [Cell("51.2", numbers=numbers), Cell(reason="no run")]),
        Line(["chance"], [Cell("50.0"), Cell()]),
    ]
    rows = csv_rows(Table(["model"], [Column("x", "G"), Column("y")], lines))
    assert rows == [
        {"model": "a", "group": "G", "column": "x", "value": 0.51234, "unit": "share", "low": 0.4, "reason": ""},
        {"model": "a", "group": "", "column": "y", "value": None, "unit": None, "low": None, "reason": "no run"},
    ]
