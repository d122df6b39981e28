"""The LaTeX tables of one protocol's results: those that its rows, fits and layout (evaluator.protocols.protocol) ask
for."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from evaluator.protocols.errors import METRICS as ERRORS
from evaluator.protocols.items import COUNTS, reported_splits
from evaluator.protocols.protocol import Layout
from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.records import Results, split_of
from evaluator.protocols.registry import find_protocol
from evaluator.report.cells import chance_cell, load_cell, p_value, result_cell, sizes_cell
from evaluator.report.overview import varying
from evaluator.report.table import Cell, Column, Line, Table

Rows = Sequence[Any]
"""Rows of results."""


def protocol_tables(results: Results, protocol: str) -> list[Table]:
    """The tables of a protocol: by its layout; then of errors, of raw retrieval and of loads, where the results have
    any."""
    layout = find_protocol(protocol).layout
    rows = [row for row in results["rows"] if row["protocol"] == protocol]
    usual = [row for row in rows if row["metric"] not in ERRORS]
    fits = [fit for fit in results["fits"] if fit["protocol"] == protocol]
    made = [
        by_split([row for row in usual if row["n"] is None]) if layout is None else pivot(usual, layout),
        errors([row for row in rows if row["metric"] in ERRORS]),
        raw_retrieval([row for row in rows if row["kind"] == RAW]) if layout else None,
        loads(fits),
    ]
    return [table for table in made if table is not None and table.lines]


def by_split(rows: Rows) -> Table:
    """A line for each metric and group, a column for each split and gap between splits (BindSplit, Winoground)."""
    splits = reported_splits(row["split"] for row in rows)
    gaps = list(dict.fromkeys(split_of(row) for row in rows if row["is_gap"]))
    labels = ["metric", *varying(rows, ("error", "kind", "skill", "level"))]
    tested = any(row["p"] is not None for row in rows)  # those pooled over the runs of one block have no p
    lines = []
    for group in _grouped(rows, labels):
        row_of = {split_of(row): row for row in group}
        shown = [row_of.get(split) for split in [*splits, *gaps]]
        scored = [row_of[split] for split in splits if split in row_of]
        p = "/".join(p_value(row["p"] if row else None) for row in shown)
        ties = "/".join(str(row["ties"]) for row in scored)
        cells = [*map(result_cell, shown), chance_cell(group), *[Cell(p)] * tested, Cell(ties), sizes_cell(scored)]
        lines.append(Line(_named(group[0], labels), cells))
    note = "p, in the order of the columns: of a split against chance, of a gap against 0, two-sided."
    heads = [*splits, *gaps, "chance", *["p"] * tested, "ties", "items/clusters"]
    return _table(labels, heads, lines, note if tested else "")


def pivot(rows: Rows, layout: Layout) -> Table:
    """A line for each value of the layout's labels `lines`, a column for each value of its labels `columns`.

    Gaps, val and raw retrieval are left out.
    """
    lines, columns = layout.lines, layout.columns
    rows = [
        row
        for row in rows
        if not row["is_gap"] and row["split"] != "val" and row["kind"] != RAW and (row["n"] is None or "n" in columns)
    ]
    keys = [key for key in product(*(_values(rows, name) for name in columns)) if _select(rows, columns, key)]
    heads = [_head(_select(rows, columns, key)[0], columns) for key in keys]
    found = []
    for group in _grouped(rows, lines):
        cells = [result_cell(next(iter(_select(group, columns, key)), None)) for key in keys]
        cells += [chance_cell(group[-1:])] * bool(layout.chance) + [sizes_cell(group[:1])] * layout.sizes
        found.append(Line(_named(group[0], lines), cells))
    if not layout.chance:
        cells = [*(chance_cell(_select(rows, columns, key)) for key in keys), *[Cell()] * layout.sizes]
        found.append(Line(["chance", *[""] * (len(lines) - 1)], cells, rule=True))
    return _table(lines, [*heads, *[layout.chance] * bool(layout.chance), *["items/clusters"] * layout.sizes], found)


def errors(rows: Rows) -> Table:
    """A line for each direction of wrong choices, two columns for each split: its share and its chance."""
    splits = reported_splits(row["split"] for row in rows)
    labels = ["metric", "error", *varying(rows, ["kind"])]
    lines = []
    for group in _grouped([row for row in rows if row["split"] in splits], labels):
        of_split = [[row for row in group if row["split"] == split] for split in splits]
        cells = [cell for part in of_split for cell in (result_cell(next(iter(part), None)), chance_cell(part))]
        lines.append(Line(_named(group[0], labels), [*cells, sizes_cell([row for part in of_split for row in part])]))
    return _table(labels, [*(head for split in splits for head in (split, "chance")), "errors/clusters"], lines)


def raw_retrieval(rows: Rows) -> Table:
    """A line for each direction, split and complexity of raw retrieval."""
    names = ["metric", "split", "n"]
    lines = [Line(_named(row, names), [result_cell(row), chance_cell([row]), sizes_cell([row])]) for row in rows]
    return _table(["raw retrieval", "split", "n"], ["R@1, mean and sd over folds", "chance", "items/clusters"], lines)


def loads(fits: Rows) -> Table:
    """COMPASS: the load β of each count in points an atom, with its error and p, and corrected stars, a line for each
    fit."""
    labels = ["level", "skill", "split"]
    lines = []
    for fit in fits:
        cells = [load_cell(fit["coefficients"].get(count)) for count in COUNTS]
        lines.append(Line(_named(fit, labels), [*cells, sizes_cell([fit])]))
    note = [
        f"Loads: standard error and p in brackets, p without correction; * p < .005, ** p < .001 after "
        f"{fit['correction']} "
        "over the table."
        for fit in fits[:1]
    ]
    return _table(labels, [*(count.removeprefix("n_") for count in COUNTS), "items/clusters"], lines, *note)


def _table(labels: Sequence[str], heads: Sequence[str], lines: Sequence[Line], note: str = "") -> Table:
    return Table(labels, [Column(head) for head in heads], lines, notes=[note] if note else [])


def _named(row: Any, names: Sequence[str]) -> list[str]:
    return ["" if row[name] is None else str(row[name]) for name in names]


def _select(rows: Rows, names: Sequence[str], key: Sequence[Any]) -> list[Any]:
    """The rows with these labels."""
    return [row for row in rows if all(row[name] == value for name, value in zip(names, key, strict=True))]


def _values(rows: Rows, name: str) -> list[Any]:
    """The distinct labels in the order of the rows; numbers of atoms in ascending order, after the mean over all."""
    values = dict.fromkeys(row[name] for row in rows)
    return sorted(values, key=lambda n: n or 0) if name == "n" else list(values)


def _grouped(rows: Rows, names: Sequence[str]) -> list[list[Any]]:
    return [_select(rows, names, key) for key in dict.fromkeys(tuple(row[name] for name in names) for row in rows)]


def _head(row: Any, columns: Sequence[str]) -> str:
    """The head of a column, such as "atom: R@1" or "n = 4"; of a kind of errors its name alone."""
    if row["error"]:
        return str(row["error"])
    labels = [f"n = {row[name]}" if name == "n" else str(row[name]) for name in columns if row[name] is not None]
    return ": ".join(labels) or "all"
