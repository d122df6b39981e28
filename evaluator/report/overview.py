"""Tables of results: models side by side by split, and every row of one model; with the notes below
tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.metrics.formats import DASH, number
from evaluator.protocols.items import ASYMMETRIC, FULL, reported_splits
from evaluator.protocols.records import LABELS, Results, Row, split_of
from evaluator.provenance.contamination import UNKNOWN, is_stand_in, unknown_training, warning_of
from evaluator.report.table import (
    CEILING,
    Cell,
    Column,
    Line,
    Table,
    ceiling_cell,
    chance_cell,
    confidence,
    has_low_ceiling,
    interval,
    p_value,
    population,
    result_cell,
    spread,
    value_text,
)
from evaluator.runs.parts import describe_splits
from evaluator.statistics.intervals import THIS_VOCABULARY, WIDER

_DEFAULT_GAPS = (("seen", "unseen"), ASYMMETRIC)
"""The gaps that a table shows by default, each (split, minus)."""
_COUNTS = ("items", "clusters", "ties", "unscored")
"""The columns of a row that count items; tables call clusters groups."""
_COUNT_HEADS = ("items", "groups", "ties", "unscored")
"""The heads of _COUNTS."""


@dataclass(frozen=True)
class MetricLine:
    """One metric on one group of items in one entry of pooled results."""

    entry: Results
    """The pooled results."""
    rows: dict[str, Any] = field(default_factory=dict)
    """{split: row of results}."""
    gaps: dict[tuple[str, str], Any] = field(default_factory=dict)
    """{(split, minus): row}, the value of `split` less that of `minus`; kept apart, since a split
    may have the name of a gap."""

    @property
    def first(self) -> Any:
        """A row, for the labels that all rows share."""
        return next(iter([*self.rows.values(), *self.gaps.values()]))


def read_lines(
    entries: Sequence[Results], of: Callable[[Row], bool] = lambda row: True, by_n: bool = False
) -> list[MetricLine]:
    """Collect the rows of pooled results into lines.

    Args:
        entries: Pooled results.
        of: Whether to read a row.
        by_n: Whether to read rows by number of atoms; they are left out by default.

    Returns:
        A line for each metric, group of items and entry that has it, in the order of the rows.
    """
    lines_of: dict[tuple[object, ...], dict[int, MetricLine]] = {}
    for place, entry in enumerate(entries):
        for row in entry["rows"]:
            is_by_n = row["n"] is not None
            if (is_by_n and not by_n) or not of(row):
                continue
            # By labels first and entries second: lines of one metric stand together, models below
            # one another.
            labels = (*(row[name] for name in LABELS), row["n"])
            line_of_entry = lines_of.setdefault(labels, {})
            line = line_of_entry.setdefault(place, MetricLine(entry))
            if row["minus"]:
                line.gaps[row["split"], row["minus"]] = row
            else:
                line.rows[row["split"]] = row
    lines: list[MetricLine] = []
    for line_of_entry in lines_of.values():
        lines += line_of_entry.values()
    return lines


def main_lines(entries: Sequence[Results]) -> list[MetricLine]:
    """Collect the rows of the main metrics into lines.

    Args:
        entries: Pooled results.

    Returns:
        The lines, as `read_lines`.
    """
    return read_lines(entries, lambda row: row["is_main"])


def side_by_side(
    entries: Sequence[Results],
    lines: Sequence[MetricLine],
    decimals: int = 1,
    every_gap: bool = False,
) -> Table:
    """Make a table of lines, with a column for each reported split and each gap.

    Chance levels that differ are shown as a range. Ceilings are shown if a line has one below 100%.
    The columns items, groups, ties and unscored are totals over the splits of the table, or those
    of `full`.

    Args:
        entries: Pooled results, which the notes are about.
        lines: The lines of the table.
        decimals: Digits after the point of shares in percent.
        every_gap: Whether to show every gap, in place of the usual ones.

    Returns:
        The table; with all splits if no split is reported.
    """
    # What tells lines apart.
    labels = ["protocol", "metric", *varying((line.first for line in lines), (*LABELS[2:], "n"))]
    entry_labels = varying(entries, ("model", "benchmark"))
    # Entries with equal names are still lines of their own.
    if not entry_labels and len(entries) > 1:
        entry_labels = ["model"]

    # Which columns there are.
    splits = _splits_of(lines)
    gaps = _gaps_of(lines, every_gap)
    pooled = ["blocks", "runs"] if any(entry["runs"] > 1 for entry in entries) else []
    all_rows = [row for line in lines for row in line.rows.values()]
    # A column of 100% in every line would say nothing.
    has_ceilings = any(has_low_ceiling(row) for row in all_rows)
    is_in_words = any("unread" in row for row in all_rows)

    heads = [f"{split} %" for split in [*splits, *gaps.values()]]
    heads += _heads_of_items(splits, has_ceilings=has_ceilings, is_in_words=is_in_words)
    heads += pooled

    table_lines = []
    for line in lines:
        cells = [result_cell(line.rows.get(split), decimals=decimals) for split in splits]
        cells += [result_cell(line.gaps.get(gap), decimals=decimals) for gap in gaps]
        cells += _cells_of_items(
            line, splits, has_ceilings=has_ceilings, is_in_words=is_in_words, decimals=decimals
        )
        cells += [Cell(f"{line.entry[name]}") for name in pooled]
        names = [str(line.first[name] or "") for name in labels]
        names += [str(line.entry[name]) for name in entry_labels]
        table_lines.append(Line(names, cells))

    notes = notes_of(entries, all_rows)
    if has_ceilings:
        notes.append(CEILING)
    columns = [Column(head) for head in heads]
    mark = marks_of(entries)
    return Table([*labels, *entry_labels], columns, table_lines, notes=notes, mark=mark)


def _splits_of(lines: Sequence[MetricLine]) -> list[str]:
    """The splits that a table of lines shows: the reported ones, or all if none is reported."""
    splits: dict[str, None] = {}
    for line in lines:
        splits |= dict.fromkeys(line.rows)
    return reported_splits(list(splits)) or sorted(splits)


def _gaps_of(lines: Sequence[MetricLine], every_gap: bool) -> dict[tuple[str, str], str]:
    """{(split, minus): name} of the gaps that a table of lines shows."""
    gaps = {}
    for line in lines:
        for gap, row in line.gaps.items():
            if every_gap or gap in _DEFAULT_GAPS:
                gaps[gap] = split_of(row)
    return gaps


def _heads_of_items(splits: Sequence[str], *, has_ceilings: bool, is_in_words: bool) -> list[str]:
    """The heads of the columns of `_cells_of_items`."""
    heads = ["chance %"]
    if has_ceilings:
        heads.append("ceiling %")
    heads += _COUNT_HEADS
    if is_in_words:
        heads.append("unread")
        heads += [f"{split} % of read" for split in splits]
    return heads


def _cells_of_items(
    line: MetricLine,
    splits: Sequence[str],
    *,
    has_ceilings: bool,
    is_in_words: bool,
    decimals: int,
) -> list[Cell]:
    """The cells of a line on its chance, its ceiling, its numbers of items, and its answers in
    words."""
    rows = [line.rows[split] for split in splits if split in line.rows]
    # `full` has every item once; other splits may overlap or leave items out.
    counted = [line.rows[FULL]] if FULL in line.rows else rows
    cells = [chance_cell(rows)]
    if has_ceilings:
        cells.append(ceiling_cell(rows))
    cells += [Cell(_total(counted, name)) for name in _COUNTS]
    if is_in_words:
        cells += _cells_of_read(line, splits, counted=counted, decimals=decimals)
    return cells


def _total(rows: Sequence[Any], name: str) -> str:
    return f"{sum(row.get(name) or 0 for row in rows):,}"


def _cells_of_read(
    line: MetricLine, splits: Sequence[str], *, counted: Sequence[Any], decimals: int
) -> list[Cell]:
    """How many items are wrong because an answer has no label, and the share right of the others in
    each split."""
    cells = [Cell(_total(counted, "unread"))]
    for split in splits:
        row = line.rows.get(split, {})
        cells.append(Cell(number(row.get("value_read"), row.get("unit", "share"), decimals)))
    return cells


def every_row(entry: Results, protocol: str, by_n: bool = True, decimals: int = 1) -> Table:
    """Make a table with a line for each row of a protocol.

    Args:
        entry: Pooled results of one model.
        protocol: The protocol.
        by_n: Whether to show rows by number of atoms.
        decimals: Digits after the point of shares in percent.

    Returns:
        The table; its cells have unrounded numbers to sort by.
    """
    rows = [row for row in entry["rows"] if row["protocol"] == protocol]
    if not by_n:
        rows = [row for row in rows if row["n"] is None]
    labels = ["metric", *varying(rows, (*LABELS[2:], "n"))]
    spreads = []
    for over in ("blocks", "runs"):
        if any(row.get(f"sd_{over}") is not None for row in rows):
            spreads.append(over)
    has_ceilings = any(has_low_ceiling(row) for row in rows)
    is_in_words = any("unread" in row for row in rows)

    heads = ["%", f"{confidence(entry)} interval: {THIS_VOCABULARY}", WIDER]
    heads += [f"over {over}" for over in spreads]
    heads += ["p", *_COUNT_HEADS]
    if is_in_words:
        heads += ["unread", "% of read"]
    heads.append("chance %")
    if has_ceilings:
        heads.append("ceiling %")
    heads += ["average", f"{THIS_VOCABULARY} means"]

    lines = []
    for i, row in enumerate(rows):
        texts = _interval_texts(row, spreads, decimals)
        texts += _count_texts(row)
        texts += _texts_of_read(row, decimals) if is_in_words else []
        texts.append((number(row["chance"], row["unit"]), row["chance"]))
        if has_ceilings:
            texts.append((number(row.get("ceiling"), row["unit"]), row.get("ceiling")))
        # What is covered is said of an interval; a row without one has nothing to cover.
        claim = row["population"] if row["low"] is not None else ""
        texts += [(row["average"], None), (claim, None)]

        names = ["" if row[name] is None else str(row[name]) for name in labels]
        starts_metric = i > 0 and rows[i - 1]["metric"] != row["metric"]
        cells = [Cell(text, numbers={"value": value}) for text, value in texts]
        lines.append(Line([*names, split_of(row)], cells, starts_metric))
    columns = [Column(head) for head in heads]
    return Table([*labels, "split"], columns, lines, title=protocol, mark=warning_of(entry))


def _interval_texts(
    row: Any, spreads: Sequence[str], decimals: int
) -> list[tuple[str, float | None]]:
    """The texts and values of the columns from the value of a row to its p."""
    wider = {**row, "low": row["low_wider"], "high": row["high_wider"]}
    texts = [
        (value_text(row, decimals=decimals), row["value"]),
        (interval(row, decimals) or DASH, row["low"]),
        (interval(wider, decimals) or DASH, row["low_wider"]),
    ]
    texts += [(spread(row, over, decimals), row.get(f"sd_{over}")) for over in spreads]
    return [*texts, (p_value(row["p"]), row["p"])]


def _count_texts(row: Any) -> list[tuple[str, float | None]]:
    """The texts and values of the columns _COUNT_HEADS; empty where a row does not count ties."""
    texts: list[tuple[str, float | None]] = []
    for name in ("items", "clusters"):
        texts.append((f"{row[name]:,}", row[name]))
    for name in ("ties", "unscored"):
        count = row[name]
        texts.append(("" if count is None else str(count), count))
    return texts


def _texts_of_read(row: Row, decimals: int) -> list[tuple[str, float | None]]:
    """The texts and values of the columns "unread" and "% of read"; empty for rows that have
    none."""
    if "unread" not in row:
        return [("", None), ("", None)]
    n_unread = row["unread"]
    share = row["value_read"]
    share_text = number(share, row["unit"], decimals)
    return [(str(n_unread), n_unread), (share_text, share)]


def varying(rows: Iterable[Any], names: Sequence[str]) -> list[str]:
    """Choose the labels that tell rows apart.

    Args:
        rows: Rows or entries of results.
        names: Their columns.

    Returns:
        The names whose values differ between the rows.

    Example:
        >>> varying([{"model": "a", "kind": "swap"}, {"model": "b", "kind": "swap"}],
        ...         ["model", "kind"])
        ['model']
    """
    rows = list(rows)
    varying_names = []
    for name in names:
        values = {row[name] for row in rows}
        if len(values) > 1:
            varying_names.append(name)
    return varying_names


def marks_of(entries: Sequence[Results]) -> str:
    """Collect the warnings on a table of contaminated results.

    Args:
        entries: Pooled results.

    Returns:
        Each warning once, with its models; "" if no entry is contaminated.
    """
    models_of: dict[str, dict[str, None]] = {}
    for entry in entries:
        warning = warning_of(entry)
        if warning:
            models_of.setdefault(warning, {})[entry["model"]] = None
    return " ".join(f"{', '.join(models)}: {warning}" for warning, models in models_of.items())


def notes_of(entries: Sequence[Results], rows: Sequence[Row] | None = None) -> list[str]:
    """Write the notes below a table of pooled results.

    Facts that differ between models name their models.

    Args:
        entries: Pooled results.
        rows: The rows that the table shows, whose intervals the first note is about; None: all.

    Returns:
        Sentences; [] without entries.
    """
    if not entries:
        return []
    if rows is None:
        rows = [row for entry in entries for row in entry["rows"]]
    tolerances = [(entry, f"{entry['rules']['tie_tolerance']:g}") for entry in entries]
    certificates = [(entry, entry["certificate"]) for entry in entries]
    notes = [
        f"In %, differences in points. The {confidence(entries[0])} intervals cover "
        f"{population(rows)}. The table of all rows has each row's interval about {WIDER}.",
        f"Scores that differ by at most this tolerance tie (relative for scores above 1): "
        f"{_by_value(tolerances)}. A tie is never correct.",
        f"Datasets: {_by_value(certificates)}.",
    ]
    pooled = []
    for entry in entries:
        if entry["runs"] > 1:
            plural = "s" * (entry["blocks"] > 1)
            pooled.append((entry, f"{entry['runs']} runs over {entry['blocks']} block{plural}"))
    if pooled:
        notes.append(f"Pooled: {_by_value(pooled)}.")
    notes += [*spread_notes(entries), *differences(entries), *_notes_of_parts(entries)]
    return [*notes, *_notes_of_models(entries)]


def _notes_of_parts(entries: Sequence[Results]) -> list[str]:
    """What the results leave out of their benchmarks."""
    # Dictionaries as ordered sets: runs of a model share their notes, which are said once.
    sampled: dict[str, None] = {}
    for entry in entries:
        for pool, count in entry.get("sampled_pools", {}).items():
            sampled[
                f"{entry['model']}: pool {pool} is sampled: "
                f"the true texts and {count} false texts per image."
            ] = None
    notes = list(sampled)
    for entry in entries:
        limit = entry["rules"].get("limit")
        if limit:
            notes.append(f"{entry['model']}: at most {limit:,} items of a protocol.")
    splits: dict[str, None] = {}
    for entry in entries:
        splits |= dict.fromkeys(describe_splits(entry["rules"]))
    notes += splits
    empty: dict[str, None] = {}
    for entry in entries:
        cells = entry.get("empty_cells")
        if cells:
            empty[f"{entry['benchmark']} has no question of: {', '.join(cells)}."] = None
    return [*notes, *empty]


def _notes_of_models(entries: Sequence[Results]) -> list[str]:
    """Which models are of unknown training, and which stand in for published ones."""
    unknown: dict[str, None] = {}
    stand_ins: dict[str, None] = {}
    for entry in entries:
        training = entry.get("training") or unknown_training()
        if training["status"] == UNKNOWN:
            unknown[entry["model"]] = None
        if is_stand_in(entry):
            stand_ins[entry["model"]] = None
    notes = []
    if unknown:
        notes.append(f"Training data unknown: {', '.join(unknown)}.")
    if stand_ins:
        names = ", ".join(stand_ins)
        notes.append(f"Small networks of this project, stand-ins for published models: {names}.")
    return notes


def _by_value(texts: Sequence[tuple[Results, str]]) -> str:
    """Each distinct text; if there are several, each with the models that it applies to.

    >>> _by_value([({"model": "a"}, "1"), ({"model": "b"}, "2"), ({"model": "c"}, "1")])
    '1 (a, c); 2 (b)'
    """
    models_of: dict[str, dict[str, None]] = {}
    for entry, text in texts:
        models_of.setdefault(text, {})[entry["model"]] = None
    if len(models_of) <= 1:
        return "".join(models_of)
    texts_with_models = [f"{text} ({', '.join(models)})" for text, models in models_of.items()]
    return "; ".join(texts_with_models)
