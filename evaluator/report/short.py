"""The short table of results, as text cells: a line for each metric of a group of items, a column for each split."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.protocols.items import FULL
from evaluator.report.overview import GAP, Line, varying_entries, varying_labels
from evaluator.report.tables.cells import chance, interval, is_gap, pooled_value

_COUNTS = ("items", "clusters", "ties", "unscored")


@dataclass(frozen=True)
class ShortTable:
    """Headings of labels, headings of numbers, and rows of one cell for each of them."""

    labels: list[str]
    numbers: list[str]
    rows: list[list[str]]


def short_table(
    lines: Sequence[Line], entries: Sequence[dict[str, Any]], splits: Sequence[str], decimals: int = 1
) -> ShortTable:
    """The table of lines (overview.read_lines) of pooled results."""
    labels, of_entry = ["protocol", "metric", *varying_labels(lines)], varying_entries(entries)
    numbers = [*(f"{split} %" for split in splits), "chance %", "items", "groups", "ties", "unscored"]
    return ShortTable([*labels, *of_entry], numbers, [_row(line, labels, of_entry, splits, decimals) for line in lines])


def _row(line: Line, labels: Sequence[str], of_entry: Sequence[str], splits: Sequence[str], decimals: int) -> list[str]:
    own = {split: row for split, row in line.rows.items() if split in splits and not is_gap(row)}
    counted = [own[FULL]] if FULL in own else list(own.values())
    levels = [chance(own[split]) if split in own else "–" for split in splits if split != GAP]
    known = list(dict.fromkeys(chance(row) for row in own.values()))
    return [
        *(str(line.first[name] or "") for name in labels), *(str(line.entry[name]) for name in of_entry),
        *(_cell(line.rows.get(split), decimals) for split in splits), " / ".join(levels if len(known) > 1 else known),
        *(f"{sum(row[name] or 0 for row in counted):,}" for name in _COUNTS),
    ]  # fmt: skip


def _cell(row: dict[str, Any] | None, decimals: int) -> str:
    """A value and its interval."""
    if row is None or row["value"] is None:
        return "–"
    found = pooled_value(row, decimals)
    return found if row["low"] is None else f"{found} ({interval(row, decimals)})"
