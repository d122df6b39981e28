"""Figures of pooled results: by split, complexity, count, error, rewording, edits and steps of a
ladder; and gaps."""

import re
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

from evaluator.protocols.items import COUNTS, reported_splits
from evaluator.protocols.records import LABELS, Results, by_key, split_of
from evaluator.protocols.steps import HALF_POINT, Steps, read_step
from evaluator.provenance.contamination import marked
from evaluator.report.chart import Spec
from evaluator.report.figure import (
    Figure,
    Row,
    chart_record,
    draw_figure,
    is_reported,
    label_of_benchmarks,
)
from evaluator.report.overview import MetricLine, main_lines, varying

_ATOMS = {"x": {"field": "x", "type": "ordinal", "title": "atoms", "axis": {"labelAngle": 0}}}
"""The encoding of an axis that counts atoms."""
_EDITS = {"x": {"field": "x", "type": "ordinal", "title": "edits", "axis": {"labelAngle": 0}}}
"""The encoding of an axis that counts the words in which two texts differ."""
_MAGNITUDES = {
    "x": {
        "field": "x",
        "type": "ordinal",
        "sort": "values",
        "title": "magnitude",
        "axis": {"labelAngle": 0},
    }
}
"""The encoding of an axis of the steps of a ladder, easiest first."""
_KIND_OF_EDITS = re.compile(r"(\d+)-edits?")
"""The kinds of items that differ in a number of words, such as those of the paraphrase ladder."""


def figures(entries: Sequence[Results]) -> list[Figure]:
    """Draw all figures for which pooled results have numbers.

    Args:
        entries: Pooled results (evaluator.analysis.pooling). The figures mark their model names.

    Returns:
        The gaps, then the figures of each sort, a figure for each protocol.
    """
    named = [{**entry, "model": marked(entry["model"], entry)} for entry in entries]
    protocols = dict.fromkeys(row["protocol"] for entry in named for row in entry["rows"])
    of_protocol: tuple[Callable[[Sequence[Results], str], list[Figure]], ...] = (
        by_split,
        by_complexity,
        by_count,
        by_error,
        by_rewording,
        by_edits,
        by_steps,
    )
    drawings = [*gap(named), *gaps(named)]
    for draw in of_protocol:
        for protocol in protocols:
            drawings += draw(named, protocol)
    return drawings


def gap(
    entries: Sequence[Results], first: MetricLine | None = None, most: int | None = None
) -> list[Figure]:
    """Draw the first main metric of each protocol by split.

    Args:
        entries: Pooled results.
        first: The line of the metric that the first panel shows, in place of its protocol's first.
        most: The largest number of panels; None: all.

    Returns:
        A figure with a panel for each protocol and a line for each model; [] if no metric has both
        splits.
    """
    lines = [line for line in main_lines(entries) if {"seen", "unseen"} <= set(line.rows)]
    ordered = [first, *lines] if first is not None and first in lines else lines

    # The first metric of each protocol, in the order of the panels.
    metric_of_protocol: dict[str, list[Any]] = {}
    for line in ordered:
        metric_of_protocol.setdefault(line.first["protocol"], _metric_labels(line))
    metrics = list(metric_of_protocol.values())[:most]

    chosen = [line for line in lines if _metric_labels(line) in metrics]
    chosen.sort(key=lambda line: metrics.index(_metric_labels(line)))
    labels = (*label_of_benchmarks(entries), "protocol", "metric", "kind")
    return _draw_splits("gap", "Seen against unseen combinations", lines=chosen, labels=labels)


def by_split(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw the main metric by split (BindSplit, figures 2 and 4).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a panel for each group of items and a line for each model; [] without values
        on several splits.
    """
    lines = [line for line in main_lines(entries) if line.first["protocol"] == protocol]
    labels = varying((line.first for line in lines), ("metric", "kind", "skill", "level"))
    labels = [*label_of_benchmarks(entries), *labels]
    return _draw_splits(
        f"split-{protocol}", f"{protocol} by split", lines=lines, labels=labels or ["metric"]
    )


def by_complexity(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw every share by the number of atoms n of a caption (CREPE, COMPASS).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a panel for each kind or level and split, and a line for each model and
        metric; [] without rows by n.
    """
    benchmark_labels = label_of_benchmarks(entries)
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        for row in entry["rows"]:
            is_share = row["protocol"] == protocol and row["unit"] == "share"
            if not is_share or row["n"] is None or not is_reported(row):
                continue
            names = [*(row[label] for label in benchmark_labels), row["kind"] or row["level"]]
            panel = ", ".join(filter(None, [*names, row["split"]]))
            record = chart_record(row, entry["model"], x=row["n"], group=row["metric"])
            panels.setdefault(panel, []).append(record)
    return draw_figure(
        f"complexity-{protocol}",
        title=f"{protocol} by complexity",
        about="By the number of atoms (objects, attributes, relations) of a caption; dashes tell "
        "metrics apart.",
        kind="splits",
        panels=panels,
        encoding=_ATOMS,
    )


def by_count(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw R@1 by the count of one sort of atom, with the skill loads (COMPASS, section E).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure for each model that has cells by count. It has a panel for each skill, level and
        pair of counts, and a line for each value of the other count. A panel's title gives the
        slope β of its count for each split: the skill load, in points per atom.
    """
    labels = ["model", *label_of_benchmarks(entries)]
    drawings = []
    for place, entry in enumerate(entries, 1):
        drawings += _draw_counts(
            entry,
            protocol,
            name=f"load-{protocol}-{place}",
            entry_name=", ".join(entry[label] for label in labels),
        )
    return drawings


def by_error(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw the share of each kind of error by split (Pearson).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a panel for each model and group of items; [] without errors.
    """
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        rows = [row for row in entry["rows"] if _is_error(row, protocol)]
        labels = ["metric", *label_of_benchmarks(entries), *varying(rows, LABELS[3:])]
        for row in rows:
            names = [str(row[label]) for label in labels if row[label]]
            panel = ", ".join([entry["model"], *names])
            record = chart_record(row, row["error"], x=row["split"])
            panels.setdefault(panel, []).append(record)
    return draw_figure(
        f"errors-{protocol}",
        title=f"Kinds of errors of {protocol}",
        about="Kinds of chosen false texts. Shares of predictions are of all answers, other shares "
        "of wrong answers.",
        kind="errors",
        panels=panels,
    )


def by_rewording(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw brittleness against augmented accuracy (Hard Positives).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a point for each model, kind and split; [] if no group of items has both
        metrics.
    """
    axis_of_metric = {"augmented accuracy": "x", "brittleness": "y"}
    points: dict[tuple[Any, ...], Spec] = {}
    for entry in entries:
        panel = ", ".join(entry[label] for label in label_of_benchmarks(entries))
        for row in entry["rows"]:
            is_point = row["protocol"] == protocol and row["metric"] in axis_of_metric
            if not is_point or not is_reported(row) or row["is_gap"]:
                continue
            labels = (panel, entry["model"], row["kind"], row["skill"], row["split"])
            point = points.setdefault(labels, {"series": entry["model"], "group": row["split"]})
            percent = None if row["value"] is None else 100 * row["value"]
            point[axis_of_metric[row["metric"]]] = percent
    # A group of items with one of the metrics alone is not a point.
    complete = []
    for (panel, *_), point in points.items():
        if {"x", "y"} <= set(point):
            complete.append((panel, point))
    panels = by_key(complete)
    return draw_figure(
        f"rewording-{protocol}",
        title="Brittleness against augmented accuracy",
        about="Models at the lower right answer correctly, however a caption is worded.",
        kind="points",
        panels=panels,
        encoding={axis: _percent_axis(axis, metric) for metric, axis in axis_of_metric.items()},
    )


def by_edits(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw brittleness by the number of words in which a paraphrase differs (paraphrase ladder).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a panel for each split and a line for each model; [] unless the kinds of the
        protocol are numbers of edits.
    """
    benchmark_labels = label_of_benchmarks(entries)
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        for row in entry["rows"]:
            edits = _KIND_OF_EDITS.fullmatch(row["kind"] or "")
            is_brittleness = row["protocol"] == protocol and row["metric"] == "brittleness"
            if edits is None or not is_brittleness or not is_reported(row) or row["is_gap"]:
                continue
            panel = ", ".join([*(row[label] for label in benchmark_labels), row["split"]])
            record = chart_record(row, entry["model"], x=int(edits[1]))
            panels.setdefault(panel, []).append(record)
    return draw_figure(
        f"edits-{protocol}",
        title="Brittleness by the distance of a paraphrase",
        about="A false text lies between a caption and its paraphrase, by the number of words in "
        "which they differ. Dashed: chance.",
        kind="splits",
        panels=panels,
        encoding=_EDITS,
    )


def by_steps(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw accuracy by the steps of a ladder.

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a panel for each factor and split and a line for each model; [] for other
        protocols.
    """
    if protocol != Steps.name:
        return []
    benchmark_labels = label_of_benchmarks(entries)
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        rows = [row for row in entry["rows"] if row["protocol"] == protocol and is_reported(row)]
        for row in rows:
            # A half point is a place on the axis of this figure, and no accuracy.
            if row["metric"] == HALF_POINT or row["is_gap"] or row["error"]:
                continue
            factor, magnitude = read_step(row["kind"])
            names = [*(row[label] for label in benchmark_labels), factor, row["split"]]
            record = chart_record(row, entry["model"], x=magnitude)
            panels.setdefault(", ".join(names), []).append(record)
    return draw_figure(
        f"steps-{protocol}",
        title="Accuracy by the steps of a ladder",
        about="The easiest step is on the left. Dashed: chance.",
        kind="splits",
        panels=panels,
        encoding=_MAGNITUDES,
    )


def gaps(entries: Sequence[Results]) -> list[Figure]:
    """Draw the gaps between splits of every main metric (BindSplit, tables 3 and 6).

    Args:
        entries: Pooled results.

    Returns:
        A figure with a panel for each gap; [] without gaps.
    """
    panels: dict[str, list[Spec]] = {}
    labels = (*label_of_benchmarks(entries), "protocol", *LABELS[2:])
    for line in main_lines(entries):
        question = ", ".join(str(line.first[name]) for name in labels if line.first[name])
        for row in line.gaps.values():
            if row["value"] is None:
                continue
            record = chart_record(row, line.entry["model"], x=question)
            panels.setdefault(split_of(row), []).append(record)
    return draw_figure(
        "gaps",
        title="Gaps between splits",
        about="Differences in points, with intervals.",
        kind="differences",
        panels=panels,
    )


def _draw_splits(
    name: str, title: str, *, lines: Sequence[MetricLine], labels: Sequence[str]
) -> list[Figure]:
    """A figure of lines by split, with a panel for each combination of `labels`."""
    panels: dict[str, list[Spec]] = {}
    splits = reported_splits(split for line in lines for split in line.rows)
    # A single split has nothing to compare it with.
    for line in lines if len(splits) > 1 else ():
        names = [str(line.first[label]) for label in labels if line.first[label]]
        panel = panels.setdefault(", ".join(names) or "all", [])
        for split in splits:
            if split in line.rows:
                row = line.rows[split]
                panel.append(chart_record(row, line.entry["model"], x=row["split"]))
    all_records = [record for records in panels.values() for record in records]
    has_ribbon = any(record["least"] is not None for record in all_records)
    ribbon = "Ribbon: range over blocks, or over the trainings of one block. " if has_ribbon else ""
    about = f"By split, with intervals. {ribbon}Dashed: chance."
    return draw_figure(name, title=title, about=about, kind="splits", panels=panels)


def _draw_counts(entry: Results, protocol: str, *, name: str, entry_name: str) -> list[Figure]:
    """The figure `name` of `by_count` for one entry of pooled results."""
    cells = []
    for cell in entry["cells"]:
        if cell["protocol"] == protocol and cell["value"] is not None and is_reported(cell):
            cells.append(cell)
    panels: dict[str, list[Spec]] = {}
    cells_of_group = by_key(((cell["skill"], cell["level"]), cell) for cell in cells)
    for (skill, level), same in cells_of_group.items():
        fits = []
        for fit in entry["fits"]:
            if (fit["skill"], fit["level"]) == (skill, level):
                fits.append(fit)
        for x, series in _axes_of_counts(same):
            panel = (
                f"{skill}, {level}, by {x.removeprefix('n_')} "
                f"(lines: {series.removeprefix('n_')}){_slopes(fits, x)}"
            )
            # A point is the mean over all values of the third count.
            cells_of_point = by_key(((cell[series], cell[x]), cell) for cell in same)
            for (value, count), chosen in sorted(cells_of_point.items()):
                record = chart_record(_mean(chosen), str(value), x=count)
                panels.setdefault(panel, []).append(record)
    return draw_figure(
        name,
        title=f"Skill loads of {protocol}, {entry_name}",
        about="R@1 by the atoms of a caption. β: points per atom; * p < .005, ** p < .001.",
        kind="splits",
        panels=panels,
        encoding=_ATOMS,
    )


def _axes_of_counts(cells: Sequence[Row]) -> list[tuple[str, str]]:
    """(count on the x axis, what tells lines apart) of each panel of cells: all ordered pairs of
    the counts that vary. A count that varies alone has a line for the level."""
    counts = varying(cells, COUNTS)
    return list(permutations(counts, 2)) or [(x, "level") for x in counts]


def _slopes(fits: Sequence[Row], count: str) -> str:
    """The slopes of a count by split, with corrected stars; "" if no fit has the count."""
    slopes = {}
    for fit in fits:
        if count in fit["coefficients"]:
            slopes[fit["split"]] = fit["coefficients"][count]
    texts = []
    for split in reported_splits(slopes):
        slope = slopes[split]
        texts.append(f"{split} {slope['beta']:+.2f}{slope['stars_corrected']}")
    return f"\nβ: {', '.join(texts)}" if texts else ""


def _mean(cells: Sequence[Row]) -> Row:
    """The mean of cells, weighted by their items, as a row."""
    items = sum(cell["items"] for cell in cells)
    right = sum(cell["value"] * cell["items"] for cell in cells)
    return {"value": right / items, "unit": "share", "items": items}


def _is_error(row: Row, protocol: str) -> bool:
    """Whether a row is the share of a kind of error on a reported split."""
    is_of_protocol = row["protocol"] == protocol and row["error"] and row["n"] is None
    if not is_of_protocol or row["is_gap"] or row["value"] is None:
        return False
    return is_reported(row)


def _metric_labels(line: MetricLine) -> list[Any]:
    return [line.first[name] for name in LABELS]


def _percent_axis(axis: str, title: str) -> Spec:
    return {
        "field": axis,
        "type": "quantitative",
        "title": f"{title}, %",
        "scale": {"domain": [0, 100]},
    }
