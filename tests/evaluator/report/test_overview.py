"""Models side by side: which lines and columns there are."""

from evaluator.analysis.pooling import pool_runs
from evaluator.report.overview import main_lines, read_lines, side_by_side
from evaluator.report.table import Table
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.report.conftest import GAP, ROW
from tests.evaluator.synthetic import Row


def entries(*runs: tuple[str, tuple[Row, ...]]) -> list[Row]:
    return pool_runs(
        [
            {**made_run(model=model), "rows": [{**ROW, **row} for row in rows]}
            for model, rows in runs
        ]
    )


FIRST = (
    "a",
    (
        {},
        {"split": "unseen"},
        {"metric": "hidden", "n": 3},
        {"metric": "second", "is_main": False},
        {"protocol": "pairs", "metric": "group", "kind": "swap"},
    ),
)
OTHER = ("c", (GAP, {"protocol": "pairs", "metric": "group", "kind": "flip"}))


def lines_table(rows: list[Row]) -> Table:
    return side_by_side(rows, read_lines(rows), 2)


def test_a_line_is_a_metric_and_group_of_items_of_an_entry() -> None:
    rows = [
        (line.entry["model"], line.first["metric"], line.first["kind"], *line.rows, *line.gaps)
        for line in read_lines(entries(FIRST, OTHER))
    ]
    assert rows == [
        ("a", "accuracy", None, "seen", "unseen"),
        ("c", "accuracy", None, ("seen", "unseen")),
        ("a", "second", None, "seen"),
        ("a", "group", "swap", "seen"),
        ("c", "group", "flip", "seen"),
    ]
    metrics = [line.first["metric"] for line in main_lines(entries(FIRST, OTHER))]
    assert metrics == ["accuracy", "accuracy", "group", "group"]


def test_factors_that_differ_have_columns() -> None:
    table = lines_table(entries(FIRST, OTHER))
    assert list(table.labels) == ["protocol", "metric", "kind", "model"]
    heads = [column.head for column in table.columns]
    assert heads == [
        "seen %",
        "unseen %",
        "seen - unseen %",
        "chance %",
        "items",
        "groups",
        "ties",
        "unscored",
    ]
    assert (table.lines[0].cells[0].text, table.lines[0].cells[0].interval) == (
        "50.00",
        "[40.00, 60.00]",
    )
    assert table.lines[1].cells[0].text == "–"
    assert list(lines_table(entries(("a", ({},)))).labels) == ["protocol", "metric"]


def test_a_benchmark_with_val_alone_shows_it() -> None:
    assert lines_table(entries(("a", ({"split": "val"},)))).columns[0].head == "val %"


def test_a_split_that_holds_the_others_gives_the_counts() -> None:
    """By familiarity `full` has all items, so that a sum over the splits would count them twice."""
    rows = (
        {"split": "full", "items": 9},
        {"split": "seen", "items": 5},
        {"split": "mixed", "items": 3},
    )
    table = lines_table(entries(("a", rows)))
    items = [column.head for column in table.columns].index("items")
    assert [line.cells[items].text for line in table.lines] == ["9"]


def test_a_split_that_is_named_like_a_gap_stands_beside_it() -> None:
    table = lines_table(
        entries(("a", ({}, {"split": "unseen"}, GAP, {"split": "seen - unseen", "value": 0.25})))
    )
    heads = [column.head for column in table.columns[:4]]
    assert heads == ["seen %", "unseen %", "seen - unseen %", "seen - unseen %"]
    assert [cell.text for cell in table.lines[0].cells[:4]] == ["50.00", "50.00", "25.00", "+50.00"]
