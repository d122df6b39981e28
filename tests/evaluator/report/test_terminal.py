"""The tables in a terminal: every metric is printed, numbers are written for people."""

import pytest

from evaluator.report.terminal import chance, interval, is_gap, percent, print_table, signed, value, varying
from tests.evaluator.synthetic import Row

LABELS = {"error": None, "kind": None, "skill": None, "level": None, "n": None}
ROW: Row = {
    "protocol": "binary", "metric": "accuracy", **LABELS, "split": "seen", "unit": "share", "value": 0.5, "sd": None, "low": 0.4,
    "high": 0.6, "items": 1200, "clusters": 30, "ties": 3, "unscored": 0, "chance": 0.5,
}  # fmt: skip


def results(*rows: Row) -> Row:
    return {
        "model": "a model", "benchmark": "b", "certificate": "clean", "rows": [{**ROW, **row} for row in rows],
        "unknown_protocols": {"unheard-of": 2},
    }  # fmt: skip


def test_every_metric_of_every_protocol_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ({}, {"metric": "hidden", "n": 4}, {"kind": "swap", "value": 0.25}, {"split": "seen - unseen", "unit": "difference", "value": -0.1, "low": None},
            {"protocol": "pairs", "metric": "group"})  # fmt: skip
    print_table([results(*rows)])
    printed = capsys.readouterr().out
    for part in (
        "a model on b (dataset clean)",
        "binary",
        "pairs",
        "group",
        "swap",
        "50.0",
        "25.0",
        "-10.0",
        "1,200",
        "seen - unseen",
    ):
        assert part in printed, part
    assert "hidden" not in printed  # rows by number of atoms are in the report and in summary.csv
    assert "…" not in printed
    assert "Not measured: 2 items of the protocol 'unheard-of'" in printed


def test_labels_are_shown_where_rows_differ_in_them() -> None:
    assert varying([{**ROW, "kind": "swap"}, {**ROW, "kind": "flip"}]) == ["kind"]
    assert varying([{**ROW, "kind": "swap"}, {**ROW, "kind": "swap"}]) == []
    assert [is_gap({"split": split}) for split in ("seen", "seen - unseen")] == [False, True]


def test_numbers_are_written_for_people() -> None:
    assert [percent(x) for x in (0.0, 0.5, 1.0, 2 / 7392, 0.0009, 0.00101, None)] == [
        "0.0",
        "50.0",
        "100.0",
        "0.027",
        "0.09",
        "0.1",
        "–",
    ]
    assert interval({"low": 0.1234, "high": 1.0, "unit": "share"}) == "12.3 – 100.0"
    assert interval({"low": -0.1, "high": 0.2, "unit": "difference"}) == "-10.0, +20.0"
    assert interval({"low": None, "high": None, "unit": "share"}) == "–"
    assert value({"value": 0.5, "sd": 0.125, "unit": "share"}) == "50.0 ± 12.5"
    assert chance({"chance": None, "unit": "share"}) == "–"
    assert [signed(0.05), signed(-0.123)] == ["+5.0", "-12.3"]
