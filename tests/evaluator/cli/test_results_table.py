"""The table of results in a terminal: every metric of every protocol is printed."""

import pytest

from evaluator.cli.results_table import print_table
from tests.evaluator.report.test_cells import ROW
from tests.evaluator.synthetic import Row


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
