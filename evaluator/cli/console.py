"""Prints tables and lines to stdout as they are: names in brackets, between colons or with numbers get no meaning."""

import sys

from rich.measure import Measurement
from rich.table import Table

from evaluator.cli.plain_console import Console

_MOST = 400  # columns of a table


def print_line(line: str, style: str | None = None) -> None:
    """Print a line; the terminal wraps it."""
    _console().print(line, style=style, soft_wrap=True)


def print_table(table: Table, width: int | None = None) -> None:
    """Print a table in its full width: a line that the terminal wraps is better than a number cut short.

    `width`: columns where stdout is no terminal, for a table that may fold.
    """
    if width is not None:
        _console(None if sys.stdout.isatty() else width).print(table)
        return
    console = _console()
    wide = Measurement.get(console, console.options.update(max_width=_MOST), table).maximum
    _console(max(wide, console.width)).print(table)


def _console(width: int | None = None) -> Console:
    return Console(width=width, markup=False, emoji=False, highlight=False)
