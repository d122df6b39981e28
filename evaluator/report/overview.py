"""Tables of results: models side by side by split, and every row of one model; with the notes below tables, and the
main finding in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.protocols.errors import BY_ATOM
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
    """One metric on one group of items in one entry of pooled results. rows: {split: row}. gaps: {(split, minus): row},
    the value of `split` less that of `minus`; kept apart, since a split may have the name of a gap."""

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
    """A line for each metric, group of items and entry that has it, in the order of the rows. Skips rows for which `of`
    is false, and rows by number of atoms unless `by_n`."""
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
    """A table of lines: a column for each reported split, and for each gap of _GAPS or, with `every_gap`, every gap.

    If no split is reported, it shows all splits. Chance levels that differ are shown as a range. Ceilings are shown if
    a line has one below 100%. items, groups, ties
    and unscored are totals over the shown splits, or those of `full`.
    """
    found = list(dict.fromkeys(split for line in lines for split in line.rows))
    splits = reported_splits(found) or sorted(found)
    gaps = {gap: split_of(row) for line in lines for gap, row in line.gaps.items() if every_gap or gap in _GAPS}
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
        named = [*(str(line.first[name] or "") for name in labels), *(str(line.entry[name]) for name in of_entry)]
        made.append(TableLine(named, cells))
    columns = [Column(head) for head in heads]
    notes = [*notes_of(entries), *([CEILING] if limited else [])]
    return Table([*labels, *of_entry], columns, made, notes=notes, mark=marks_of(entries))


def _cells_of_read(line: Line, splits: Sequence[str], counted: Sequence[Any], decimals: int) -> list[Cell]:
    """How many items are wrong because an answer has no label, and the share right of the others in each split."""
    shares = [line.rows.get(split, {}) for split in splits]
    return [
        Cell(f"{sum(row.get('unread') or 0 for row in counted):,}"),
        *(Cell(number(row.get("value_read"), row.get("unit", "share"), decimals)) for row in shares),
    ]


def every_row(entry: Results, protocol: str, by_n: bool = True, decimals: int = 1) -> Table:
    """A table with a line for each row of a protocol; skips rows by number of atoms unless `by_n`."""
    rows = [row for row in entry["rows"] if row["protocol"] == protocol and (by_n or row["n"] is None)]
    labels = ["metric", *varying(rows, (*LABELS[2:], "n"))]
    spreads = [over for over in ("blocks", "runs") if any(row.get(f"sd_{over}") is not None for row in rows)]
    heads = ["%", f"{confidence(entry)} interval: {THIS_VOCABULARY}", WIDER]
    heads += [f"over {over}" for over in spreads]
    limited = any(has_low_ceiling(row) for row in rows)
    in_words = any("unread" in row for row in rows)
    heads += ["p", "items", "groups", "ties", "unscored", *(["unread", "% of read"] if in_words else [])]
    heads += ["chance %", *(["ceiling %"] if limited else []), "average", f"{THIS_VOCABULARY} means"]
    lines = []
    for i, row in enumerate(rows):
        texts = [
            (value_text(row, decimals=decimals), row["value"]),
            (interval(row, decimals) or "–", row["low"]),
            (
                interval({**row, "low": row["low_wider"], "high": row["high_wider"]}, decimals) or "–",
                row["low_wider"],
            ),
            *((spread(row, over, decimals), row.get(f"sd_{over}")) for over in spreads),
            (p_value(row["p"]), row["p"]),
            *((f"{row[name]:,}", row[name]) for name in ("items", "clusters")),
            *(("" if row[name] is None else str(row[name]), row[name]) for name in ("ties", "unscored")),
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
    return Table([*labels, "split"], [Column(head) for head in heads], lines, title=protocol, mark=warning_of(entry))


def _texts_of_read(row: Row, decimals: int) -> list[tuple[str, float | None]]:
    """The texts and values of the columns "unread" and "% of read"; empty for rows that have none."""
    if "unread" not in row:
        return [("", None), ("", None)]
    share = row["value_read"]
    return [(str(row["unread"]), row["unread"]), (number(share, row["unit"], decimals), share)]


def varying(rows: Any, names: Sequence[str]) -> list[str]:
    """The `names` whose values differ between the rows or entries."""
    rows = list(rows)
    return [name for name in names if len({row[name] for row in rows}) > 1]


def marks_of(entries: Sequence[Results]) -> str:
    """The warnings on a table of contaminated results, each once with its models; "" if none is contaminated."""
    models: dict[str, dict[str, None]] = {}
    for entry in entries:
        if said := warning_of(entry):
            models.setdefault(said, {})[entry["model"]] = None
    return " ".join(f"{', '.join(named)}: {said}" for said, named in models.items())


def notes_of(entries: Sequence[Results]) -> list[str]:
    """The notes below a table of pooled results; facts that differ between models name their models."""
    if not entries:
        return []
    tolerances = [(entry, f"{entry['rules']['tie_tolerance']:g}") for entry in entries]
    pooled = [
        (entry, f"{entry['runs']} runs over {entry['blocks']} block{'s' * (entry['blocks'] > 1)}")
        for entry in entries
        if entry["runs"] > 1
    ]
    sampled = {
        f"{entry['model']}: pool {pool} is sampled: the true texts and {n} false texts per image.": None
        for entry in entries
        for pool, n in entry.get("sampled_pools", {}).items()
    }
    unknown = [each for each in entries if (each.get("training") or unknown_training())["status"] == UNKNOWN]
    names = ", ".join(dict.fromkeys(entry["model"] for entry in unknown))
    ours = dict.fromkeys(entry["model"] for entry in entries if is_stand_in(entry))
    return [
        f"In %, differences in points. The {confidence(entries[0])} intervals cover "
        f"{population(row for entry in entries for row in entry['rows'])}. The table of all rows has "
        f"each row's interval about {WIDER}.",
        f"Scores that differ by at most this tolerance tie (relative for scores above 1): {_by_value(tolerances)}. A "
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
        *([f"Small networks of this project, stand-ins for published models: {', '.join(ours)}."] if ours else []),
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


def finding(entries: Sequence[Results]) -> str:
    """The main finding in a few sentences: the best model's drop from seen to unseen combinations, its lead over the
    next model, and what its wrong answers name.

    The metric is R@1 of retrieval if it has both splits, else the first main metric that has both. Splits whose
    ceilings differ are never compared.
    """
    lines = main_lines(entries)
    both = [
        line
        for line in lines
        if _MAIN_GAP in line.gaps
        and line.gaps[_MAIN_GAP]["value"] is not None
        and not line.gaps[_MAIN_GAP].get("ceiling")  # splits with different ceilings are not comparable
    ]
    if not both:
        return " ".join(_plain(line) for line in lines[:1]) or "No item was measured."
    first = next((line for line in both if line.first["protocol"] == "retrieval"), both[0])
    asked = [line for line in both if _question(line) == _question(first)]
    best, *others = sorted(asked, key=lambda line: -line.rows["unseen"]["value"])
    seen, unseen, gap = best.rows["seen"], best.rows["unseen"], best.gaps[_MAIN_GAP]
    name = f"{first.first['metric']} of {best.entry['model']}"
    size = gap if gap["value"] >= 0 else _turned(gap)
    points = number(size["value"], "difference").removeprefix("+")
    points = f"{points} points {interval(size)}".strip().replace(", ", ",\N{NO-BREAK SPACE}")
    from_to = f"from {_said(seen)} on seen to {_said(unseen)} on unseen combinations"
    if gap["low"] is not None and gap["low"] > 0:
        said = f"{name} falls {from_to}, by {points}"
    elif gap["high"] is not None and gap["high"] < 0:
        said = f"{name} rises {from_to}, by {points}"
    else:
        said = f"{name} goes {from_to}; a difference of {points} that may be chance"
    if others:
        other = others[0].entry["model"]
        lead = number(unseen["value"] - others[0].rows["unseen"]["value"], "share")
        apart = unseen["low"] is not None and (others[0].rows["unseen"]["high"] or 1) < unseen["low"]
        overlap = "" if apart else " (their intervals overlap)"
        leads = f"is level with {other}" if lead == "0.0" else f"leads {other} by {lead} points{overlap}"
        said += f"; on unseen combinations it {leads}"
    return f"{said}.{_why(best)}{_tax(lines, best.entry)}"


def _why(line: Line) -> str:
    """A sentence: how many of a line's wrong answers on unseen combinations name a wrong object; "" if this is not
    known."""
    asked = {**{name: line.first[name] for name in ("protocol", "kind", "skill", "level")}, "split": _MAIN_GAP[1]}
    rows = [row for row in line.entry["rows"] if row["metric"] == BY_ATOM and asked.items() <= row.items()]
    of_objects = [row for row in rows if "object" in row["error"]]
    if not of_objects or len(of_objects) == len(rows):
        return ""
    share, chance = (sum(row[name] or 0 for row in of_objects) for name in ("value", "chance"))
    return (
        f" {number(share, 'share')}% of its wrong answers on unseen combinations name a wrong object "
        f"(chance: {number(chance, 'share')}%)."
    )


def _tax(lines: Sequence[Line], entry: Results) -> str:
    """A sentence on a model's gain when the true text is more familiar than its foil; "" if it was not asked."""
    line = next((line for line in lines if line.entry is entry and ASYMMETRIC in line.gaps), None)
    if line is None:
        return ""
    familiar, other = (_said(line.rows[split]) for split in ASYMMETRIC)
    tax = line.gaps[ASYMMETRIC]
    chance = "; this may be chance" if tax["low"] is None or tax["low"] <= 0 <= tax["high"] else ""
    return (
        f" When training shows only what the true text names, it is right in {familiar}; when training shows only what "
        f"the foil names, in {other}: {number(tax['value'], 'difference')} points {interval(tax)}{chance}."
    )


def _turned(gap: Mapping[str, Any]) -> dict[str, Any]:
    """The gap with its two splits swapped: value and interval change sign."""
    value, low, high = (None if gap[name] is None else -gap[name] for name in ("value", "high", "low"))
    return {**gap, "value": value, "low": low, "high": high}


def _question(line: Line) -> list[Any]:
    return [*(line.first[name] for name in LABELS), line.entry["benchmark"]]


def _said(row: Mapping[str, Any]) -> str:
    return f"{number(row['value'], row['unit'])}%"


def _plain(line: Line) -> str:
    row = line.first
    value = f"{number(row['value'], row['unit'])} {interval(row)}".strip()
    return f"{row['metric']} of {line.entry['model']} is {value} ({row['protocol']})."
