"""Prints tables of results."""

from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.measure import Measurement
from rich.table import Table

from evaluator.cli.plain_console import Console
from evaluator.contamination import mark_of, training_said
from evaluator.protocols.items import reported_splits
from evaluator.report.cells import chance, confidence, interval, is_gap, p_value, value, varying

LINES = 10
"""Most lines of a run's short table."""
_DECIMALS = 2
_LABELS = ("protocol", "metric", "error", "kind", "skill", "level")
_GAP = "seen - unseen"

_Row = dict[str, Any]


def print_table(results: Sequence[dict[str, Any]], full: bool = False) -> None:
    """Print the results of every run to stdout: ten lines a run, or with `full` a table for every protocol.

    A line is a metric of a group of items, with a column for each split. Rows by number of atoms are left to the report and to
    tables/summary.csv.
    """
    console = Console()
    for run in results:
        rules = f", {confidence(run)} intervals, scores tie within {run['rules']['tie_tolerance']:g}"
        _print(console, f"{run['model']} on {run['benchmark']} (dataset {run['certificate']}){rules}", "bold")
        mark = mark_of(run)
        _print(console, training_said(run), "bold red" if mark else None)
        rows = [row for row in run["rows"] if row["n"] is None]
        if full:
            for protocol, part in groupby(rows, key=lambda row: row["protocol"]):
                _print_wide(console, _full_table(protocol, list(part), mark, confidence(run)))
        else:
            lines = _lines(rows)
            splits = _shown_splits(lines)
            _print_wide(console, _short_table(lines, splits, mark))
            more = len(run["rows"]) - sum(row["split"] in splits for line in lines for row in line)
            if more:
                _print(console, f"{more:,} more rows: --full prints them, tables/summary.csv has them all.", "dim")
        for what, why in run.get("not_asked", {}).items():
            _print(console, f"Not asked: {what}, since {why}.")
        for protocol, n in run["unknown_protocols"].items():
            _print(
                console, f"Not measured: {n:,} items of the protocol '{protocol}', which this version does not know."
            )
    _print(
        console,
        "Averages are over items unless the metric says otherwise; intervals speak of bindings like these (docs/statistics.md); "
        "a tie is never correct. Differences are in points."
        + full
        * " p: of a share against chance, of a difference against 0.",
        "dim",
    )


def _lines(rows: Sequence[_Row]) -> list[list[_Row]]:
    """The rows of at most ten lines, each of one metric and group of items: the first of every protocol, then the second, …"""
    grouped: dict[tuple[Any, ...], list[_Row]] = {}
    for row in rows:
        grouped.setdefault(tuple(row[name] for name in _LABELS), []).append(row)
    of_protocol: dict[str, list[list[_Row]]] = {}
    for key, line in grouped.items():
        of_protocol.setdefault(key[0], []).append(line)
    in_turn = [line for turn in zip_longest(*of_protocol.values()) for line in turn if line is not None]
    chosen = {id(line) for line in in_turn[:LINES]}
    return [line for line in grouped.values() if id(line) in chosen]


def _shown_splits(lines: Sequence[Sequence[_Row]]) -> list[str]:
    """The splits that have a column: those that are reported, else val, and the gap between seen and unseen."""
    found = [row["split"] for line in lines for row in line]
    return [*(reported_splits(found) or sorted(set(found))), *([_GAP] if _GAP in found else [])]


def _short_table(lines: Sequence[Sequence[_Row]], splits: Sequence[str], mark: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=mark or None, title_justify="left")
    labels = ["protocol", "metric", *varying([line[0] for line in lines])]
    for column in labels:
        table.add_column(column, no_wrap=True)
    for column in (*(f"{split} %" for split in splits), "chance %", "items", "groups", "ties", "unscored"):
        table.add_column(column, justify="right", no_wrap=True)
    for line in lines:
        row_of = {row["split"]: row for row in line}
        own = {split: row for split, row in row_of.items() if split in splits and not is_gap(row)}
        levels = [chance(own[split]) if split in own else "–" for split in splits if split != _GAP]
        known = list(dict.fromkeys(chance(row) for row in own.values()))
        table.add_row(
            *(str(line[0][name] or "") for name in labels), *(_cell(row_of.get(split)) for split in splits),
            " / ".join(levels if len(known) > 1 else known),
            *(f"{sum(row[name] or 0 for row in own.values()):,}" for name in ("items", "clusters", "ties", "unscored")),
        )  # fmt: skip
    return table


def _cell(row: _Row | None) -> str:
    """A value and its interval."""
    if row is None or row["value"] is None:
        return "–"
    return value(row, _DECIMALS) if row["low"] is None else f"{value(row, _DECIMALS)} ({interval(row, _DECIMALS)})"


def _full_table(protocol: str, rows: Sequence[_Row], mark: str, level: str) -> Table:
    title = f"{protocol}. {mark}" if mark else protocol
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=title, title_justify="left")
    labels = varying(rows)
    for column in ("metric", *labels, "split"):
        table.add_column(column, no_wrap=True)
    for column in ("%", f"{level} interval", "p", "items", "groups", "ties", "unscored", "chance %"):
        table.add_column(column, justify="right", no_wrap=True)
    before: list[str] = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        cells = [row["metric"], *(str(row[name] or "") for name in labels)]
        table.add_row(
            *(cells if cells != before else [""] * len(cells)), row["split"], value(row, _DECIMALS), interval(row, _DECIMALS),
            p_value(row["p"]), f"{row['items']:,}", f"{row['clusters']:,}", *("" if row[name] is None else str(row[name]) for name in ("ties", "unscored")),
            chance(row), end_section=following is None or following["metric"] != row["metric"],
        )  # fmt: skip
        before = cells
    return table


def _print_wide(console: Console, table: Table) -> None:
    """Print a table in its full width: a line that the terminal wraps is better than a number cut short."""
    width = Measurement.get(console, console.options.update(max_width=400), table).maximum
    Console(width=max(width, console.width)).print(table)


def _print(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
