"""Tables: their cells, their reasons, and what the writers make of them."""

from evaluator.metrics.formats import number
from evaluator.report.table import (
    Cell,
    Column,
    Line,
    Table,
    chance_cell,
    count_cell,
    interval,
    load_cell,
    plain,
    result_cell,
)
from evaluator.report.writers import csv_rows, latex, markdown
from tests.evaluator.report.conftest import ROW


def test_numbers_are_written_for_people() -> None:
    assert [number(x, "share") for x in (0.0, 1.0, 0.0009, 0.00101)] == [
        "0.0",
        "100.0",
        "0.09",
        "0.1",
    ]
    assert [number(x, "share", 2) for x in (0.0, 0.57142, 2 / 7392, 0.00005)] == [
        "0.00",
        "57.14",
        "0.03",
        "0.005",
    ]
    assert interval({**ROW, "low": 0.12345, "high": 1.0}, 2) == "[12.35, 100.00]"
    assert interval({**ROW, "low": -0.1, "high": 0.2, "unit": "difference"}) == "[-10.0, +20.0]"


def test_a_value_has_its_interval_and_numbers() -> None:
    cell = result_cell(ROW)
    assert (cell.text, cell.interval, cell.numbers) == ("50.0", "[40.0, 60.0]", ROW)
    assert result_cell(None).text == "–"
    assert (
        result_cell({**ROW, "value": None, "unscored": 7}).reason == "none of 7 items has a score"
    )
    assert result_cell({**ROW, "low": None, "high": None}).interval == ""
    assert result_cell({**ROW, "sd": 0.125}).text == "50.0 ± 12.5"


def test_values_that_differ_are_a_range() -> None:
    rows = [
        {**ROW, "chance": chance, "items": items}
        for chance, items in ((0.1, 9), (0.09, 1200), (None, None))
    ]
    assert chance_cell(rows).text == "9.0–10.0"
    assert count_cell(rows, "items").text == "9–1,200"


def test_a_load_has_its_error_p_and_stars() -> None:
    cell = load_cell(
        {"beta": -1.234, "error": 0.2, "p": 0.0001, "stars_corrected": "**", "load": "self"}
    )
    assert (cell.text, cell.interval, cell.stars, cell.strong) == (
        "-1.23",
        "(0.20, <.001)",
        "**",
        True,
    )
    assert load_cell(None).text == "–"


def test_each_reason_has_a_letter_that_is_explained_once() -> None:
    lines = [
        Line(["a"], [Cell("1"), Cell(reason="no run")]),
        Line(["b"], [Cell(reason="too dear"), Cell(reason="no run")]),
    ]
    table = Table(["model"], [Column("x"), Column("y")], lines, notes=["In %."])
    letters = table.letters()
    assert [[plain(cell, letters) for cell in line.cells] for line in lines] == [
        ["1", "– (a)"],
        ["– (b)", "– (a)"],
    ]
    assert table.all_notes() == ["In %.", "(a) no run.", "(b) too dear."]
    many = Table(
        [],
        [Column(str(i)) for i in range(30)],
        [Line([], [Cell(reason=f"reason {i}") for i in range(30)])],
    )
    assert list(many.letters().values())[24:28] == ["y", "z", "27", "28"]


def test_each_cell_with_a_number_or_a_reason_is_a_row_of_csv() -> None:
    numbers = {"value": 0.51234, "unit": "share", "low": 0.4, "kind": "swap"}
    lines = [
        Line(["a"], [Cell("51.2", numbers=numbers), Cell(reason="no run")]),
        Line(["chance"], [Cell("50.0"), Cell()]),
    ]
    assert csv_rows(Table(["model"], [Column("x", "G"), Column("y")], lines)) == [
        {
            "model": "a",
            "group": "G",
            "column": "x",
            "unit": "share",
            "value": 0.51234,
            "low": 0.4,
            "reason": "",
        },
        {
            "model": "a",
            "group": "",
            "column": "y",
            "unit": None,
            "value": None,
            "low": None,
            "reason": "no run",
        },
    ]


MARKDOWN = r"""**Table 2. A title**

**CONTAMINATED: x.**

| model | G: x | y |
| --- | ---: | ---: |
| a\_b | 50.0\* \[40.0, 60.0\] | – (a) |

In %.

(a) no run.
"""


def test_markdown_has_title_mark_lines_and_notes() -> None:
    lines = [Line(["a_b"], [Cell("50.0", "[40.0, 60.0]", "*"), Cell(reason="no run")])]
    columns = [Column("x", "G"), Column("y")]
    table = Table(["model"], columns, lines, "Table 2", "A title", ["In %."], "CONTAMINATED: x.")
    assert markdown(table) == MARKDOWN


def test_control_characters_are_shown_in_markdown_and_csv() -> None:
    table = Table(
        ["model"],
        [Column("x")],
        [Line(["\x1b[2Jclean\u202e"], [Cell("1", numbers={"value": 1.0})])],
        "",
        "\x1b",
    )
    escaped = r"\x1b[2Jclean\u202e"
    assert [row["model"] for row in csv_rows(table)] == [escaped]
    assert not {"\x1b", "\u202e"} & set(markdown(table))


def test_latex_groups_span_their_columns() -> None:
    columns = [Column("x", "G"), Column("y", "G"), Column("z"), Column("x", "H & I")]
    cells = [
        Cell("-1.5", "[-2.0, 1.0]", "*", strong=True),
        Cell(reason="no run"),
        Cell("3"),
        Cell("4"),
    ]
    text = latex(Table(["model"], columns, [Line(["a"], cells)], "Table 2", "T", ["In %."]))
    heads = r" & \multicolumn{2}{c}{G} & \multicolumn{1}{c}{} & \multicolumn{1}{c}{H \& I} \\"
    assert rf"{heads} \cmidrule(lr){{2-3}} \cmidrule(lr){{5-5}}" in text
    assert (
        r"\textbf{$-$1.5$^{*}$} {\scriptsize {[}$-$2.0, 1.0]} & --\textsuperscript{a} & 3 & 4 \\"
        in text
    )
    assert r"\caption{T (Table 2). In \%. (a) no run.}" in text
