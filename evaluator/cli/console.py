"""Prints tables and lines to stdout literally: Rich's markup, emoji codes and highlighting are off,
and control characters are escaped."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from generator.base.errors import visible

if TYPE_CHECKING:  # every command of `score` imports this module, and few of them print a table
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table

_MOST = 400
"""Maximum width of a table that folds, in columns."""


def print_line(line: str, style: str | None = None) -> None:
    """Print a line; the terminal wraps it.

    Args:
        line: The line, printed literally.
        style: A style of Rich, such as "bold red"; None for plain text.
    """
    _console().print(line, style=style, soft_wrap=True)


def new_table(
    labels: Sequence[str], numbers: Sequence[str], title: str = "", folds: bool = False
) -> "Table":
    """Make an empty table: columns of words on the left, columns of numbers on the right.

    Args:
        labels: Heads of the columns of words.
        numbers: Heads of the columns of numbers, which never wrap.
        title: Title; "" for none.
        folds: Whether words wrap within their column.

    Returns:
        The table, without rows.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=title or None,
        title_justify="left",
    )
    for label in labels:
        table.add_column(label, no_wrap=not folds, overflow="fold" if folds else "ellipsis")
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


def print_table(table: "Table", width: int | None = None) -> None:
    """Print a table at its full width, so that no number is cut; the terminal wraps long lines.

    Args:
        table: The table.
        width: Width in columns of a table that folds, if stdout is not a terminal. None for a table
            that does not fold.
    """
    if width is not None:
        _console(None if sys.stdout.isatty() else width).print(table)
        return
    _console(max(_wide(table), _console().width)).print(table)


def fits(table: "Table") -> bool:
    """Check whether a table fits the width of the terminal or of COLUMNS.

    Args:
        table: The table.

    Returns:
        Whether it fits; always True for a pipe without COLUMNS.
    """
    # A file or a pipe has no width of its own.
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return not known or _wide(table) <= _console().width


def _wide(table: "Table") -> int:
    """The width in columns that a table takes if nothing bounds it."""
    from rich.measure import Measurement

    console = _console()
    # A table that folds is as wide as it is allowed to be, so its limit is finite.
    folds = any(column.overflow == "fold" for column in table.columns)
    return Measurement.get(
        console, console.options.update(max_width=_MOST if folds else sys.maxsize), table
    ).maximum


def _console(width: int | None = None) -> "Console":
    """A Rich console that escapes control characters in text: only Rich's own styles control the
    terminal."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        def render(
            self, renderable: "RenderableType", options: "ConsoleOptions | None" = None
        ) -> Iterable["Segment"]:
            for segment in super().render(renderable, options):
                # Names come from files of others. A control character in one could move the cursor
                # and overwrite numbers.
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return Plain(width=width, markup=False, emoji=False, highlight=False)
