"""Tables of folders of `score familiarity`, for papers' tables: a column group for each folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.tables.cells import percent
from evaluator.tables.sources import Source
from evaluator.tables.table import Cell, Column, Line, Table

Audit = Mapping[str, Any]
"""The contents of summary.json."""


@dataclass(frozen=True)
class AuditTable:
    """A table by its number in the paper. rows: the labels of each line, and what stands in the columns `heads` for an audit."""

    number: str
    title: str
    labels: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Callable[[Audit], Sequence[Cell]]]]
    wanted: str = "no folder of `score familiarity` was given"

    def make(self, sources: Sequence[Source]) -> Table:
        """The table; without lines where no source is an audit."""
        audits = [(source.name, source.audit) for source in sources if source.audit]
        lines = [Line(labels, [cell for _, each in audits for cell in cells(each)]) for labels, cells in self.rows]
        notes = [
            f"{name}: {each['benchmark']} against {each['reference']}, captions read as {each['captions']}, match by {each['match']}."
            for name, each in audits
        ]
        return Table(
            self.labels, [Column(head, name) for name, _ in audits for head in self.heads], lines if audits else [],
            f"Table {self.number}", self.title, notes,
        )  # fmt: skip


def number(count: int) -> Cell:
    """A number of samples."""
    return Cell(f"{count:,}", numbers={"value": count, "unit": "samples"})


def share(part: float, whole: float = 1) -> Cell:
    """A share in percent, or why there is none."""
    if not whole:
        return Cell(reason="no sample is left")
    return Cell(percent(part / whole), numbers={"value": part / whole, "unit": "share"})
