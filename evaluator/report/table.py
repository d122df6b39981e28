"""A table: labels to the left, heads with groups above, and cells with a statistic or the reason why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

NOTHING = "–"


@dataclass(frozen=True)
class Cell:
    """What stands in a cell: `text` with its `stars`, and an `interval` in small print; or the `reason` why there is
    nothing.

    strong: set in bold where that is possible. numbers: the row of results that it shows, unrounded, for CSV and
    JSON. of: the results that the row is from.
    """

    text: str = ""
    interval: str = ""
    stars: str = ""
    strong: bool = False
    reason: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    of: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Column:
    """The head of a column; neighbours of one `group` stand under a common head."""

    head: str
    group: str = ""


@dataclass(frozen=True)
class Line:
    """The labels and cells of a line. rule: a rule stands above it."""

    labels: Sequence[str]
    cells: Sequence[Cell]
    rule: bool = False


@dataclass(frozen=True)
class Table:
    """Lines under heads. labels: the heads of the columns of labels. name: such as "Table 2". mark: what stands on
    every table of contaminated results. notes: what is said below."""

    labels: Sequence[str]
    columns: Sequence[Column]
    lines: Sequence[Line]
    name: str = ""
    title: str = ""
    notes: Sequence[str] = ()
    mark: str = ""

    def letters(self) -> dict[str, str]:
        """A letter for each reason why a cell has nothing, in the order of the cells.

        >>> no_run = Cell(reason="no run")
        >>> Table(["model"], [Column("R@1")], [Line(["a"], [no_run]), Line(["b"], [no_run])]).letters()
        {'no run': 'a'}
        """
        reasons = dict.fromkeys(cell.reason for line in self.lines for cell in line.cells if cell.reason)
        return {reason: _letter(i) for i, reason in enumerate(reasons)}

    def said(self) -> list[str]:
        """The notes, and what each letter means."""
        return [*self.notes, *(f"({letter}) {reason}." for reason, letter in self.letters().items())]


def plain(cell: Cell, letters: Mapping[str, str]) -> str:
    """A cell without its interval, as a terminal shows it."""
    if cell.reason:
        return f"{NOTHING} ({letters[cell.reason]})"
    return cell.text + cell.stars


def _letter(i: int) -> str:
    return ascii_lowercase[i] if i < len(ascii_lowercase) else str(i + 1)
