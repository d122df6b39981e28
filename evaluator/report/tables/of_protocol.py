"""Tables of one protocol's results. Each protocol names the functions of this module that make its own: `by_split`, `pivot`,
`errors`, `raw_retrieval`, `loads`."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from evaluator.protocols.errors import METRICS as ERRORS
from evaluator.protocols.items import COUNTS, reported_splits
from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.results import Results, Row
from evaluator.report.tables.cells import is_gap, p_value
from evaluator.report.tables.result_cells import chance_cell, load_cell, result_cell, sizes_cell
from evaluator.report.tables.table import Cell, Column, Line, Table


def by_split(results: Results, protocol: str) -> list[Table]:
    """A line for each metric and group, a column for each split and gap between splits (BindSplit, Winoground)."""
    rows = [row for row in _rows(results, protocol) if row["n"] is None and row["metric"] not in ERRORS]
    splits = reported_splits(row["split"] for row in rows)
    gaps = list(dict.fromkeys(row["split"] for row in rows if is_gap(row)))
    labels = ["metric", *(name for name in ("error", "kind", "skill", "level") if len({row[name] for row in rows}) > 1)]
    tested = any(row["p"] is not None for row in rows)  # those pooled over the runs of one block have no p
    note = "p, in the order of the columns: of a split against chance, of a gap against 0, two-sided."
    lines = []
    for group in _grouped(rows, labels):
        row_of = {row["split"]: row for row in group}
        scored = [row_of[split] for split in splits if split in row_of]
        p = "/".join(p_value(row_of[split]["p"] if split in row_of else None) for split in [*splits, *gaps])
        lines.append(Line(_labels(group[0], labels), [
            *(result_cell(row_of.get(split)) for split in [*splits, *gaps]), chance_cell(group), *([Cell(p)] if tested else []),
            Cell("/".join(str(row["ties"]) for row in scored)), sizes_cell(scored),
        ]))  # fmt: skip
    heads = [*splits, *gaps, "chance", *(["p"] if tested else []), "ties", "items/clusters"]
    return [_table(labels, heads, lines, note if tested else "")]


def pivot(
    results: Results, protocol: str, lines: Sequence[str], columns: Sequence[str], chance: str = "", sizes: bool = True
) -> list[Table]:
    """A line for each value of the labels `lines`, a column for each value of the labels `columns`.

    Chance stands in a last line; with `chance`, in a column of that head, which gives the chance of the last cell. `sizes`
    adds the numbers of items and clusters, where they are the same for all columns. Gaps, val, raw retrieval and the directions
    of errors are left out.
    """
    rows = [
        row for row in _rows(results, protocol)
        if not is_gap(row) and row["split"] != "val" and row["kind"] != RAW and row["metric"] not in ERRORS
        and (row["n"] is None or "n" in columns)
    ]  # fmt: skip
    keys = [key for key in product(*(_values(rows, name) for name in columns)) if _select(rows, columns, key)]
    heads = [_head(_select(rows, columns, key)[0], columns) for key in keys]
    found = []
    for group in _grouped(rows, lines):
        cells = [result_cell(next(iter(_select(group, columns, key)), None)) for key in keys]
        cells += [chance_cell(group[-1:])] * bool(chance) + [sizes_cell(group[:1])] * sizes
        found.append(Line(_labels(group[0], lines), cells))
    if not chance:
        cells = [*(chance_cell(_select(rows, columns, key)) for key in keys), *[Cell()] * sizes]
        found.append(Line(["chance", *[""] * (len(lines) - 1)], cells, rule=True))
    return [_table(lines, [*heads, *[chance] * bool(chance), *["items/clusters"] * sizes], found)]


def errors(results: Results, protocol: str) -> list[Table]:
    """A line for each direction of wrong choices, two columns for each split: its share and its chance; no table without any."""
    rows = [row for row in _rows(results, protocol) if row["metric"] in ERRORS]
    splits = reported_splits(row["split"] for row in rows)
    labels = ["metric", "error", *(["kind"] if len({row["kind"] for row in rows}) > 1 else [])]
    lines = []
    for group in _grouped(rows, labels):
        of_split = [[row for row in group if row["split"] == split] for split in splits]
        cells = [cell for part in of_split for cell in (result_cell(next(iter(part), None)), chance_cell(part))]
        lines.append(Line(_labels(group[0], labels), [*cells, sizes_cell([row for part in of_split for row in part])]))
    return [_table(labels, [*(head for split in splits for head in (split, "chance")), "errors/clusters"], lines)] if splits else []  # fmt: skip


def raw_retrieval(results: Results, protocol: str) -> list[Table]:
    """A line for each direction, split and complexity of raw retrieval; no table where the run has none."""
    rows = [row for row in _rows(results, protocol) if row["kind"] == RAW]
    lines = [
        Line(_labels(row, ["metric", "split", "n"]), [result_cell(row), chance_cell([row]), sizes_cell([row])])
        for row in rows
    ]
    heads = ["R@1, mean and sd over folds", "chance", "items/clusters"]
    return [_table(["raw retrieval", "split", "n"], heads, lines)] if rows else []


def loads(results: Results, protocol: str) -> list[Table]:
    """COMPASS: the load β of each count in points an atom, with its error and p, and corrected stars, a line for each fit."""
    fits = [fit for fit in results["fits"] if fit["protocol"] == protocol]
    labels = ["level", "skill", "split"]
    if not fits:
        return []
    lines = [
        Line(_labels(fit, labels), [*(load_cell(fit["coefficients"].get(count)) for count in COUNTS), sizes_cell([fit])])
        for fit in fits
    ]  # fmt: skip
    return [_table(labels, [*(count.removeprefix("n_") for count in COUNTS), "items/clusters"], lines, loads_note(fits[0]))]  # fmt: skip


def loads_note(fit: Row) -> str:
    """What the small print and the stars of loads mean."""
    return (
        f"Loads: standard error and p in brackets, p without correction; * p < .005, ** p < .001 after {fit['correction']} "
        "over the table."
    )


def _table(labels: Sequence[str], heads: Sequence[str], lines: Sequence[Line], note: str = "") -> Table:
    return Table(labels, [Column(head) for head in heads], lines, notes=[note] if note else [])


def _labels(row: Row, names: Sequence[str]) -> list[str]:
    return ["" if row[name] is None else str(row[name]) for name in names]


def _rows(results: Results, protocol: str) -> list[Row]:
    return [row for row in results["rows"] if row["protocol"] == protocol]


def _select(rows: Sequence[Row], names: Sequence[str], key: Sequence[Any]) -> list[Row]:
    """The rows with these labels."""
    return [row for row in rows if all(row[name] == value for name, value in zip(names, key, strict=True))]


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    """The distinct labels in the order of the rows; numbers of atoms in ascending order, after the mean over all."""
    values = dict.fromkeys(row[name] for row in rows)
    return sorted(values, key=lambda n: n or 0) if name == "n" else list(values)


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> list[list[Row]]:
    return [_select(rows, names, key) for key in dict.fromkeys(tuple(row[name] for name in names) for row in rows)]


def _head(row: Row, columns: Sequence[str]) -> str:
    """The head of a column, such as "atom: R@1" or "n = 4"; of a kind of errors its name alone."""
    if row["error"]:
        return str(row["error"])
    labels = [f"n = {row[name]}" if name == "n" else str(row[name]) for name in columns if row[name] is not None]
    return ": ".join(labels) or "all"
