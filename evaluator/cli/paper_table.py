"""Prints a table of a paper."""

from rich.box import SIMPLE_HEAD
from rich.table import Table as Printed

from evaluator.cli.console import print_line
from evaluator.cli.console import print_table as print_wide
from evaluator.report.tables.table import Cell, Column, Table, plain


def print_table(table: Table) -> None:
    """Print a table to stdout, intervals below their values, with its notes."""
    letters, grouped = table.letters(), any(column.group for column in table.columns)
    printed = Printed(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for label in table.labels:
        printed.add_column("\n" * grouped + label, no_wrap=True)
    for before, column in zip([Column(""), *table.columns], table.columns, strict=False):
        group = column.group if column.group != before.group else ""
        printed.add_column(f"{group}\n" * grouped + column.head, justify="right", no_wrap=True)
    for line, below in zip(table.lines, [*table.lines[1:], None], strict=True):
        cells = [_shown(cell, letters) for cell in line.cells]
        printed.add_row(*line.labels, *cells, end_section=below is not None and below.rule)
    print_line(f"{table.name}. {table.title}", "bold")
    if table.mark:
        print_line(table.mark, "bold red")
    print_wide(printed)
    for note in table.said():
        print_line(note, "dim")
    print_line("")


def _shown(cell: Cell, letters: dict[str, str]) -> str:
    return "\n".join(part for part in (plain(cell, letters), cell.interval) if part)
