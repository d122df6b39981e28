"""Cells of tables from rows of results: values, chance levels, numbers of items, loads."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.protocols.results import Row
from evaluator.report.tables.cells import number, p_value, pooled_value
from evaluator.report.tables.table import NOTHING, Cell

NONE = Cell(NOTHING)


def result_cell(row: Row | None, of: Mapping[str, Any] | None = None) -> Cell:
    """A value with its interval; a mean over n or folds with its standard deviation; a pooled value with that over blocks or runs."""
    if row is None:
        return NONE
    if row["value"] is None:
        lacking = f"none of {row['unscored']:,} items has a score" if row["unscored"] else "this split has no items"
        return Cell(reason=lacking, numbers=row, of=of or {})
    interval = "" if row["low"] is None else f"[{number(row['low'], row['unit'])}, {number(row['high'], row['unit'])}]"
    return Cell(pooled_value(row), interval, numbers=row, of=of or {})


def chance_cell(rows: Sequence[Row]) -> Cell:
    """The chance level of some rows, the least and the greatest where they differ."""
    known = sorted((row for row in rows if row["chance"] is not None), key=lambda row: row["chance"])
    return Cell(_between([number(row["chance"], row["unit"]) for row in known]))


def count_cell(rows: Sequence[Row], name: str) -> Cell:
    """How many `items`, `clusters`, `ties` or `unscored` rows have, the least and the most where they differ."""
    return Cell(_between([f"{n:,}" for n in sorted(row[name] for row in rows if row[name] is not None)]))


def sizes_cell(rows: Sequence[Row]) -> Cell:
    """Numbers of items and clusters of each row."""
    return Cell(", ".join(f"{row['items']}/{row['clusters']}" for row in rows))


def load_cell(coefficient: Row | None, of: Mapping[str, Any] | None = None) -> Cell:
    """A skill load in points an atom, with its error and p in small print and its corrected stars; a self-load in bold."""
    if coefficient is None:
        return NONE
    return Cell(
        f"{coefficient['beta']:+.2f}", f"({coefficient['error']:.2f}, {p_value(coefficient['p'])})", coefficient["stars_corrected"],
        coefficient["load"] == "self", numbers=coefficient, of=of or {},
    )  # fmt: skip


def _between(ordered: Sequence[str]) -> str:
    """
    >>> _between(["1", "2", "2", "9"]), _between([])
    ('1–9', '–')
    """
    return NOTHING.join(dict.fromkeys([*ordered[:1], *ordered[-1:]])) or NOTHING
