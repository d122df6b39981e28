"""Writes findings.md from findings/page.md and the tables findings/*.csv. Run as `python
docs/make_findings.py`."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parent
SOURCE = DOCS / "findings"
_TABLE = re.compile(r"^\[table ([\w-]+)\]$", re.MULTILINE)
"""A line of the page that stands for the table of that name."""


def page() -> str:
    """The page, with its tables. Raises FileNotFoundError for a table without a file."""
    text = (SOURCE / "page.md").read_text(encoding="utf-8")
    return _TABLE.sub(lambda match: markdown(read_table(match[1])), text)


def unused_tables() -> set[str]:
    """The names of tables that the page does not show."""
    shown = _TABLE.findall((SOURCE / "page.md").read_text(encoding="utf-8"))
    return {path.stem for path in SOURCE.glob("*.csv")} - {*shown}


def read_table(name: str) -> list[list[str]]:
    """The rows of a table, its head first."""
    with (SOURCE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a table in Markdown.

    >>> print(markdown([["", "seen"], ["R@1", "69.9"]]))
    ||seen|
    |---|---|
    |R@1|69.9|
    """
    head, *body = rows
    return "\n".join("|" + "|".join(row) + "|" for row in (head, ["---"] * len(head), *body))


if __name__ == "__main__":
    (DOCS / "findings.md").write_text(page(), encoding="utf-8")
