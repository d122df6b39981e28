"""Tables whose rows and columns select rows of results, and whose cells are a statistic of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from evaluator.papers.inputs import DEFAULTS, LabelledRuns, RowFilter, has
from evaluator.protocols.items import reported_splits
from evaluator.report.overview import marks_of, notes_of
from evaluator.report.table import (
    CEILING,
    Cell,
    Column,
    Line,
    Table,
    ceiling_cell,
    chance_cell,
    count_cell,
    has_low_ceiling,
    load_cell,
    result_cell,
)

Statistic: TypeAlias = Callable[[LabelledRuns, RowFilter], Cell]
"""Makes a cell from the results of a label and the filter of their rows."""
PLACEHOLDER = "…"
"""The head of a row or column that stands for rows that no run has."""
SIZES = ("items", "clusters", "unscored", "ties")
"""The columns of results that say of how many items a value is."""


def result(label: LabelledRuns, row_filter: RowFilter) -> Cell:
    """Show the value of the selected row.

    Args:
        label: The runs of a line of the table.
        row_filter: Selects one row of their results.

    Returns:
        The value, with its interval and standard deviation if it has them; without a row, the
        reason why.
    """
    row, entry = label.find(row_filter)
    if row is None:
        return Cell(reason=label.why_missing(row_filter))
    return result_cell(row, entry)


def over_n(label: LabelledRuns, row_filter: RowFilter) -> Cell:
    """Show a mean over n with its standard deviation over n (COMPASS, table 2).

    Args:
        label: The runs of a line of the table.
        row_filter: Selects one row of their results.

    Returns:
        The mean and the deviation; for a filter with an n, its `result`.
    """
    # Results give the deviation over runs. COMPASS's is over the numbers of atoms, so it is
    # computed from the values by n.
    cell = result(label, row_filter)
    if row_filter.get("n") is not None or not cell.numbers:
        return cell
    values = []
    for selection in selections([label], "{}", ["n"], row_filter):
        row, _ = label.find({**row_filter, **selection.row_filter})
        if row is not None and row["value"] is not None:
            values.append(row["value"])
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return result_cell({**cell.numbers, "sd": sd, "sd_blocks": None, "sd_runs": None}, cell.of)


def load(count: str) -> Statistic:
    """The statistic of a count's skill load (COMPASS, equation 4) on the items of a filter.

    Args:
        count: The name of the count, such as "n_objects".
    """

    def load_of(label: LabelledRuns, row_filter: RowFilter) -> Cell:
        selected, entry = label.find(row_filter)
        if selected is None:
            return Cell(reason=label.why_missing(row_filter))
        row: Mapping[str, Any] = selected
        # One fit for each level and skill, so these three columns name it (COMPASS, equation 4).
        columns = {name: row[name] for name in ("split", "level", "skill")}
        fit = next((fit for fit in entry["fits"] if has(fit, columns)), None)
        if fit is None:
            return Cell(reason="no load is fitted on this split", of=entry)
        if count not in fit["coefficients"]:
            return Cell(reason=fit["reason"] or "this count does not vary", of=entry)
        sizes = {name: row[name] for name in SIZES}
        return load_cell({**sizes, **fit["coefficients"][count]}, entry)

    return load_of


@dataclass(frozen=True)
class Selection:
    """A row or a column of a table."""

    head: str = ""
    """Its head."""
    row_filter: RowFilter = field(default_factory=dict)
    """The rows of results that it selects."""
    statistic: Statistic = result
    """Makes its cells. Only columns use it."""
    group: str = ""
    """The head above its head, which neighbours share."""


def select(head: str, statistic: Statistic = result, /, **columns: Any) -> Selection:
    """Make a row or a column that selects rows with these values.

    Args:
        head: Its head.
        statistic: Makes its cells.
        columns: The values by column of the results.
    """
    return Selection(head, columns, statistic)


def selections(
    labels: Sequence[LabelledRuns], head: str, names: Sequence[str], row_filter: RowFilter
) -> list[Selection]:
    """Make a row or a column for each combination of values that the results have in some columns.

    Skips the split `val`. Heads do not name a split or benchmark that is the only one.

    Args:
        labels: The results.
        head: The head, in which the values replace {}.
        names: The columns.
        row_filter: The rows of results to look at.

    Returns:
        The selections, sorted; if the results have no such row, one placeholder, in which each
        label gives its reason.
    """
    others = {name: value for name, value in DEFAULTS.items() if name not in names}
    rows = []
    for label in labels:
        rows += [row for row, _ in label.select({**others, **row_filter})]
    splits = reported_splits(row["split"] for row in rows)
    combinations = []
    distinct_values = {tuple(row.get(name) for name in names) for row in rows}
    for values in distinct_values:
        combination = dict(zip(names, values, strict=True))
        is_reported = "split" not in names or combination["split"] in splits
        if None not in values and is_reported:
            combinations.append(combination)
    if not combinations:
        return [Selection(PLACEHOLDER, dict.fromkeys(names, PLACEHOLDER))]

    def rank(combination: Mapping[str, Any]) -> list[Any]:
        """Splits in the order of reports; numbers before longer ones."""
        ranks: list[Any] = []
        for name, value in combination.items():
            if name == "split":
                ranks.append((splits.index(value), ""))
            else:
                # By length first, so that 10 comes after 9 among texts too.
                ranks.append((len(str(value)), value))
        return ranks

    # Heads name what tells selections apart; a single kind or skill is named all the same.
    named = []
    for name in names:
        differs = len({combination[name] for combination in combinations}) > 1
        if differs or name not in ("split", "benchmark"):
            named.append(name)
    of_combinations = []
    for combination in sorted(combinations, key=rank):
        text = ", ".join(str(combination[name]) for name in named)
        of_combinations.append(Selection(head.format(text).strip(", "), combination))
    return of_combinations


def grouped(groups: Sequence[Selection], members: Sequence[Selection]) -> list[Selection]:
    """Each member in each group: under the group's head, with the values of both."""
    pairs = []
    for group in groups:
        for member in members:
            row_filter = {**group.row_filter, **member.row_filter}
            pairs.append(replace(member, row_filter=row_filter, group=group.head))
    return pairs


def by_label(
    labels: Sequence[LabelledRuns],
    columns: Sequence[Selection],
    rows: Sequence[Selection] = (Selection(),),
    head: str = "",
    row_filter: RowFilter | None = None,
    *,
    named: str = "model",
    notes: Sequence[str] = (),
) -> Table:
    """Make a table with a line for each row and label.

    Labels without a number in any cell have no line; a note names them, with the reasons. Below are
    lines with the chance, the ceiling if one is below 100%, items, clusters, unscored items and
    ties of each column, and notes about the results shown.

    Args:
        labels: The results.
        columns: The columns.
        rows: The rows.
        head: The head of the column of rows.
        row_filter: What all cells select.
        named: What a label names: the head of the column of labels.
        notes: The first notes.
    """
    labelled = [
        (label, _cells(label, columns, rows=rows, row_filter=row_filter or {})) for label in labels
    ]
    # Before the width of label columns is counted: a label without a line must not add a column.
    labelled, absent_notes = _with_numbers(labelled)

    has_row_heads = any(row.head for row in rows)
    depth = max((len(label.parts) for label, _ in labelled), default=1)
    lines = []
    for i, row in enumerate(rows):
        for j, (label, cells) in enumerate(labelled):
            names = [row.head] if has_row_heads else []
            names += [*label.parts, *[""] * (depth - len(label.parts))]
            lines.append(Line(names, cells[i], rule=j == 0 and i > 0))
    entries = _entries_of(lines)
    summary, limit_notes = _summary_lines(lines, len(columns), has_row_heads + depth)
    heads = [head] if has_row_heads else []
    heads.append(named)
    # Labels of several parts have a column for each part.
    # A label names the model in its first part and what was done to it in the others.
    variants = ["variant", *(f"variant {i}" for i in range(2, depth))]
    heads += variants[: depth - 1]
    return Table(
        heads,
        [Column(column.head, column.group) for column in columns],
        [*lines, *summary],
        notes=[*notes, *absent_notes, *notes_of(entries), *limit_notes],
        mark=marks_of(entries),
    )


def _cells(
    label: LabelledRuns,
    columns: Sequence[Selection],
    *,
    rows: Sequence[Selection],
    row_filter: RowFilter,
) -> list[list[Cell]]:
    """The cells of a label: a list for each row."""
    cells = []
    for row in rows:
        of_row = []
        for column in columns:
            of_cell = {**row_filter, **row.row_filter, **column.row_filter}
            of_row.append(column.statistic(label, of_cell))
        cells.append(of_row)
    return cells


def _with_numbers(
    labelled: list[tuple[LabelledRuns, list[list[Cell]]]],
) -> tuple[list[tuple[LabelledRuns, list[list[Cell]]]], list[str]]:
    """The labels with a number in some cell, with their cells, and sentences on the other labels;
    all labels if none has a number."""
    with_numbers = []
    names_of_reason: dict[str, list[str]] = {}
    for label, rows in labelled:
        cells = [cell for row in rows for cell in row]
        if any(cell.numbers for cell in cells):
            with_numbers.append((label, rows))
        else:
            reasons = dict.fromkeys(cell.reason for cell in cells if cell.reason)
            names_of_reason.setdefault("; ".join(reasons), []).append(label.name)
    # A table without any number still shows its lines, with a reason in each cell.
    if not with_numbers:
        return labelled, []
    notes = []
    for reason, names in names_of_reason.items():
        notes.append(f"Not shown: {'; '.join(names)} ({reason}).")
    return with_numbers, notes


def _summary_lines(
    lines: Sequence[Line], columns: int, label_columns: int
) -> tuple[list[Line], list[str]]:
    """The lines below a table: chance, ceiling and sizes of each column; and the note on the
    ceiling, if there is one."""
    rows_of_column = []
    for i in range(columns):
        rows_of_column.append([line.cells[i].numbers for line in lines])
    summary = {"chance": [chance_cell(rows) for rows in rows_of_column]}
    notes = []
    all_rows = [row for rows in rows_of_column for row in rows]
    if any(has_low_ceiling(row) for row in all_rows):
        notes.append(CEILING)
        ceilings = []
        for rows in rows_of_column:
            # Cells without a number have no row.
            ceilings.append(ceiling_cell([row for row in rows if row]))
        summary["ceiling"] = ceilings
    for name in SIZES:
        summary[name] = [count_cell(rows, name) for rows in rows_of_column]
    # A line of which no column has a number says nothing.
    empty = chance_cell([])
    summary_lines: list[Line] = []
    for name, cells in summary.items():
        if any(cell != empty for cell in cells):
            names = [name, *[""] * (label_columns - 1)]
            summary_lines.append(Line(names, cells, rule=not summary_lines))
    return summary_lines, notes


def _entries_of(lines: Sequence[Line]) -> list[Any]:
    """The results that the cells of some lines show, without duplicates."""
    entries = {}
    for line in lines:
        for cell in line.cells:
            # Results are compared by identity: they are large, and cells share them.
            if "rules" in cell.of:
                entries[id(cell.of)] = cell.of
    return list(entries.values())
