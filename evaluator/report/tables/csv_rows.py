"""Tables as rows for CSV and JSON: one for each cell that shows a number or says why it shows none."""

from typing import Any

from evaluator.report.tables.table import Table

NUMBERS = (
    "value", "unit", "sd", "low", "high", "sd_blocks", "min_blocks", "max_blocks", "sd_runs", "min_runs", "max_runs", "blocks", "runs",
    "beta", "error", "p", "stars", "p_corrected", "stars_corrected", "chance", "items", "clusters", "ties", "unscored",
)  # fmt: skip


def csv_rows(table: Table) -> list[dict[str, Any]]:
    """The cells of a table, line by line: the labels of its line, `group` and `column`, the numbers (NUMBERS) that it has
    unrounded, and `reason`. Shares are in 0..1, loads in points. Cells of chance levels and sizes are left out: they are in
    the numbers."""
    return [
        {
            **dict(zip(table.labels, line.labels, strict=True)), "group": column.group, "column": column.head,
            **{name: cell.numbers.get(name) for name in names}, "reason": cell.reason,
        }
        for names in [_known(table)]
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell.numbers or cell.reason
    ]  # fmt: skip


def _known(table: Table) -> list[str]:
    """The numbers that any cell has."""
    cells = [cell for line in table.lines for cell in line.cells]
    return [name for name in NUMBERS if any(cell.numbers.get(name) is not None for cell in cells)]
