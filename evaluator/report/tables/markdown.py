"""Writes tables as Markdown of GitHub."""

import re
from collections.abc import Iterable

from evaluator.report.tables.table import Table, plain

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")


def markdown(table: Table) -> str:
    """A table under its title, with its notes below; a head names its group first."""
    letters = table.letters()
    heads = [
        *table.labels,
        *(f"{column.group}: {column.head}" if column.group else column.head for column in table.columns),
    ]
    marks = ["---"] * len(table.labels) + ["---:"] * len(table.columns)
    rows = [
        [*map(escape, line.labels), *(_joined([escape(plain(cell, letters)), escape(cell.interval)]) for cell in line.cells)]
        for line in table.lines
    ]  # fmt: skip
    lines = [_line(map(escape, heads)), _line(marks), *map(_line, rows)]
    title = f"**{escape(table.name)}{'. ' if table.name else ''}{escape(table.title)}**"
    above = [title, *([f"**{escape(table.mark)}**"] if table.mark else [])]
    return "\n\n".join([*above, "\n".join(lines), *map(escape, table.said())]) + "\n"


def escape(text: str) -> str:
    """Text as Markdown prints it, its lines below one another.

    >>> escape("a_b | 5*")
    'a\\\\_b \\\\| 5\\\\*'
    """
    return "<br>".join(_SPECIAL.sub(r"\\\1", line) for line in text.splitlines())


def _joined(parts: Iterable[str]) -> str:
    return " ".join(part for part in parts if part)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
