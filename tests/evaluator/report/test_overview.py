"""Models side by side: which lines and columns there are."""

import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.errors import BY_ATOM
from evaluator.protocols.items import ASYMMETRIC
from evaluator.report.overview import finding, main_lines, read_lines, side_by_side
from evaluator.report.table import Table
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.report.conftest import GAP, ROW
from tests.evaluator.synthetic import Row


def entries(*runs: tuple[str, tuple[Row, ...]]) -> list[Row]:
    return pool_runs([{**made_run(model=model), "rows": [{**ROW, **row} for row in rows]} for model, rows in runs])


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


def shown(found: list[Row]) -> Table:
    return side_by_side(found, read_lines(found), 2)


def test_a_line_is_a_metric_and_group_of_items_of_an_entry() -> None:
    found = [
        (line.entry["model"], line.first["metric"], line.first["kind"], *line.rows, *line.gaps)
        for line in read_lines(entries(FIRST, OTHER))
    ]
    assert found == [
        ("a", "accuracy", None, "seen", "unseen"),
        ("c", "accuracy", None, ("seen", "unseen")),
        ("a", "second", None, "seen"),
        ("a", "group", "swap", "seen"),
        ("c", "group", "flip", "seen"),
    ]
    metrics = [line.first["metric"] for line in main_lines(entries(FIRST, OTHER))]
    assert metrics == ["accuracy", "accuracy", "group", "group"]


def test_what_differs_has_a_column() -> None:
    table = shown(entries(FIRST, OTHER))
    assert list(table.labels) == ["protocol", "metric", "kind", "model"]
    heads = [column.head for column in table.columns]
    assert heads == ["seen %", "unseen %", "seen - unseen %", "chance %", "items", "groups", "ties", "unscored"]
    assert (table.lines[0].cells[0].text, table.lines[0].cells[0].interval) == ("50.00", "[40.00, 60.00]")
    assert table.lines[1].cells[0].text == "–"
    assert list(shown(entries(("a", ({},)))).labels) == ["protocol", "metric"]


def test_a_benchmark_with_val_alone_shows_it() -> None:
    assert shown(entries(("a", ({"split": "val"},)))).columns[0].head == "val %"


def test_a_split_that_holds_the_others_gives_the_counts() -> None:
    """By familiarity `full` has all items, so that a sum over the splits would count them twice."""
    rows = ({"split": "full", "items": 9}, {"split": "seen", "items": 5}, {"split": "mixed", "items": 3})
    table = shown(entries(("a", rows)))
    items = [column.head for column in table.columns].index("items")
    assert [line.cells[items].text for line in table.lines] == ["9"]


def test_a_split_that_is_named_like_a_gap_stands_beside_it() -> None:
    table = shown(entries(("a", ({}, {"split": "unseen"}, GAP, {"split": "seen - unseen", "value": 0.25}))))
    heads = [column.head for column in table.columns[:4]]
    assert heads == ["seen %", "unseen %", "seen - unseen %", "seen - unseen %"]
    assert [cell.text for cell in table.lines[0].cells[:4]] == ["50.00", "50.00", "25.00", "+50.00"]


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (0.05, 0.02, 0.08, "falls from 70.0% on seen to 10.0% on unseen combinations, by 5.0 points [+2.0, +8.0]"),
        (-0.05, -0.08, -0.02, "rises from 70.0% on seen to 10.0% on unseen combinations, by 5.0 points [+2.0, +8.0]"),
        (-0.012, -0.03, 0.006, "; a difference of 1.2 points [-0.6, +3.0] that may be chance"),
    ],
)
def test_the_interval_of_the_finding_is_that_of_its_number(value: float, low: float, high: float, said: str) -> None:
    gap = {**GAP, "value": value, "low": low, "high": high}
    found = finding(entries(("a", ({"value": 0.7}, {"split": "unseen", "value": 0.1}, gap))))
    assert said in found.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("other", "said"), [(0.1, "it is level with b."), (0.05, "it leads b by 5.0 points (their")])
def test_the_finding_says_who_leads(other: float, said: str) -> None:
    models = [
        (name, ({"value": 0.7}, {"split": "unseen", "value": of}, GAP)) for name, of in (("a", 0.1), ("b", other))
    ]
    assert said in finding(entries(*models))


def test_a_negative_tax_has_its_decimals() -> None:
    splits = tuple({"split": split} for split in ("seen", "unseen", *ASYMMETRIC))
    tax = {"split": ASYMMETRIC[0], "minus": ASYMMETRIC[1], "is_gap": True, "unit": "difference"}
    tax |= {"value": -0.1234, "low": -0.2, "high": -0.05}
    assert ": -12.3 points [-20.0, -5.0]." in finding(entries(("a", (*splits, GAP, tax))))


def test_the_finding_says_what_wrong_answers_name() -> None:
    of = {"protocol": "retrieval", "metric": "R@1"}
    rows: tuple[Row, ...] = ({**of, "value": 0.7}, {**of, "split": "unseen", "value": 0.1}, {**of, **GAP})
    of = {**of, "metric": BY_ATOM, "split": "unseen", "is_main": False}
    errors: tuple[Row, ...] = tuple(
        {**of, "error": error, "value": value, "chance": chance}
        for error, value, chance in (("object", 0.5, 0.2), ("attribute and object", 0.4, 0.6), ("binding", 0.1, 0.2))
    )
    said = "90.0% of its wrong answers on unseen combinations name a wrong object (chance: 80.0%)."
    assert finding(entries(("a", (*rows, *errors)))).endswith(said)
    assert "wrong answers" not in finding(entries(("a", rows)))
    assert "wrong answers" not in finding(entries(("a", (*rows, *errors[:1]))))  # no other error was possible
