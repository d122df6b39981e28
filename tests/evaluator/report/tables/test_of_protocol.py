"""Tables of one protocol: which lines and columns they have, and what stands there."""

from evaluator.protocols.errors import METRICS
from evaluator.report.tables.of_protocol import by_split, errors, pivot
from evaluator.report.tables.table import Table, plain
from tests.evaluator.synthetic import Row


def lines(table: Table) -> list[list[str]]:
    """The heads, and the labels and cells of each line."""
    letters = table.letters()
    heads = [*table.labels, *(column.head for column in table.columns)]
    return [heads, *([*line.labels, *(plain(cell, letters) for cell in line.cells)] for line in table.lines)]


def _row(**labels: object) -> Row:
    row = {"protocol": "p", "p": 0.04, "metric": "R@1", "error": None, "kind": "atom", "n": None, "split": "seen", "unit": "share", "sd": None, "value": 0.5,
           "low": None, "chance": 0.25, "items": 8, "clusters": 4, "ties": 0, "unscored": 0, "skill": None, "level": None}  # fmt: skip
    return {**row, **labels}


def test_a_pivot_has_a_line_and_a_column_for_each_value_of_its_labels() -> None:
    rows = [
        _row(),
        _row(n=5, value=0.1),
        _row(n=3, value=0.3),
        _row(kind="swap", value=None),
        _row(kind="swap", n=3, value=1.0, chance=0.5),
    ]
    hidden = [_row(split="val"), _row(split="seen - unseen"), _row(kind="raw"), _row(protocol="other")]
    results = {"rows": [*rows, *hidden]}
    (table,) = pivot(results, "p", lines=["kind"], columns=["n"])
    assert lines(table) == [
        ["kind", "all", "n = 3", "n = 5", "items/clusters"], ["atom", "50.0", "30.0", "10.0", "8/4"], ["swap", "– (a)", "100.0", "–", "8/4"],
        ["chance", "25.0", "25.0–50.0", "25.0", ""],
    ]  # fmt: skip
    (table,) = pivot(results, "p", lines=["kind"], columns=["n"], chance="by chance", sizes=False)
    assert [row[-1] for row in lines(table)] == ["by chance", "25.0", "50.0"]


def test_chances_are_a_range_from_the_least_to_the_greatest() -> None:
    rows = [_row(chance=0.1), _row(kind="swap", chance=0.09)]
    (table,) = pivot({"rows": rows}, "p", lines=["split"], columns=["metric"])
    assert lines(table)[-1][1] == "9.0–10.0"


def test_which_way_errors_go_stands_beside_its_chance_in_each_split() -> None:
    rows = [
        _row(ties=0),
        _row(metric=METRICS[0], error="more familiar", chance=0.0001, value=0.2, items=3),
        _row(metric=METRICS[0], error="more familiar", split="unseen", chance=0.9, value=0.8, items=5),
        _row(metric=METRICS[1], error="object", split="unseen", chance=0.5, value=1.0, items=5),
        _row(metric=METRICS[1], error="object", split="val"),
    ]
    (table,) = errors({"rows": rows}, "p")
    assert lines(table) == [
        ["metric", "error", "seen", "chance", "unseen", "chance", "errors/clusters"],
        ["errors by familiarity", "more familiar", "20.0", "0.01", "80.0", "90.0", "3/4, 5/4"],
        ["errors by atom", "object", "–", "–", "100.0", "50.0", "5/4"],
    ]
    assert errors({"rows": rows[:1]}, "p") == []
    assert "familiar" not in str(by_split({"rows": [{**row, "skill": None, "level": None} for row in rows]}, "p")[0])
