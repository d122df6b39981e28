"""Prints tables of results."""

from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from evaluator.analysis.pooling import differences, pool_runs, spread_notes
from evaluator.benchmarks.reading import reading_said
from evaluator.cli.console import print_line
from evaluator.cli.console import print_table as print_wide
from evaluator.provenance.contamination import mark_of, training_said
from evaluator.report.overview import Line, read_lines, shown_splits
from evaluator.report.short import short_table
from evaluator.report.tables.cells import chance, confidence, interval, p_value, spread, value, varying
from evaluator.runs.limit import limit_said
from evaluator.runs.partitions import splits_said

LINES = 10
"""Most lines of a model in the short table."""
_DECIMALS = 2

_Row = dict[str, Any]


def print_table(runs: Sequence[dict[str, Any]], full: bool = False) -> None:
    """Print the results of runs to stdout, pooled (evaluator.analysis.pooling): ten lines a model, or with `full` every row but those by number
    of atoms, which are left to the report and to tables/summary.csv.

    A line is a metric of a group of items of a model, with a column for each split.
    """
    entries = pool_runs(runs)
    for entry in entries:
        rules = f", {confidence(entry)} intervals, scores tie within {entry['rules']['tie_tolerance']:g}"
        print_line(
            f"{entry['model']} on {entry['benchmark']} (dataset {entry['certificate']}){rules}{_counted(entry)}",
            "bold",
        )
        print_line(training_said(entry), "bold red" if mark_of(entry) else None)
        if full:
            rows = [row for row in entry["rows"] if row["n"] is None]
            for protocol, part in groupby(rows, key=lambda row: row["protocol"]):
                print_wide(_full_table(protocol, list(part), mark_of(entry), confidence(entry)))
    if not full:
        _print_short(entries)
    for entry in entries:
        for line in limit_said(entry["limit"]) if entry.get("limit") else ():
            print_line(line)
        for line in splits_said(entry["rules"]):
            print_line(line)
        for line in reading_said(entry.get("reading") or {}):
            print_line(line)
        for what, why in entry.get("not_asked", {}).items():
            print_line(f"Not asked: {what}, since {why}.")
        for protocol, n in entry["unknown_protocols"].items():
            print_line(f"Not measured: {n:,} items of the protocol '{protocol}', which this version does not know.")
    for line in (*differences(entries), *spread_notes(entries)):
        print_line(line)
    print_line(
        "Averages are over items unless the metric says otherwise; intervals speak of bindings like these (docs/statistics.md); "
        "a tie is never correct. Differences are in points."
        + full
        * " p: of a share against chance, of a difference against 0.",
        "dim",
    )


def _counted(entry: _Row) -> str:
    """How many runs of how many blocks an entry has, where it has several."""
    return (
        f", {entry['runs']} runs over {entry['blocks']} block{'s' * (entry['blocks'] > 1)}" if entry["runs"] > 1 else ""
    )


def _print_short(entries: Sequence[_Row]) -> None:
    lines = [line for group in _chosen(read_lines(entries)) for line in group]
    splits = shown_splits(lines)
    marks = list(dict.fromkeys(f"{entry['model']}: {mark_of(entry)}" for entry in entries if mark_of(entry)))
    title = mark_of(entries[0]) if len(entries) == 1 else " ".join(marks)
    print_wide(_short_table(lines, entries, splits, title))
    more = sum(len(entry["rows"]) for entry in entries) - sum(split in splits for line in lines for split in line.rows)
    if more:
        print_line(f"{more:,} more rows: --full prints them, tables/summary.csv of each run has them all.", "dim")


def _chosen(groups: Sequence[list[Line]]) -> list[list[Line]]:
    """At most ten metrics and groups of items: the first of every protocol, then the second, …"""
    of_protocol: dict[str, list[list[Line]]] = {}
    for group in groups:
        of_protocol.setdefault(group[0].first["protocol"], []).append(group)
    in_turn = [group for turn in zip_longest(*of_protocol.values()) for group in turn if group is not None]
    chosen = {id(group) for group in in_turn[:LINES]}
    return [group for group in groups if id(group) in chosen]


def _short_table(lines: Sequence[Line], entries: Sequence[_Row], splits: Sequence[str], mark: str) -> Table:
    found = short_table(lines, entries, splits, _DECIMALS)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=mark or None, title_justify="left")
    for column in found.labels:
        table.add_column(column, no_wrap=True)
    for column in found.numbers:
        table.add_column(column, justify="right", no_wrap=True)
    for row in found.rows:
        table.add_row(*row)
    return table


def _full_table(protocol: str, rows: Sequence[_Row], mark: str, level: str) -> Table:
    title = f"{protocol}. {mark}" if mark else protocol
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=title, title_justify="left")
    labels = varying(rows)
    for column in ("metric", *labels, "split"):
        table.add_column(column, no_wrap=True)
    spreads = [over for over in ("blocks", "runs") if any(row.get(f"sd_{over}") is not None for row in rows)]
    for column in (
        "%",
        f"{level} interval",
        *(f"over {over}" for over in spreads),
        "p",
        "items",
        "groups",
        "ties",
        "unscored",
        "chance %",
    ):
        table.add_column(column, justify="right", no_wrap=True)
    before: list[str] = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        cells = [row["metric"], *(str(row[name] or "") for name in labels)]
        table.add_row(
            *(cells if cells != before else [""] * len(cells)), row["split"], value(row, _DECIMALS), interval(row, _DECIMALS),
            *(spread(row, over, _DECIMALS) for over in spreads), p_value(row["p"]), f"{row['items']:,}", f"{row['clusters']:,}", *("" if row[name] is None else str(row[name]) for name in ("ties", "unscored")),
            chance(row), end_section=following is None or following["metric"] != row["metric"],
        )  # fmt: skip
        before = cells
    return table
