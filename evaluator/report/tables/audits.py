"""Tables of what `score familiarity` and `score audit` found, for papers' tables: a column group for each audit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.report.tables.cells import percent
from evaluator.report.tables.sources import FAMILIARITY, Source
from evaluator.report.tables.table import Cell, Column, Line, Table

Audit = Mapping[str, Any]
"""The contents of summary.json of `score familiarity`, or of the file of `score audit`."""


def _read_as(audit: Audit) -> str:
    return f"{audit['benchmark']} against {audit['reference']}, captions read as {audit['captions']}, match by {audit['match']}"


@dataclass(frozen=True)
class AuditTable:
    """A table by its number in the paper. rows: the labels of each line, and what stands in the columns `heads` for an audit.

    auditor: whose audits it is of. said: what is said of an audit below the table.
    """

    number: str
    title: str
    labels: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Callable[[Audit], Sequence[Cell]]]]
    auditor: str = FAMILIARITY
    said: Callable[[Audit], str] = _read_as

    @property
    def wanted(self) -> str:
        """What is lacking where it has no lines."""
        return f"nothing that `{self.auditor}` wrote was given"

    def make(self, sources: Sequence[Source]) -> Table:
        """The table; without lines where no source is an audit."""
        audits = [(source.name, source.audit) for source in sources if source.audit and source.auditor == self.auditor]
        lines = [Line(labels, [cell for _, each in audits for cell in cells(each)]) for labels, cells in self.rows]
        notes = [f"{name}: {self.said(each)}." for name, each in audits]
        return Table(
            self.labels, [Column(head, name) for name, _ in audits for head in self.heads], lines if audits else [],
            f"Table {self.number}", self.title, notes,
        )  # fmt: skip


@dataclass(frozen=True)
class OverlapFigure:
    """A figure of the bindings that a corpus shows, one for each folder of `score familiarity`: of all samples, and of the mixed ones."""

    number: str
    draw: Callable[[str, Mapping[str, Any]], str]

    @property
    def wanted(self) -> str:
        """What is lacking where there is none."""
        return f"nothing that `{FAMILIARITY}` wrote was given"

    def make(self, sources: Sequence[Source]) -> list[str]:
        """SVG texts."""
        audits = [(each.name, each.audit) for each in sources if each.audit and each.auditor == FAMILIARITY]
        return [
            self.draw(
                name,
                {
                    f"full ({sum(audit['buckets'].values()):,} samples)": audit["bindings"],
                    f"mixed ({mixed(audit):,})": audit["bindings_mixed"],
                },
            )
            for name, audit in audits
        ]


def mixed(audit: Audit) -> int:
    """The number of samples some of whose bindings are seen, those of close matches alone among them."""
    return int(sum(n for bucket, n in audit["buckets"].items() if bucket.startswith("amb_")))


def number(count: int) -> Cell:
    """A number of samples."""
    return Cell(f"{count:,}", numbers={"value": count, "unit": "samples"})


def share(part: float, whole: float = 1) -> Cell:
    """A share in percent, or why there is none."""
    if not whole:
        return Cell(reason="no sample is left")
    return Cell(percent(part / whole), numbers={"value": part / whole, "unit": "share"})
