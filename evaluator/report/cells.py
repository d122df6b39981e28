"""Cells of tables from rows of results: values, intervals, chance levels, numbers of items, loads."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.protocols.records import Row
from evaluator.report.table import NOTHING, Cell
from evaluator.statistics.intervals import LEVEL

NONE = Cell(NOTHING)


def result_cell(row: Row | None, of: Mapping[str, Any] | None = None, decimals: int = 1) -> Cell:
    """A value with its interval and, where it has one, its standard deviation: over n or folds, else over blocks or
    runs."""
    if row is None:
        return NONE
    if row["value"] is None:
        lacking = f"none of {row['unscored']:,} items has a score" if row["unscored"] else "this split has no items"
        return Cell(reason=lacking, numbers=row, of=of or {})
    sd = next((sd for sd in (row["sd"], row.get("sd_blocks"), row.get("sd_runs")) if sd is not None), None)
    text = number(row["value"], row["unit"], decimals)
    if sd is not None:
        text += f" ± {_deviation(sd, row, decimals)}"
    return Cell(text, interval(row, decimals), numbers=row, of=of or {})


def interval(row: Row, decimals: int = 1) -> str:
    """The interval of a row, in its unit; "" where it has none."""
    if row["low"] is None:
        return ""
    return f"[{number(row['low'], row['unit'], decimals)}, {number(row['high'], row['unit'], decimals)}]"


def spread(row: Row, over: str, decimals: int = 1) -> str:
    """How pooled `blocks` or `runs` differ: their standard deviation, the least and the greatest; "" for one alone.

    >>> spread({"unit": "share", "sd_runs": 0.05, "min_runs": 0.4, "max_runs": 0.5}, "runs")
    '± 5.0 [40.0, 50.0]'
    """
    sd, least, most = (row.get(f"{name}_{over}") for name in ("sd", "min", "max"))
    if sd is None:
        return ""
    ends = f"[{number(least, row['unit'], decimals)}, {number(most, row['unit'], decimals)}]"
    return f"± {_deviation(sd, row, decimals)} {ends}"


def chance_cell(rows: Sequence[Row]) -> Cell:
    """The chance level of some rows, the least and the greatest where they differ."""
    known = sorted((row for row in rows if row["chance"] is not None), key=lambda row: row["chance"] or 0)
    return Cell(_between([number(row["chance"], row["unit"]) for row in known]))


def count_cell(rows: Sequence[Any], name: str) -> Cell:
    """How many `items`, `clusters`, `ties` or `unscored` rows have, the least and the most where they differ."""
    return Cell(_between([f"{n:,}" for n in sorted(row[name] for row in rows if row[name] is not None)]))


def sizes_cell(rows: Sequence[Row]) -> Cell:
    """Numbers of items and clusters of each row."""
    return Cell(", ".join(f"{row['items']}/{row['clusters']}" for row in rows))


def load_cell(coefficient: Mapping[str, Any] | None, of: Mapping[str, Any] | None = None) -> Cell:
    """A skill load in points an atom, with its error and p in small print and its corrected stars; a self-load in
    bold."""
    if coefficient is None:
        return NONE
    small = f"({coefficient['error']:.2f}, {p_value(coefficient['p'])})"
    bold = coefficient["load"] == "self"
    stars = coefficient["stars_corrected"]
    return Cell(f"{coefficient['beta']:+.2f}", small, stars, bold, numbers=coefficient, of=of or {})


def number(value: Any, unit: str, decimals: int = 1) -> str:
    """A number in its unit: a share in percent, a difference in points with its sign, a score; a dash where there is
    none.

    >>> number(0.5, "share"), number(-0.1, "difference"), number(0.21, "score"), number(None, "share")
    ('50.0', '-10.0', '0.210', '–')
    """
    if value is None:
        return NOTHING
    return f"{value:.3f}" if unit == "score" else {"share": percent, "difference": signed}[unit](value, decimals)


def percent(share: float, decimals: int = 1) -> str:
    """A share as a percentage with some decimals, more where it is tiny.

    >>> percent(0.87512), percent(0.87512, 2), percent(2 / 7392)
    ('87.5', '87.51', '0.027')
    """
    value = 100 * share
    return f"{value:.{decimals}f}" if value == 0 or value >= 10**-decimals else f"{value:.2g}"


def signed(share: float, decimals: int = 1) -> str:
    """A difference of shares in points, with its sign."""
    return f"{100 * share:+.{decimals}f}"


def p_value(p: float | None) -> str:
    """A p-value to three places; a dash where there is none.

    >>> p_value(0.0123), p_value(0.0005), p_value(0.9999), p_value(None)
    ('.012', '<.001', '1', '–')
    """
    if p is None:
        return NOTHING
    if p < 0.001:
        return "<.001"
    return f"{p:.3f}".lstrip("0") if p < 0.9995 else "1"


def confidence(results: Mapping[str, Any]) -> str:
    """The level of the intervals of some results.

    >>> confidence({"rules": {"level": 0.999}}), confidence({"rules": {}})
    ('99.9%', '95%')
    """
    return f"{100 * results['rules'].get('level', LEVEL):.4g}%"


def _deviation(sd: Any, row: Row, decimals: int) -> str:
    return number(sd, "score" if row["unit"] == "score" else "share", decimals)


def _between(ordered: Sequence[str]) -> str:
    """
    >>> _between(["1", "2", "2", "9"]), _between([])
    ('1–9', '–')
    """
    return NOTHING.join(dict.fromkeys([*ordered[:1], *ordered[-1:]])) or NOTHING
