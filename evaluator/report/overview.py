"""Tables of results: models side by side by split, and every row of one model; with the notes below
tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.protocols.items import ASYMMETRIC, FULL, reported_splits
from evaluator.protocols.records import LABELS, Results, Row, split_of
from evaluator.provenance.contamination import UNKNOWN, is_stand_in, unknown_training, warning_of
from evaluator.report.table import (
    CEILING,
    Cell,
    Column,
    Table,
    ceiling_cell,
    chance_cell,
    confidence,
    has_low_ceiling,
    interval,
    number,
    p_value,
    population,
    result_cell,
    spread,
    value_text,
)
from evaluator.report.table import Line as TableLine
from evaluator.runs.parts import splits_said
from evaluator.statistics.intervals import THIS_VOCABULARY, WIDER

_MAIN_GAP = ("seen", "unseen")
_GAPS = (_MAIN_GAP, ASYMMETRIC)
"""The gaps that a table shows by default."""


@dataclass(frozen=True)
class Line:
    """One metric on one group of items in one entry of pooled results. rows: {split: row}. gaps:
    {(split, minus): row}, the value of `split` less that of `minus`; kept apart, since a split may
    have the name of a gap."""

    entry: Results
    rows: dict[str, Any] = field(default_factory=dict)
    gaps: dict[tuple[str, str], Any] = field(default_factory=dict)

    @property
    def first(self) -> Any:
        """A row, for the labels that all rows share."""
        return next(iter([*self.rows.values(), *self.gaps.values()]))


def read_lines(
    entries: Sequence[Results], of: Callable[[Row], bool] = lambda row: True, by_n: bool = False
) -> list[Line]:
    """A line for each metric, group of items and entry that has it, in the order of the rows. Skips
    rows for which `of` is false, and rows by number of atoms unless `by_n`."""
    found: dict[tuple[object, ...], dict[int, Line]] = {}
    for i, entry in enumerate(entries):
        for row in entry["rows"]:
            if (by_n or row["n"] is None) and of(row):
                lines = found.setdefault((*(row[name] for name in LABELS), row["n"]), {})
                line = lines.setdefault(i, Line(entry))
                if row["minus"]:
                    line.gaps[row["split"], row["minus"]] = row
                else:
                    line.rows[row["split"]] = row
    return [line for lines in found.values() for line in lines.values()]


def main_lines(entries: Sequence[Results]) -> list[Line]:
    """`read_lines` of the main metrics."""
    return read_lines(entries, lambda row: row["is_main"])


def side_by_side(
    entries: Sequence[Results], lines: Sequence[Line], decimals: int = 1, every_gap: bool = False
) -> Table:
    """A table of lines: a column for each reported split, and for each gap of _GAPS or, with
    `every_gap`, every gap.

    If no split is reported, it shows all splits. Chance levels that differ are shown as a range.
    Ceilings are shown if a line has one below 100%. items, groups, ties and unscored are totals
    over the shown splits, or those of `full`.
    """
    found = list(dict.fromkeys(split for line in lines for split in line.rows))
    splits = reported_splits(found) or sorted(found)
    gaps = {
        gap: split_of(row)
        for line in lines
        for gap, row in line.gaps.items()
        if every_gap or gap in _GAPS
    }
    labels = ["protocol", "metric", *varying((line.first for line in lines), (*LABELS[2:], "n"))]
    of_entry = varying(entries, ("model", "benchmark")) or (["model"] if len(entries) > 1 else [])
    pooled = ["blocks", "runs"] if any(entry["runs"] > 1 for entry in entries) else []
    limited = any(has_low_ceiling(row) for line in lines for row in line.rows.values())
    in_words = any("unread" in row for line in lines for row in line.rows.values())
    heads = [
        *(f"{split} %" for split in [*splits, *gaps.values()]),
        "chance %",
        *(["ceiling %"] if limited else []),
        "items",
        "groups",
        "ties",
        "unscored",
        *(["unread", *(f"{split} % of read" for split in splits)] if in_words else []),
        *pooled,
    ]
    made = []
    for line in lines:
        own = [line.rows[split] for split in splits if split in line.rows]
        counted = [line.rows[FULL]] if FULL in line.rows else own
        cells = [
            *(result_cell(line.rows.get(split), decimals=decimals) for split in splits),
            *(result_cell(line.gaps.get(gap), decimals=decimals) for gap in gaps),
            chance_cell(own),
            *([ceiling_cell(own)] if limited else []),
            *(
                Cell(f"{sum(row[name] or 0 for row in counted):,}")
                for name in ("items", "clusters", "ties", "unscored")
            ),
            *(_cells_of_read(line, splits, counted, decimals) if in_words else []),
            *(Cell(f"{line.entry[name]}") for name in pooled),
        ]
        named = [
            *(str(line.first[name] or "") for name in labels),
            *(str(line.entry[name]) for name in of_entry),
        ]
        made.append(TableLine(named, cells))
    columns = [Column(head) for head in heads]
    rows = [row for line in lines for row in line.rows.values()]
    notes = [*notes_of(entries, rows), *([CEILING] if limited else [])]
    return Table([*labels, *of_entry], columns, made, notes=notes, mark=marks_of(entries))


def _cells_of_read(
    line: Line, splits: Sequence[str], counted: Sequence[Any], decimals: int
) -> list[Cell]:
    """How many items are wrong because an answer has no label, and the share right of the others in
    each split."""
    shares = [line.rows.get(split, {}) for split in splits]
    return [
        Cell(f"{sum(row.get('unread') or 0 for row in counted):,}"),
        *(
            Cell(number(row.get("value_read"), row.get("unit", "share"), decimals))
            for row in shares
        ),
    ]


def every_row(entry: Results, protocol: str, by_n: bool = True, decimals: int = 1) -> Table:
    """A table with a line for each row of a protocol; skips rows by number of atoms unless
    `by_n`."""
    rows = [
        row for row in entry["rows"] if row["protocol"] == protocol and (by_n or row["n"] is None)
    ]
    labels = ["metric", *varying(rows, (*LABELS[2:], "n"))]
    spreads = [
        over
        for over in ("blocks", "runs")
        if any(row.get(f"sd_{over}") is not None for row in rows)
    ]
    heads = ["%", f"{confidence(entry)} interval: {THIS_VOCABULARY}", WIDER]
    heads += [f"over {over}" for over in spreads]
    limited = any(has_low_ceiling(row) for row in rows)
    in_words = any("unread" in row for row in rows)
    heads += [
        "p",
        "items",
        "groups",
        "ties",
        "unscored",
        *(["unread", "% of read"] if in_words else []),
    ]
    heads += [
        "chance %",
        *(["ceiling %"] if limited else []),
        "average",
        f"{THIS_VOCABULARY} means",
    ]
    lines = []
    for i, row in enumerate(rows):
        texts = [
            (value_text(row, decimals=decimals), row["value"]),
            (interval(row, decimals) or "–", row["low"]),
            (
                interval({**row, "low": row["low_wider"], "high": row["high_wider"]}, decimals)
                or "–",
                row["low_wider"],
            ),
            *((spread(row, over, decimals), row.get(f"sd_{over}")) for over in spreads),
            (p_value(row["p"]), row["p"]),
            *((f"{row[name]:,}", row[name]) for name in ("items", "clusters")),
            *(
                ("" if row[name] is None else str(row[name]), row[name])
                for name in ("ties", "unscored")
            ),
            *(_texts_of_read(row, decimals) if in_words else []),
            (number(row["chance"], row["unit"]), row["chance"]),
            *([(number(row.get("ceiling"), row["unit"]), row.get("ceiling"))] if limited else []),
            (row["average"], None),
            (row["speaks_of"] if row["low"] is not None else "", None),
        ]
        named = ["" if row[name] is None else str(row[name]) for name in labels]
        rule = i > 0 and rows[i - 1]["metric"] != row["metric"]
        cells = [Cell(text, numbers={"value": value}) for text, value in texts]
        lines.append(TableLine([*named, split_of(row)], cells, rule))
    return Table(
        [*labels, "split"],
        [Column(head) for head in heads],
        lines,
        title=protocol,
        mark=warning_of(entry),
    )


def _texts_of_read(row: Row, decimals: int) -> list[tuple[str, float | None]]:
    """The texts and values of the columns "unread" and "% of read"; empty for rows that have
    none."""
    if "unread" not in row:
        return [("", None), ("", None)]
    share = row["value_read"]
    return [(str(row["unread"]), row["unread"]), (number(share, row["unit"], decimals), share)]


def varying(rows: Any, names: Sequence[str]) -> list[str]:
    """The `names` whose values differ between the rows or entries."""
    rows = list(rows)
    return [name for name in names if len({row[name] for row in rows}) > 1]


def marks_of(entries: Sequence[Results]) -> str:
    """The warnings on a table of contaminated results, each once with its models; "" if none is
    contaminated."""
    models: dict[str, dict[str, None]] = {}
    for entry in entries:
        if said := warning_of(entry):
            models.setdefault(said, {})[entry["model"]] = None
    return " ".join(f"{', '.join(named)}: {said}" for said, named in models.items())


def notes_of(entries: Sequence[Results], rows: Sequence[Row] | None = None) -> list[str]:
    """The notes below a table of pooled results; facts that differ between models name their
    models.

    Args:
        entries: Pooled results.
        rows: The rows that the table shows, whose intervals the first note is about; None: all.
    """
    if not entries:
        return []
    tolerances = [(entry, f"{entry['rules']['tie_tolerance']:g}") for entry in entries]
    pooled = [
        (entry, f"{entry['runs']} runs over {entry['blocks']} block{'s' * (entry['blocks'] > 1)}")
        for entry in entries
        if entry["runs"] > 1
    ]
    sampled = {
        (
            f"{entry['model']}: pool {pool} is sampled: "
            f"the true texts and {n} false texts per image."
        ): None
        for entry in entries
        for pool, n in entry.get("sampled_pools", {}).items()
    }
    unknown = [
        each
        for each in entries
        if (each.get("training") or unknown_training())["status"] == UNKNOWN
    ]
    names = ", ".join(dict.fromkeys(entry["model"] for entry in unknown))
    ours = dict.fromkeys(entry["model"] for entry in entries if is_stand_in(entry))
    if rows is None:
        rows = [row for entry in entries for row in entry["rows"]]
    return [
        f"In %, differences in points. The {confidence(entries[0])} intervals cover "
        f"{population(rows)}. The table of all rows "
        f"has each row's interval about {WIDER}.",
        f"Scores that differ by at most this tolerance tie (relative for scores above 1): "
        f"{_by_value(tolerances)}. A "
        "tie is never correct.",
        f"Datasets: {_by_value([(entry, entry['certificate']) for entry in entries])}.",
        *([f"Pooled: {_by_value(pooled)}."] if pooled else []),
        *spread_notes(entries),
        *differences(entries),
        *sampled,
        *(
            f"{entry['model']}: at most {entry['rules']['limit']:,} items of a protocol."
            for entry in entries
            if entry["rules"].get("limit")
        ),
        *dict.fromkeys(line for entry in entries for line in splits_said(entry["rules"])),
        *dict.fromkeys(
            f"{entry['benchmark']} has no question of: {', '.join(cells)}."
            for entry in entries
            if (cells := entry.get("empty_cells"))
        ),
        *([f"Training data unknown: {names}."] if unknown else []),
        *(
            [f"Small networks of this project, stand-ins for published models: {', '.join(ours)}."]
            if ours
            else []
        ),
    ]


def _by_value(said: Sequence[tuple[Results, str]]) -> str:
    """Each distinct text; if there are several, each with the models that it applies to.

    >>> _by_value([({"model": "a"}, "1"), ({"model": "b"}, "2"), ({"model": "c"}, "1")])
    '1 (a, c); 2 (b)'
    """
    names: dict[str, dict[str, None]] = {}
    for entry, text in said:
        names.setdefault(text, {})[entry["model"]] = None
    if len(names) <= 1:
        return "".join(names)
    return "; ".join(f"{text} ({', '.join(of)})" for text, of in names.items())
