"""The table of results in a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Print the splits of every run's protocols to stdout: accuracy with interval, n, ties, unscored, chance; then the gaps."""
    console = Console()
    for run in results:
        console.print(
            f"{run['model']} on {run['benchmark']} (dataset {run['certificate']})",
            style="bold",
            highlight=False,
            soft_wrap=True,
        )
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in ("metric", "split"):
            table.add_column(column, no_wrap=True)
        for column in ("%", "95% interval", "items", "groups", "ties", "unscored", "chance %"):
            table.add_column(column, justify="right", no_wrap=True)
        for summary in run["protocols"].values():
            for i, (split, row) in enumerate(summary["splits"].items()):
                table.add_row(
                    summary["metric"] if i == 0 else "", split, percent(row["value"]), interval(row), f"{row['n_items']:,}", f"{row['n_clusters']:,}",
                    str(row["ties"]), str(row["unscored"]), percent(summary["chance"]), end_section=i + 1 == len(summary["splits"]),
                )  # fmt: skip
        console.print(table)
        for summary in run["protocols"].values():
            for name, row in summary["gaps"].items():
                if row["value"] is not None:
                    console.print(
                        f"{summary['metric']}: {name} = {signed(row['value'])} points [{signed(row['low'])}, {signed(row['high'])}]",
                        highlight=False,
                        soft_wrap=True,
                    )
    console.print(
        "Averages over items, intervals by group of scenes with the same values and objects; a tie is never correct.",
        style="dim",
        soft_wrap=True,
    )


def percent(share: float | None) -> str:
    """A share as a percentage with one decimal, more where it is tiny; a dash where there is none.

    >>> percent(0.87512), percent(2 / 7392), percent(None)
    ('87.5', '0.027', '–')
    """
    if share is None:
        return "–"
    value = 100 * share
    return f"{value:.1f}" if value == 0 or value >= 0.1 else f"{value:.2g}"


def interval(row: dict[str, Any]) -> str:
    """The interval of a row, in percent."""
    return "–" if row["low"] is None else f"{100 * row['low']:.1f} – {100 * row['high']:.1f}"


def signed(share: float) -> str:
    """A difference of shares in points, with its sign."""
    return f"{100 * share:+.1f}"
