"""A table's reasons and notes."""

from evaluator.report.tables.table import Cell, Column, Line, Table, plain


def test_each_reason_has_a_letter_that_is_explained_once() -> None:
    lines = [
        Line(["a"], [Cell("1"), Cell(reason="no run")]),
        Line(["b"], [Cell(reason="too dear"), Cell(reason="no run")]),
    ]
    table = Table(["model"], [Column("x"), Column("y")], lines, notes=["In %."])
    letters = table.letters()
    assert [[plain(cell, letters) for cell in line.cells] for line in lines] == [["1", "– (a)"], ["– (b)", "– (a)"]]
    assert table.said() == ["In %.", "(a) no run.", "(b) too dear."]


def test_letters_do_not_run_out() -> None:
    cells = [Cell(reason=f"reason {i}") for i in range(30)]
    table = Table([], [Column(str(i)) for i in range(30)], [Line([], cells)])
    letters = list(table.letters().values())
    assert letters[:2] + letters[25:28] == ["a", "b", "z", "27", "28"]
