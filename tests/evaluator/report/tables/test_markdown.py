"""Tables as Markdown."""

from evaluator.report.tables.markdown import markdown
from evaluator.report.tables.table import Cell, Column, Line, Table


def test_a_table_has_title_mark_lines_and_notes() -> None:
    lines = [Line(["a_b"], [Cell("50.0", "[40.0, 60.0]", "*"), Cell(reason="no run")])]
    table = Table(
        ["model"], [Column("x", "G"), Column("y")], lines, "Table 2", "A title", ["In %."], "CONTAMINATED: x."
    )
    assert markdown(table) == "\n".join([
        "**Table 2. A title**", "", "**CONTAMINATED: x.**", "", "| model | G: x | y |", "| --- | ---: | ---: |",
        r"| a\_b | 50.0\* \[40.0, 60.0\] | – (a) |", "", "In %.", "", "(a) no run.", "",
    ])  # fmt: skip
