"""Cells of rows of results."""

from evaluator.report.tables.result_cells import chance_cell, count_cell, load_cell, result_cell, sizes_cell
from tests.evaluator.report.tables.test_cells import ROW


def test_a_value_has_its_interval_and_numbers() -> None:
    cell = result_cell(ROW)
    assert (cell.text, cell.interval, cell.numbers) == ("50.0", "[40.0, 60.0]", ROW)
    assert result_cell(None).text == "–"
    assert result_cell({**ROW, "value": None, "unscored": 7}).reason == "none of 7 items has a score"
    assert result_cell({**ROW, "low": None, "high": None}).interval == ""


def test_what_differs_is_a_range() -> None:
    rows = [{**ROW, "chance": 0.25, "items": 9}, ROW, {**ROW, "chance": None, "items": None}]
    assert chance_cell(rows).text == "25.0–50.0"
    assert count_cell(rows, "items").text == "9–1,200"
    assert chance_cell([]).text == "–"
    assert sizes_cell([ROW, ROW]).text == "1200/30, 1200/30"


def test_a_load_has_its_error_p_and_stars() -> None:
    load = {"beta": -1.234, "error": 0.2, "p": 0.0001, "stars_corrected": "**", "load": "self"}
    cell = load_cell(load)
    assert (cell.text, cell.stars, cell.strong) == ("-1.23", "**", True)
    assert cell.interval.startswith("(0.20, ")
    assert load_cell(None).text == "–"
