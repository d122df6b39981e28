"""The table of results in a terminal: every metric of every protocol is printed."""

import re

import pytest

from evaluator.cli.results_table import LINES, print_paper_table, print_results
from evaluator.provenance.contamination import unknown_training
from evaluator.report.table import Cell, Column, Line, Table
from tests.evaluator.report.conftest import GAP, ROW
from tests.evaluator.synthetic import FACTORS, Row


def results(*rows: Row) -> Row:
    return {
        "model": "a model",
        "benchmark": "b",
        "certificate": "clean",
        "rules": {"tie_tolerance": 1e-5, "level": 0.9},
        "cells": [],
        "fits": [],
        "factors": {**FACTORS, "model": "a model"},
        "training": unknown_training(),
        "rows": [{**ROW, **row} for row in rows],
        "unknown_protocols": {"unheard-of": 2},
    }


def test_every_metric_of_every_protocol_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        {},
        {"metric": "hidden", "n": 4},
        {"kind": "swap", "value": 0.25},
        {**GAP, "value": -0.1, "low": None},
        {"protocol": "pairs", "metric": "group"},
    )
    print_results([results(*rows)], full=True)
    printed = capsys.readouterr().out
    parts = [
        "a model on b (dataset clean)",
        "binary",
        "pairs",
        "group",
        "swap",
        "50.0",
        "25.0",
        "-10.0",
        "1,200",
    ]
    parts += ["seen - unseen", "90% interval", ".031", "p: of a share against chance"]
    assert [part for part in parts if part not in printed] == []
    assert "hidden" not in printed  # rows by number of atoms are in the report and in summary.csv
    # Nothing is cut off. An interval of a half point may have an end beyond the ladder.
    assert "…" not in printed.replace("[…,", "[")
    assert "Not measured: 2 items of the protocol 'unheard-of'" in printed


def lines(printed: str) -> list[list[str]]:
    """The cells of each line under the heads of the short table."""
    table = [line for line in printed.splitlines() if line.startswith(" ")]
    rule = next(i for i, line in enumerate(table) if "──" in line)
    return [line.split() for line in table[rule + 1 :] if line.strip()]


def test_the_short_table_has_ten_lines_from_all_protocols_in_turn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {"protocol": p, "kind": f"k{i}", "split": split}
        for p in ("binary", "pairs")
        for i in range(9)
        for split in ("seen", "unseen")
    ]
    rows += [{"protocol": "confusion", "metric": "R@1"}]
    print_results([results(*rows)])
    printed = capsys.readouterr().out
    table_lines = lines(printed)
    assert len(table_lines) == LINES
    assert [line[0] for line in table_lines] == ["binary"] * 5 + ["pairs"] * 4 + ["confusion"]
    assert [line[2] for line in table_lines[:5]] == [f"k{i}" for i in range(5)]
    assert "18 more rows: --full prints them" in printed
    assert "(dataset clean), 90% intervals, scores tie within 1e-05" in printed
    assert "95%" not in printed


def test_a_line_has_a_column_for_each_split_with_two_decimals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {"split": "seen", "value": 0.87512, "ties": 2},
        {"split": "unseen", "value": 0.5, "chance": 0.25, "unscored": 3},
        {"split": "val", "ties": 100},
        {**GAP, "value": 0.37512, "low": 0.1, "high": 0.5},
    ]
    print_results([results(*rows)])
    printed = capsys.readouterr().out
    for part in (
        "seen %",
        "unseen %",
        "87.51 [40.00, 60.00]",
        "50.00 [40.00, 60.00]",
        "+37.51 [+10.00, +50.00]",
        "25.0–50.0",
    ):
        assert part in printed
    assert "val %" not in printed
    assert lines(printed)[0][-4:] == ["2,400", "60", "5", "3"]
    assert "more rows" in printed


def test_a_group_of_a_papers_table_stands_once_above_its_columns_and_notes_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [Line(["a"], [Cell("1.0", "[0.5, 2.0]"), Cell(reason="no run"), Cell("3.0")])]
    columns = [Column("x", "Group"), Column("y", "Group"), Column("z", "Other")]
    print_paper_table(Table(["model"], columns, lines, "Table 1", "T", ["In %."]))
    printed = capsys.readouterr().out
    assert printed.startswith("Table 1. T\n")
    assert printed.count("Group") == printed.count("Other") == 1
    assert "[0.5, 2.0]" in printed
    assert printed.rstrip().endswith("(a) no run.")


def test_a_narrow_terminal_gets_two_lines_a_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables were up to 240 columns wide, whatever COLUMNS said."""
    rows = [
        {"split": split, "kind": "swap", "low": 0.4, "high": 0.6}
        for split in ("seen", "partial", "unseen")
    ]
    printed = {}
    for columns in (300, 90):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_results([results(*rows)])
        printed[columns] = capsys.readouterr().out
    rules = {columns: re.findall("─+", text)[0] for columns, text in printed.items()}
    assert len(rules[90]) < len(rules[300]) - 20
    numbers = [sorted(re.findall(r"\d+\.\d+", text)) for text in printed.values()]
    assert numbers[0] == numbers[1]
    assert "unscored" not in printed[90]
