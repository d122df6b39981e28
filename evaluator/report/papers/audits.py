"""Tables and figures of what other commands wrote: `score familiarity`, `score audit`, `score embeddings`, `score
generate`."""

from collections.abc import Callable, Sequence
from typing import Any

from evaluator.report.cells import percent
from evaluator.report.papers.given import Audit, Given
from evaluator.report.papers.paper import PaperFigure, PaperTable
from evaluator.report.table import Cell, Column, Line, Table
from evaluator.runs.folder import folder_name
from generator.base.errors import UserError
from generator.base.limits import check_file

Rows = Sequence[tuple[Sequence[str], Callable[[Any], Sequence[Cell]]]]
"""The labels of each line, and its cells in the record of an audit."""


def audit_table(
    number: str,
    title: str,
    labels: Sequence[str],
    heads: Sequence[str],
    rows: Rows,
    command: str,
    said: Callable[[Any], str],
) -> PaperTable:
    """A table with the columns `heads` for each audit of a command. said: what is said of an audit below the table."""

    def make(given: Given) -> Table:
        audits = given.audits_of(command)
        lines = [Line(named, [cell for each in audits for cell in cells(each.record)]) for named, cells in rows]
        columns = [Column(head, each.name) for each in audits for head in heads]
        notes = [f"{each.name}: {said(each.record)}." for each in audits]
        return Table(labels, columns, lines if audits else [], notes=notes)

    return PaperTable(number, title, make, _wanted(command))


def picture(number: str, command: str, *files: str) -> PaperFigure:
    """A figure that another command draws: some files of each of its folders."""

    def read(audit: Audit, file: str) -> bytes:
        check_file(audit.path / file, None)
        if not (audit.path / file).exists():
            raise UserError(f"{audit.path} is unfinished: it has no {file}; run the same `{command}` again.")
        return (audit.path / file).read_bytes()

    def draw(given: Given) -> dict[str, bytes]:
        audits = given.audits_of(command)
        return {f"{folder_name(audit.name)}-{file}": read(audit, file) for audit in audits for file in files}

    return PaperFigure(number, draw, _wanted(command))


def number(count: int) -> Cell:
    """A number of samples."""
    return Cell(f"{count:,}", numbers={"value": count, "unit": "samples"})


def share(part: float, whole: float = 1) -> Cell:
    """A share in percent, or why there is none."""
    if not whole:
        return Cell(reason="no sample is left")
    return Cell(percent(part / whole), numbers={"value": part / whole, "unit": "share"})


def _wanted(command: str) -> str:
    return f"nothing that `{command}` wrote was given"
