"""The cells of a table of results as text: values, intervals, chance levels."""

from collections.abc import Sequence
from typing import Any

from evaluator.statistics.intervals import LEVEL

GROUPS = ("error", "kind", "skill", "level", "n")


def is_gap(row: dict[str, Any]) -> bool:
    """Whether a row is the difference between two splits."""
    return " - " in row["split"]


def varying(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The labels in which rows differ."""
    return [name for name in GROUPS if len({row[name] for row in rows}) > 1]


def value(row: dict[str, Any], decimals: int = 1) -> str:
    """A row's value: percent, points with a sign, or a score; with its standard deviation where it has one."""
    text = number(row["value"], row["unit"], decimals)
    return text if row["sd"] is None else f"{text} ± {number(row['sd'], 'share', decimals)}"


def chance(row: dict[str, Any]) -> str:
    """A row's value by chance."""
    return number(row["chance"], row["unit"])


def interval(row: dict[str, Any], decimals: int = 1) -> str:
    """The interval of a row, in its unit."""
    if row["low"] is None:
        return "–"
    if row["unit"] == "share":
        return f"{100 * row['low']:.{decimals}f} – {100 * row['high']:.{decimals}f}"
    return f"{number(row['low'], row['unit'], decimals)}, {number(row['high'], row['unit'], decimals)}"


def confidence(results: dict[str, Any]) -> str:
    """The level of the intervals of some results.

    >>> confidence({"rules": {"level": 0.999}}), confidence({"rules": {}})
    ('99.9%', '95%')
    """
    return f"{100 * results['rules'].get('level', LEVEL):.4g}%"


def p_value(p: float | None) -> str:
    """A p-value to three places; a dash where there is none.

    >>> p_value(0.0123), p_value(0.0005), p_value(0.9999), p_value(None)
    ('.012', '<.001', '1', '–')
    """
    if p is None:
        return "–"
    if p < 0.001:
        return "<.001"
    return f"{p:.3f}".lstrip("0") if p < 0.9995 else "1"


def spread(row: dict[str, Any], over: str, decimals: int = 1) -> str:
    """How pooled `blocks` or `runs` differ: their standard deviation, the least and the greatest; "" for one alone.

    >>> spread({"unit": "share", "sd_runs": 0.05, "min_runs": 0.4, "max_runs": 0.5}, "runs")
    '± 5.0 [40.0, 50.0]'
    """
    if row.get(f"sd_{over}") is None:
        return ""
    least, most = (number(row[f"{end}_{over}"], row["unit"], decimals) for end in ("min", "max"))
    return f"± {_deviation(row, over, decimals)} [{least}, {most}]"


def pooled_value(row: dict[str, Any], decimals: int = 1) -> str:
    """A row's value as `value` gives it, with its standard deviation over blocks, else over runs, where it has one."""
    over = next((over for over in ("blocks", "runs") if row.get(f"sd_{over}") is not None), None)
    return value(row, decimals) + (f" ± {_deviation(row, over, decimals)}" if over else "")


def _deviation(row: dict[str, Any], over: str, decimals: int) -> str:
    return number(row[f"sd_{over}"], "score" if row["unit"] == "score" else "share", decimals)


def number(value: float | None, unit: str, decimals: int = 1) -> str:
    """A number in its unit: a share in percent, a difference in points with its sign, a score; a dash where there is none.

    >>> number(0.5, "share"), number(-0.1, "difference"), number(0.21, "score"), number(None, "share")
    ('50.0', '-10.0', '0.210', '–')
    """
    if value is None:
        return "–"
    return f"{value:.3f}" if unit == "score" else {"share": percent, "difference": signed}[unit](value, decimals)


def percent(share: float | None, decimals: int = 1) -> str:
    """A share as a percentage with some decimals, more where it is tiny; a dash where there is none.

    >>> percent(0.87512), percent(0.87512, 2), percent(2 / 7392), percent(None)
    ('87.5', '87.51', '0.027', '–')
    """
    if share is None:
        return "–"
    value = 100 * share
    return f"{value:.{decimals}f}" if value == 0 or value >= 10**-decimals else f"{value:.2g}"


def signed(share: float, decimals: int = 1) -> str:
    """A difference of shares in points, with its sign."""
    return f"{100 * share:+.{decimals}f}"
