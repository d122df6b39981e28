"""Prints tables of results."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from evaluator.contamination import mark_of, training_said
from evaluator.report.cells import chance, interval, value, varying


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Print a table for every protocol of every run to stdout: value, interval, numbers, ties, unscored, chance.

    Rows by number of atoms are left to the report and to tables/summary.csv.
    """
    console = Console()
    for run in results:
        _print(console, f"{run['model']} on {run['benchmark']} (dataset {run['certificate']})", "bold")
        mark = mark_of(run)
        _print(console, training_said(run), "bold red" if mark else None)
        for protocol, rows in groupby(run["rows"], key=lambda row: row["protocol"]):
            table = _table(protocol, [row for row in rows if row["n"] is None], mark)
            # a line that the terminal wraps is better than a number cut short
            width = Measurement.get(console, console.options.update(max_width=400), table).maximum
            Console(width=max(width, console.width)).print(table)
        for what, why in run.get("not_asked", {}).items():
            _print(console, f"Not asked: {what}, since {why}.")
        for protocol, n in run["unknown_protocols"].items():
            _print(
                console, f"Not measured: {n:,} items of the protocol '{protocol}', which this version does not know."
            )
    _print(
        console,
        "Averages are over items unless the metric says otherwise; intervals are by group of scenes with the same values and objects; "
        "a tie is never correct. Differences are in points.",
        "dim",
    )


def _table(protocol: str, rows: list[dict[str, Any]], mark: str) -> Table:
    title = f"{protocol}. {mark}" if mark else protocol
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=title, title_justify="left")
    labels = varying(rows)
    for column in ("metric", *labels, "split"):
        table.add_column(column, no_wrap=True)
    for column in ("%", "95% interval", "items", "groups", "ties", "unscored", "chance %"):
        table.add_column(column, justify="right", no_wrap=True)
    before: list[str] = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        cells = [row["metric"], *(str(row[name] or "") for name in labels)]
        table.add_row(
            *(cells if cells != before else [""] * len(cells)), row["split"], value(row), interval(row), f"{row['items']:,}",
            f"{row['clusters']:,}", *("" if row[name] is None else str(row[name]) for name in ("ties", "unscored")), chance(row),
            end_section=following is None or following["metric"] != row["metric"],
        )  # fmt: skip
        before = cells
    return table


def _print(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
