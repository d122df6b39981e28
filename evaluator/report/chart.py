"""Charts as Vega-Lite specifications: fills a template of charts/ with the records of a figure.

Specifications are plain dictionaries: Altair's objects copy and validate their data at each step,
which took most of a page's time.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from generator.base.errors import visible

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
SIDE_BY_SIDE = 3
"""The most panels in a row, and the most columns of a legend: more are too narrow to read."""
_LEGEND_MARK, _LEGEND_LETTER = 30, 4.6
"""Widths of the mark of a legend entry and of a letter of its text, in points."""
_AXIS_ENDS = (10, 20, 50)
"""Ends of the axis of percent, below 100, from which a panel takes the smallest that has room."""


@cache
def read_chart(name: str) -> Spec:
    """Read a template. Callers must not change it: it is read once.

    Args:
        name: Name of a file of charts/, without the suffix.

    Returns:
        The template.
    """
    file = files("evaluator.report") / "charts" / f"{name}.json"
    chart: Spec = json.loads(file.read_text(encoding="utf-8"))
    return chart


def fill_values(part: Any, records: Sequence[Mapping[str, Any]]) -> Any:
    """Replace a `sort` or `domain` of "values" with the values of its field, in their order.

    Args:
        part: A part of a template.
        records: The records of all panels.

    Returns:
        A copy of the part with the values.
    """
    if isinstance(part, list):
        return [fill_values(member, records) for member in part]
    if not isinstance(part, dict):
        return part
    filled = {name: fill_values(member, records) for name, member in part.items()}
    if "field" in part:
        # Vega sorts by the alphabet, where splits and models have an order of their own.
        values = list(dict.fromkeys(record.get(part["field"]) for record in records))
        if part.get("sort") == "values":
            filled["sort"] = values
        if part.get("scale") == {"domain": "values"}:
            filled["scale"] = {"domain": values}
    return filled


def axis_end(records: Sequence[Mapping[str, Any]]) -> float:
    """Find the end of the axis of percent of a panel.

    Retrieval from thousands of captions reaches a few percent: on an axis to 100 its fall is flat.

    Args:
        records: The records of the panel.

    Returns:
        The smallest end that has room for all values and intervals.

    >>> axis_end([{"value": 7.7, "high": 11.0}]), axis_end([{"value": 60.0, "high": None}])
    (20, 100)
    """
    percents = []
    for record in records:
        for name in ("value", "low", "high", "chance", "least", "most"):
            if isinstance(record.get(name), int | float):
                percents.append(record[name])
    if not percents:
        return 100
    # Panels take ends from a short list, so that several panels mostly share one.
    for end in _AXIS_ENDS:
        if max(percents) <= end:
            return end
    return 100


def zoom_axes(part: Any, end: float) -> Any:
    """End the axes of `value` from 0 to 100 at another percentage.

    Args:
        part: A part of a template.
        end: The percentage.

    Returns:
        A copy of the part with these axes.
    """
    if isinstance(part, list):
        return [zoom_axes(member, end) for member in part]
    if not isinstance(part, dict):
        return part
    zoomed = {name: zoom_axes(member, end) for name, member in part.items()}
    if part.get("field") == "value" and part.get("scale") == {"domain": [0, 100]}:
        zoomed["scale"] = {"domain": [0, end]}
    return zoomed


def legend_columns(records: Sequence[Mapping[str, Any]], width: float) -> int:
    """Count the columns of the legend that have room, for the longest name of a series.

    Args:
        records: The records of all panels.
        width: Width of the figure, in points.

    Returns:
        1..SIDE_BY_SIDE.
    """
    longest = max((len(str(record.get("series"))) for record in records), default=0)
    fitting = int(width / (_LEGEND_MARK + _LEGEND_LETTER * longest))
    return max(1, min(SIDE_BY_SIDE, fitting))


def escape_controls(part: Any) -> Any:
    """Escape control characters, at which the chart converter aborts.

    Args:
        part: A part of a specification.

    Returns:
        A copy of the part without control characters.
    """
    if isinstance(part, dict):
        return {name: escape_controls(member) for name, member in part.items()}
    if isinstance(part, list):
        return [escape_controls(member) for member in part]
    return visible(part) if isinstance(part, str) else part
