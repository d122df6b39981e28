"""How a benchmark of others was read, as its manifest and results record it, and as it is said to people."""

from collections.abc import Mapping
from typing import Any

READING = "reading"
"""The entry of a benchmark's manifest, and of results: `averages`, whether its authors average over categories; `filters` by name;
`excluded`, how many questions and texts were left out by reason; `versions`, a sentence for each file of another version."""
YES = "yes"
"""The value of a filter that has none."""


def filters_said(filters: Mapping[str, str]) -> str:
    """Filters as they are given.

    >>> filters_said({"first": "1000", "present": "yes"})
    'first=1000, present'
    """
    return ", ".join(name if value == YES else f"{name}={value}" for name, value in filters.items())


def reading_said(reading: Mapping[str, Any]) -> list[str]:
    """Sentences on filters, on what was left out, and on files that are not as published."""
    filters = filters_said(reading.get("filters", {}))
    excluded = "; ".join(f"{n:,}: {reason}" for reason, n in reading.get("excluded", {}).items())
    return [
        *([f"Filters: {filters}."] if filters else []),
        *([f"Left out: {excluded}."] if excluded else []),
        *reading.get("versions", []),
    ]
