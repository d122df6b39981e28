"""Figures of results as Vega-Lite specifications, for the page, notebooks and papers.

charts/*.json hold a template for each kind of panel; this module selects the records of a panel.
Specifications are plain dictionaries: Altair's objects copy and validate their data at each step,
which took most of a page's time.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.protocols.items import COUNTS, reported_splits
from evaluator.protocols.records import LABELS, Results, by_key, split_of
from evaluator.provenance.contamination import marked
from evaluator.report.overview import MetricLine, main_lines, varying
from evaluator.report.table import interval, number
from evaluator.runs.folder import folder_name
from generator.base.errors import visible
from generator.base.files import write_bytes

if TYPE_CHECKING:
    import altair

Row = Any
"""A row of results, a fit, or a cell."""
Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
Panels = Mapping[str, list[dict[str, Any]]]
"""{title of a panel: its records}. A record is one mark of the chart; shares are in percent."""
COLUMN, TEXT = 238, 500
"""Widths of a paper's column and of its full text, in points."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_SIDE_BY_SIDE = 3
"""The most panels in a row, and the most columns of a legend: more are too narrow to read."""
_AXIS_WIDTH = 45
"""What the axis of a panel and the space beside it take of the panel's width, in points."""
_LEGEND_MARK, _LEGEND_LETTER = 30, 4.6
"""Widths of the mark of a legend entry and of a letter of its text, in points."""
_AXIS_ENDS = (10, 20, 50)
"""Ends of the axis of percent, below 100, from which a panel takes the smallest that has room."""
_ATOMS = {"x": {"field": "x", "type": "ordinal", "title": "atoms", "axis": {"labelAngle": 0}}}
"""The encoding of an axis that counts atoms."""
_EDITS = {"x": {"field": "x", "type": "ordinal", "title": "edits", "axis": {"labelAngle": 0}}}
"""The encoding of an axis that counts the words in which two texts differ."""
_KIND_OF_EDITS = re.compile(r"(\d+)-edits?")
"""The kinds of items that differ in a number of words, such as those of the paraphrase ladder."""


@dataclass(frozen=True)
class Figure:
    """A figure: panels of one kind, which share an encoding."""

    name: str
    """Its name in files and links, such as "split-binary"."""
    title: str
    """Its title, as text."""
    about: str
    """Its caption, which screen readers read too."""
    kind: str
    """The template of its panels: the name of a file of charts/, without the suffix."""
    panels: Panels
    """The records of each panel, in the order of the panels."""
    encoding: Spec
    """Parts of the template's encoding that this figure replaces."""

    def spec(self) -> Spec:
        """The Vega-Lite specification, with at most three panels side by side.

        Returns:
            A specification as wide as a paper's column for one panel, else as a paper's text.
        """
        columns = min(_SIDE_BY_SIDE, len(self.panels))
        total_width = COLUMN if columns == 1 else TEXT
        all_records = [record for records in self.panels.values() for record in records]

        # All panels share the order of their values and series, so that colours mean the same.
        template = _fill_values(_chart(self.kind), all_records)
        shared = {
            **template,
            "width": total_width / columns - _AXIS_WIDTH,
            "encoding": {**template.get("encoding", {}), **self.encoding},
        }
        panels = []
        for title, records in self.panels.items():
            panel = {"title": {"text": title.split("\n")}, "data": {"values": records}}
            panels.append({**panel, **_zoom(shared, _axis_end(records))})

        config = _chart("config")
        legend = {**config["legend"], "columns": _legend_columns(all_records, total_width)}
        whole = {
            "config": {**config, "legend": legend},
            "columns": columns,
            "spacing": 14,
            "concat": panels,
        }
        return {"$schema": _SCHEMA, **_escape_controls(whole)}

    def chart(self) -> "altair.ConcatChart":
        """The figure for notebooks.

        Returns:
            An Altair chart of the specification.
        """
        import altair

        return altair.ConcatChart.from_dict(self.spec())

    def svg(self) -> str:
        """The figure as SVG.

        Returns:
            The text of an SVG file.
        """
        import vl_convert

        svg: str = vl_convert.vegalite_to_svg(self.spec())
        return svg

    def files(self) -> dict[str, bytes]:
        """The figure as files.

        Returns:
            {suffix: contents} of the SVG, PDF and PNG files.
        """
        import vl_convert

        svg = self.svg()
        return {
            ".svg": svg.encode(),
            ".pdf": vl_convert.svg_to_pdf(svg),
            ".png": vl_convert.svg_to_png(svg, ppi=300),
        }


def write_figures(drawings: Sequence[Figure], folder: Path) -> list[Path]:
    """Write each figure as SVG, PDF and PNG.

    Args:
        drawings: The figures, with distinct names (`number_names`).
        folder: Where to write; created if it does not exist.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # All are drawn before the first is written: an error leaves no half of them.
    contents: dict[Path, bytes] = {}
    for figure in drawings:
        for suffix, content in figure.files().items():
            contents[folder / f"{folder_name(figure.name)}{suffix}"] = content
    for path, content in contents.items():
        write_bytes(path, content)
    return list(contents)


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
    )
    drawings = [*gap(named), *gaps(named)]
    for draw in of_protocol:
        for protocol in protocols:
            drawings += draw(named, protocol)
    return drawings


def number_names(drawings: Sequence[Figure]) -> list[Figure]:
    """Make the names and files of figures distinct.

    Args:
        drawings: Figures, of which several may have one name.

    Returns:
        The figures; repeated names and their titles end in a number.
    """
    of_file: dict[str, Figure] = {}
    for figure in drawings:
        name, title = figure.name, figure.title
        count = 1
        while folder_name(name) in of_file:
            count += 1
            name, title = f"{figure.name}-{count}", f"{figure.title} ({count})"
        of_file[folder_name(name)] = replace(figure, name=name, title=title)
    return list(of_file.values())


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
    metric_of_protocol: dict[str, list[Any]] = {}
    for line in ordered:
        metric_of_protocol.setdefault(line.first["protocol"], _metric_labels(line))
    metrics = list(metric_of_protocol.values())[:most]
    chosen = [line for line in lines if _metric_labels(line) in metrics]
    chosen.sort(key=lambda line: metrics.index(_metric_labels(line)))
    labels = (*_benchmark_label(entries), "protocol", "metric", "kind")
    return _draw_splits("gap", "Seen against unseen combinations", chosen, labels)


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
    labels = [*_benchmark_label(entries), *labels]
    return _draw_splits(f"split-{protocol}", f"{protocol} by split", lines, labels or ["metric"])


def by_complexity(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Draw every share by the number of atoms n of a caption (CREPE, COMPASS).

    Args:
        entries: Pooled results.
        protocol: The protocol to draw.

    Returns:
        A figure with a panel for each kind or level and split, and a line for each model and
        metric; [] without rows by n.
    """
    benchmark_label = _benchmark_label(entries)
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        for row in entry["rows"]:
            is_share = row["protocol"] == protocol and row["unit"] == "share"
            if not is_share or row["n"] is None or not _is_reported(row):
                continue
            names = [*(row[label] for label in benchmark_label), row["kind"] or row["level"]]
            panel = ", ".join(filter(None, [*names, row["split"]]))
            record = _record(row, entry["model"], row["n"], row["metric"])
            panels.setdefault(panel, []).append(record)
    return _draw(
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
    labels = ["model", *_benchmark_label(entries)]
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
        labels = ["metric", *_benchmark_label(entries), *varying(rows, LABELS[3:])]
        for row in rows:
            names = [str(row[label]) for label in labels if row[label]]
            panel = ", ".join([entry["model"], *names])
            panels.setdefault(panel, []).append(_record(row, row["error"], row["split"]))
    return _draw(
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
        panel = ", ".join(entry[label] for label in _benchmark_label(entries))
        for row in entry["rows"]:
            is_point = row["protocol"] == protocol and row["metric"] in axis_of_metric
            if not is_point or not _is_reported(row) or row["is_gap"]:
                continue
            labels = (panel, entry["model"], row["kind"], row["skill"], row["split"])
            point = points.setdefault(labels, {"series": entry["model"], "group": row["split"]})
            percent = None if row["value"] is None else 100 * row["value"]
            point[axis_of_metric[row["metric"]]] = percent
    panels = by_key(
        (panel, point) for (panel, *_), point in points.items() if {"x", "y"} <= set(point)
    )
    return _draw(
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
    benchmark_label = _benchmark_label(entries)
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        for row in entry["rows"]:
            edits = _KIND_OF_EDITS.fullmatch(row["kind"] or "")
            is_brittleness = row["protocol"] == protocol and row["metric"] == "brittleness"
            if edits is None or not is_brittleness or not _is_reported(row) or row["is_gap"]:
                continue
            panel = ", ".join([*(row[label] for label in benchmark_label), row["split"]])
            panels.setdefault(panel, []).append(_record(row, entry["model"], int(edits[1])))
    return _draw(
        f"edits-{protocol}",
        title="Brittleness by the distance of a paraphrase",
        about="A false text lies between a caption and its paraphrase, by the number of words in "
        "which they differ. Dashed: chance.",
        kind="splits",
        panels=panels,
        encoding=_EDITS,
    )


def gaps(entries: Sequence[Results]) -> list[Figure]:
    """Draw the gaps between splits of every main metric (BindSplit, tables 3 and 6).

    Args:
        entries: Pooled results.

    Returns:
        A figure with a panel for each gap; [] without gaps.
    """
    panels: dict[str, list[Spec]] = {}
    labels = (*_benchmark_label(entries), "protocol", *LABELS[2:])
    for line in main_lines(entries):
        question = ", ".join(str(line.first[name]) for name in labels if line.first[name])
        for row in line.gaps.values():
            if row["value"] is None:
                continue
            record = _record(row, line.entry["model"], question)
            panels.setdefault(split_of(row), []).append(record)
    return _draw(
        "gaps",
        title="Gaps between splits",
        about="Differences in points, with intervals.",
        kind="differences",
        panels=panels,
    )


def differences(comparison: Mapping[str, Any]) -> list[Figure]:
    """Draw the results of `score compare`.

    Args:
        comparison: The results (evaluator.analysis.comparison).

    Returns:
        A figure of the paired differences, with a panel for each split; and a figure of changes of
        the lead, with a panel for each pair of models and question, by split.
    """
    labels = ("protocol", "metric", "kind", "skill", "first", "second")
    flipped = set()
    for flip in comparison.get("flips", ()):
        if flip["significant"]:
            flipped.add(tuple(flip.get(name) for name in labels))
    by_splits: dict[str, list[Spec]] = {}
    of_flips: dict[str, list[Spec]] = {}
    for row in comparison["rows"]:
        names = [str(row[name]) for name in ("protocol", "kind", "skill") if row.get(name)]
        question = ", ".join(names)
        pair = f"{row['first']} − {row['second']}"
        difference = {**row, "value": row["difference"], "unit": "difference"}
        panel = by_splits.setdefault(row["split"] or "all items", [])
        panel.append(_record(difference, pair, question))
        if row["split"] != "val" and tuple(row.get(name) for name in labels) in flipped:
            panel = of_flips.setdefault(f"{pair}: {question}", [])
            panel.append(_record(difference, pair, row["split"]))
    return [
        *_draw(
            "differences",
            title="Paired differences",
            about="Differences of two models on the same items, first − second, in points, with "
            "intervals.",
            kind="differences",
            panels=by_splits,
        ),
        *_draw(
            "differences-flips",
            title="Where the lead changes",
            about="Which model leads depends on the split: differences in points, first − second, "
            "with intervals.",
            kind="differences",
            panels=of_flips,
        ),
    ]


def grid(title: str, cells: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Draw accuracy by value and object; the held-out block is framed.

    Args:
        title: What the cells are of, such as a protocol.
        cells: Dictionaries with `model`, `value`, `object`, `share` (0..1), `items` and `held_out`.

    Returns:
        A figure with a panel for each model; [] without cells.
    """
    panels: dict[str, list[Spec]] = {}
    for cell in cells:
        record = {**cell, "percent": round(100 * cell["share"])}
        panels.setdefault(cell["model"], []).append(record)
    return _draw(
        f"grid-{title}",
        title=f"Values and objects, {title}",
        about="Percent of right answers on items whose scene shows the value on the object. "
        "Framed: held out of training.",
        kind="grid",
        panels=panels,
    )


def by_frequency(
    title: str, atoms: Sequence[Mapping[str, Any]], splits: Sequence[str]
) -> list[Figure]:
    """Draw how many captions of training and of each split name each atom.

    Args:
        title: The title of the figure.
        atoms: The counts of each atom (generator.dataset.counts).
        splits: The splits to draw.

    Returns:
        A figure with a panel for each split that names an atom; [] without such splits.
    """
    panels: dict[str, list[Spec]] = {}
    for split in splits:
        if not any(split in atom["captions"] for atom in atoms):
            continue
        panels[split] = []
        for atom in atoms:
            captions = atom["captions"]
            if not captions.get(split):
                continue
            panels[split].append(
                {
                    "series": atom["atom"].split()[0],
                    "group": atom["atom"],
                    "x": captions.get("train", 0),
                    "y": captions[split],
                }
            )
    # Counts span several orders of magnitude and include 0, which a logarithm has no place for.
    symlog = {
        "type": "quantitative",
        "scale": {"type": "symlog"},
        "axis": {"labelOverlap": "greedy", "labelSeparation": 6},
    }
    return _draw(
        "frequency",
        title=title,
        about="How often the captions of training and of a split name each atom.",
        kind="points",
        panels=panels,
        encoding={
            "x": {"field": "x", "title": "captions of train", **symlog},
            "y": {"field": "y", "title": "captions of the split", **symlog},
            "shape": {"value": "circle"},
        },
    )


def by_overlap(
    title: str, panels: Mapping[str, Mapping[str, Mapping[str, float | None]]]
) -> list[Figure]:
    """Draw percent of the bindings in true and in false captions that a corpus shows.

    Args:
        title: What the captions are of, such as a benchmark.
        panels: {set of samples: its shares, 0..1} (evaluator.audits.familiarity.audit.shares).

    Returns:
        A figure with a panel for each set of samples; [] without sets.
    """
    records_of: dict[str, list[Spec]] = {}
    for name, sides in panels.items():
        records_of[name] = []
        for side in ("positive", "negative"):
            for order, match in enumerate(("perfect", "close", "none")):
                percent = 100 * (sides[side][match] or 0)
                records_of[name].append(
                    {"x": side, "series": match, "order": order, "value": percent}
                )
    return _draw(
        f"familiarity-{title}",
        title=f"Familiarity, {title}",
        about="Bindings of true (positive) and false (negative) captions that the corpus shows, "
        "shows closely, or lacks.",
        kind="overlap",
        panels=records_of,
    )


def embedding_maps(title: str, record: Mapping[str, Any]) -> list[Figure]:
    """Draw maps of embeddings.

    Args:
        title: What is embedded, such as a benchmark.
        record: The results of `score embeddings` (embeddings.json).

    Returns:
        A figure of texts and a figure of images, with a panel for each model.
    """
    split_of_caption = {text["caption"]: text["split"] for text in record["texts"]}
    short = short_captions(list(split_of_caption))
    short_name = dict(zip(split_of_caption, short, strict=True))
    drawings = []
    for what in ("texts", "images"):
        captions = [point["caption"] for point in record[what]]
        panels: dict[str, list[Spec]] = {}
        for model, places in record["places"][what].items():
            panels[model] = [
                {"series": short_name[caption], "group": split_of_caption[caption], "x": x, "y": y}
                for caption, (x, y) in zip(captions, places, strict=True)
            ]
        drawings += _draw(
            f"map-{title}-{what}",
            title=f"Embeddings of {what}, {title}",
            about="Close points have similar embeddings (t-SNE by cosine). Shapes: the first split "
            "of a caption.",
            kind="map",
            panels=panels,
        )
    return drawings


def by_probe(record: Mapping[str, Any]) -> list[Figure]:
    """Draw probe accuracy from images, texts and their alignment, by split.

    Args:
        record: The results of `score probe` (probe.json).

    Returns:
        A figure with a panel for each factor and model; [] without rows.
    """
    panels: dict[str, list[Spec]] = {}
    for model, results in record["models"].items():
        for row in results["rows"]:
            panel = panels.setdefault(f"{row['factor']}, {model}", [])
            panel.append(_record({**row, "unit": "share"}, row["place"], row["split"]))
    return _draw(
        "probe",
        title=f"Probes, {record['name']}",
        about="Accuracy of a linear probe on each tower, and of the alignment of both, for each "
        "factor. Dashed: chance.",
        kind="splits",
        panels=panels,
    )


def short_captions(captions: Sequence[str]) -> list[str]:
    """Remove the words that all captions share, if the captions stay distinct.

    Args:
        captions: The captions.

    Returns:
        The short captions, in the same order.

    Example:
        >>> short_captions(["a photo of a red cube", "a photo of a blue cube"])
        ['red', 'blue']
    """
    words = [caption.split() for caption in captions]
    shared = set(words[0]).intersection(*words) if words else set()
    short = [" ".join(word for word in text if word not in shared) for text in words]
    stay_distinct = len(set(short)) == len(set(captions)) > 1
    return short if stay_distinct else list(captions)


def _draw_splits(
    name: str, title: str, lines: Sequence[MetricLine], labels: Sequence[str]
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
                panel.append(_record(row, line.entry["model"], row["split"]))
    all_records = [record for records in panels.values() for record in records]
    has_ribbon = any(record["least"] is not None for record in all_records)
    ribbon = "Ribbon: range over blocks, or over the trainings of one block. " if has_ribbon else ""
    about = f"By split, with intervals. {ribbon}Dashed: chance."
    return _draw(name, title=title, about=about, kind="splits", panels=panels)


def _draw_counts(entry: Results, protocol: str, *, name: str, entry_name: str) -> list[Figure]:
    """The figure `name` of `by_count` for one entry of pooled results."""
    cells = []
    for cell in entry["cells"]:
        if cell["protocol"] == protocol and cell["value"] is not None and _is_reported(cell):
            cells.append(cell)
    panels: dict[str, list[Spec]] = {}
    for skill, level in dict.fromkeys((cell["skill"], cell["level"]) for cell in cells):
        same = [cell for cell in cells if (cell["skill"], cell["level"]) == (skill, level)]
        fits = [fit for fit in entry["fits"] if (fit["skill"], fit["level"]) == (skill, level)]
        for x, series in _axes_of_counts(same):
            panel = (
                f"{skill}, {level}, by {x.removeprefix('n_')} "
                f"(lines: {series.removeprefix('n_')}){_slopes(fits, x)}"
            )
            for value, count in sorted({(cell[series], cell[x]) for cell in same}):
                chosen = [cell for cell in same if (cell[series], cell[x]) == (value, count)]
                record = _record(_mean(chosen), str(value), count)
                panels.setdefault(panel, []).append(record)
    return _draw(
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
    counts = [name for name in COUNTS if len({cell[name] for cell in cells}) > 1]
    pairs = [(x, series) for x in counts for series in counts if x != series]
    return pairs or [(x, "level") for x in counts]


def _slopes(fits: Sequence[Row], count: str) -> str:
    """The slopes of a count by split, with corrected stars; "" if no fit has the count."""
    slopes = {
        fit["split"]: fit["coefficients"][count] for fit in fits if count in fit["coefficients"]
    }
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


def _record(row: Row, series: str, x: Any, group: str = "") -> Spec:
    """A record for one mark of a chart: numbers in percent, None if missing, and the value as text,
    as in tables."""
    pooled_over = "blocks" if row.get("min_blocks") is not None else "runs"
    column_of = {
        "value": "value",
        "low": "low",
        "high": "high",
        "chance": "chance",
        "least": f"min_{pooled_over}",
        "most": f"max_{pooled_over}",
    }
    ends = interval({"low": None, **row})
    record = {
        "x": x,
        "series": series,
        "group": group,
        "said": f"{number(row['value'], row['unit'])} {ends}".strip(),
        "items": row["items"],
        "speaks": row.get("speaks_of"),
    }
    for name, column in column_of.items():
        value = row.get(column)
        record[name] = None if value is None else round(100 * value, 4)
    return record


def _is_reported(row: Row) -> bool:
    return row["split"] is None or row["split"] in reported_splits([row["split"]])


def _is_error(row: Row, protocol: str) -> bool:
    """Whether a row is the share of a kind of error on a reported split."""
    is_of_protocol = row["protocol"] == protocol and row["error"] and row["n"] is None
    if not is_of_protocol or row["is_gap"] or row["value"] is None:
        return False
    return _is_reported(row)


def _metric_labels(line: MetricLine) -> list[Any]:
    return [line.first[name] for name in LABELS]


def _benchmark_label(entries: Iterable[Results]) -> list[str]:
    """["benchmark"] if a model answered several benchmarks, else []."""
    answered = {(entry["model"], entry["benchmark"]) for entry in entries}
    models = {model for model, _ in answered}
    return ["benchmark"] if len(answered) > len(models) else []


def _draw(
    name: str, *, title: str, about: str, kind: str, panels: Panels, encoding: Spec | None = None
) -> list[Figure]:
    """The figure of these panels; [] without panels."""
    if not panels:
        return []
    return [Figure(name, title, about, kind, panels, encoding or {})]


# The rest fills a template of charts/ with records.


@cache
def _chart(name: str) -> Spec:
    """A template. Callers must not change it: it is read once."""
    file = files("evaluator.report") / "charts" / f"{name}.json"
    chart: Spec = json.loads(file.read_text(encoding="utf-8"))
    return chart


def _fill_values(part: Any, records: Sequence[Mapping[str, Any]]) -> Any:
    """Replace a `sort` or `domain` of "values" in a part of a chart with the values of its field in
    the records, in their order."""
    if isinstance(part, list):
        return [_fill_values(member, records) for member in part]
    if not isinstance(part, dict):
        return part
    filled = {name: _fill_values(member, records) for name, member in part.items()}
    if "field" in part:
        values = list(dict.fromkeys(record.get(part["field"]) for record in records))
        if part.get("sort") == "values":
            filled["sort"] = values
        if part.get("scale") == {"domain": "values"}:
            filled["scale"] = {"domain": values}
    return filled


def _axis_end(records: Sequence[Mapping[str, Any]]) -> float:
    """The end of the axis of percent of a panel of records.

    Retrieval from thousands of captions reaches a few percent: on an axis to 100 its fall is flat.

    >>> _axis_end([{"value": 7.7, "high": 11.0}]), _axis_end([{"value": 60.0, "high": None}])
    (20, 100)
    """
    percents = []
    for record in records:
        for name in ("value", "low", "high", "chance", "least", "most"):
            if isinstance(record.get(name), int | float):
                percents.append(record[name])
    if not percents:
        return 100
    for end in _AXIS_ENDS:
        if max(percents) <= end:
            return end
    return 100


def _zoom(part: Any, end: float) -> Any:
    """A part of a chart, with axes of `value` from 0 to 100 ending at `end`."""
    if isinstance(part, list):
        return [_zoom(member, end) for member in part]
    if not isinstance(part, dict):
        return part
    zoomed = {name: _zoom(member, end) for name, member in part.items()}
    if part.get("field") == "value" and part.get("scale") == {"domain": [0, 100]}:
        zoomed["scale"] = {"domain": [0, end]}
    return zoomed


def _legend_columns(records: Sequence[Mapping[str, Any]], width: float) -> int:
    """How many columns of the legend have room, for the longest name of a series."""
    longest = max((len(str(record.get("series"))) for record in records), default=0)
    fitting = int(width / (_LEGEND_MARK + _LEGEND_LETTER * longest))
    return max(1, min(_SIDE_BY_SIDE, fitting))


def _percent_axis(axis: str, title: str) -> Spec:
    return {
        "field": axis,
        "type": "quantitative",
        "title": f"{title}, %",
        "scale": {"domain": [0, 100]},
    }


def _escape_controls(part: Any) -> Any:
    """Escape control characters in a part of a specification: the chart converter aborts at
    them."""
    if isinstance(part, dict):
        return {name: _escape_controls(member) for name, member in part.items()}
    if isinstance(part, list):
        return [_escape_controls(member) for member in part]
    return visible(part) if isinstance(part, str) else part
