"""Tables of results as they are: models side by side, every row of one model, and its fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.protocols.items import FULL, reported_splits
from evaluator.protocols.records import LABELS, Results, Row, split_of
from evaluator.provenance.contamination import mark_of
from evaluator.report.cells import confidence, interval, number, p_value, result_cell, spread
from evaluator.report.table import Cell, Column, Table
from evaluator.report.table import Line as TableLine

_GAP = "seen - unseen"


@dataclass(frozen=True)
class Line:
    """A metric of a group of items of one entry of pooled results. rows: by split, gaps between splits included."""

    entry: Results
    rows: dict[str, Any]

    @property
    def first(self) -> Any:
        """One of the rows, for the labels that all have."""
        return next(iter(self.rows.values()))


def read_lines(entries: Sequence[Results], of: Callable[[Row], bool] = lambda row: True) -> list[Line]:
    """For each metric and group of items, in the order of the rows, a line for each entry that has it. Rows by number
    of atoms, and those of which `of` is false, are left out."""
    found: dict[tuple[object, ...], dict[int, Line]] = {}
    for i, entry in enumerate(entries):
        for row in entry["rows"]:
            if row["n"] is None and of(row):
                lines = found.setdefault(tuple(row[name] for name in LABELS), {})
                lines.setdefault(i, Line(entry, {})).rows[split_of(row)] = row
    return [line for lines in found.values() for line in lines.values()]


def main_lines(entries: Sequence[Results]) -> list[Line]:
    """`read_lines` of the main metrics."""
    return read_lines(entries, lambda row: row["is_main"])


def side_by_side(entries: Sequence[Results], lines: Sequence[Line], decimals: int = 1) -> Table:
    """A table of lines: a column for each reported split, and for the gap between seen and unseen.

    Without reported splits it has all. Chance levels are in the order of the splits where they differ. items, groups,
    ties and unscored items are of all splits.
    """
    found = list(dict.fromkeys(split for line in lines for split, row in line.rows.items() if not row["is_gap"]))
    splits = reported_splits(found) or sorted(found)
    labels = ["protocol", "metric", *varying((line.first for line in lines), LABELS[2:])]
    of_entry = varying(entries, ("model", "benchmark")) or (["model"] if len(entries) > 1 else [])
    gaps = [_GAP] if any(_GAP in line.rows for line in lines) else []
    pooled = ["blocks", "runs"] if any(entry["runs"] > 1 for entry in entries) else []
    heads = [*(f"{split} %" for split in [*splits, *gaps]), "chance %", "items", "groups", "ties", "unscored", *pooled]
    rows = []
    for line in lines:
        own = {split: line.rows[split] for split in splits if split in line.rows}
        counted = [own[FULL]] if FULL in own else [*own.values()]
        chances = [number(own[split]["chance"], own[split]["unit"]) if split in own else "–" for split in splits]
        levels = chances if len({chances[splits.index(split)] for split in own}) > 1 else [*{*chances} - {"–"}] or ["–"]
        cells = [
            *(result_cell(line.rows.get(split), decimals=decimals) for split in [*splits, *gaps]),
            Cell(" / ".join(levels)),
            *(
                Cell(f"{sum(row[name] or 0 for row in counted):,}")
                for name in ("items", "clusters", "ties", "unscored")
            ),
            *(Cell(f"{line.entry[name]}") for name in pooled),
        ]
        named = [*(str(line.first[name] or "") for name in labels), *(str(line.entry[name]) for name in of_entry)]
        rows.append(TableLine(named, cells))
    marks = [f"{entry['model']}: {mark_of(entry)}" for entry in entries if mark_of(entry)]
    notes = [f"In %, gaps in points, {confidence(entries[0])} intervals of bindings like these." if entries else ""]
    notes += [*differences(entries), *spread_notes(entries)]
    return Table([*labels, *of_entry], [Column(head) for head in heads], rows, notes=notes, mark=" ".join(marks))


def every_row(entry: Results, protocol: str, by_n: bool = True, decimals: int = 1) -> Table:
    """A line for each row of a protocol; without `by_n` those by number of atoms are left out."""
    rows = [row for row in entry["rows"] if row["protocol"] == protocol and (by_n or row["n"] is None)]
    labels = ["metric", *varying(rows, ("error", "kind", "skill", "level", "n"))]
    spreads = [over for over in ("blocks", "runs") if any(row.get(f"sd_{over}") is not None for row in rows)]
    heads = [
        "%",
        f"{confidence(entry)} interval",
        *(f"over {over}" for over in spreads),
        "p",
        "items",
        "groups",
        "ties",
    ]
    heads += ["unscored", "chance %", "average"]
    lines = []
    for i, row in enumerate(rows):
        sd = f" ± {number(row['sd'], 'share', decimals)}" if row["sd"] is not None else ""
        texts = [
            number(row["value"], row["unit"], decimals) + sd,
            interval(row, decimals) or "–",
            *(spread(row, over, decimals) for over in spreads),
            p_value(row["p"]),
            *(f"{row[name]:,}" for name in ("items", "clusters")),
            *("" if row[name] is None else str(row[name]) for name in ("ties", "unscored")),
            number(row["chance"], row["unit"]),
            row["average"],
        ]
        named = ["" if row[name] is None else str(row[name]) for name in labels]
        rule = i > 0 and rows[i - 1]["metric"] != row["metric"]
        lines.append(TableLine([*named, split_of(row)], [Cell(text) for text in texts], rule))
    return Table([*labels, "split"], [Column(head) for head in heads], lines, title=protocol, mark=mark_of(entry))


def varying(rows: Any, names: Sequence[str]) -> list[str]:
    """The labels in which rows or entries differ."""
    rows = list(rows)
    return [name for name in names if len({row[name] for row in rows}) > 1]
