"""Runs of every protocol, and the tables of papers that are made of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.papers.inputs import PaperInputs, read_inputs
from evaluator.papers.paper import find_paper, make_paper
from evaluator.report.table import Cell, Table
from tests.evaluator.synthetic import Row


@pytest.fixture(scope="session")
def paper_inputs(measured: Path) -> PaperInputs:
    """Two labels: one with the run, one without any."""
    return read_inputs([f"dual / scratch={measured}"], ["dual / labclip=no weights"])


def tables_of(paper: str, inputs: PaperInputs) -> dict[str, Table]:
    """The tables of a paper by number, without its figures, which take seconds."""
    outputs = make_paper(replace(find_paper(paper), figures=[]), inputs)
    return {name.removeprefix("table"): table for name, table in outputs.tables.items()}


def cell(table: Table, labels: Sequence[str], head: str, group: str = "") -> Cell:
    """The cell of the line with these first labels under a head."""
    (line,) = [line for line in table.lines if list(line.labels[: len(labels)]) == list(labels)]
    (found_cell,) = [
        table_cell
        for table_cell, column in zip(line.cells, table.columns, strict=True)
        if (column.head, column.group) == (head, group)
    ]
    return found_cell


def shows(cell: Cell, row: Row) -> bool:
    """Whether a cell has the numbers of a row of results."""
    return all(
        cell.numbers[name] == row[name]
        for name in ("value", "low", "high", "chance", "items", "clusters")
    )
