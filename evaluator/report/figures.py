"""Figures of results as Vega-Lite specifications, for the page, notebooks and papers.

charts/*.json hold a template for each kind of panel; this module selects a panel's records.
Specifications are plain
dictionaries: Altair's objects copy and validate their data at each step, which took most of a
    page's time.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.protocols.items import COUNTS, reported_splits
from evaluator.protocols.records import LABELS, Results, by_key, split_of
from evaluator.provenance.contamination import marked
from evaluator.report.overview import Line, main_lines, varying
from evaluator.report.table import interval, number
from evaluator.runs.folder import folder_name
from generator.base.errors import visible
from generator.base.files import write_bytes

if TYPE_CHECKING:
    import altair

Row = Any
"""A row of results, a fit, or a cell."""
Spec = dict[str, Any]
Panels = Mapping[str, list[dict[str, Any]]]
"""{title of a panel: its records}. A record is one mark of the chart; shares are in percent."""
COLUMN, TEXT = 238, 500
"""Widths of a paper's column and of its full text, in points."""
_MARK, _LETTER = 30, 4.6  # widths of a legend entry's mark and of a letter, in points
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def _shown(part: Any) -> Any:
    """Escapes control characters in a part of a specification: the chart converter aborts at
    them."""
    if isinstance(part, dict):
        return {name: _shown(value) for name, value in part.items()}
    if isinstance(part, list):
        return [*map(_shown, part)]
    return visible(part) if isinstance(part, str) else part


@dataclass(frozen=True)
class Figure:
    """A figure. name: used for its files and its link. about: its caption, which screen readers
    read too. kind: the template of its panels, a file of charts/. encoding: overrides parts of the
    template's encoding."""

    name: str
    title: str
    about: str
    kind: str
    panels: Panels
    encoding: Spec

    def spec(self) -> Spec:
        """The Vega-Lite specification, with at most three panels side by side. As wide as a paper's
        column for one panel, else as a paper's text."""
        columns = min(3, len(self.panels))
        room = COLUMN if columns == 1 else TEXT
        width = room / columns - 45
        together = [record for records in self.panels.values() for record in records]
        kind = _filled(_chart(self.kind), together)
        shared = {**kind, "width": width, "encoding": {**kind.get("encoding", {}), **self.encoding}}
        panels = [
            {
                "title": {"text": title.split("\n")},
                "data": {"values": records},
                **_zoomed(shared, _top(records)),
            }
            for title, records in self.panels.items()
        ]
        longest = max((len(str(record.get("series"))) for record in together), default=0)
        config = _chart("config")
        legend = config["legend"] | {
            "columns": max(1, min(3, int(room / (_MARK + _LETTER * longest))))
        }
        config = config | {"legend": legend}
        whole = {"config": config, "columns": columns, "spacing": 14, "concat": panels}
        return {"$schema": _SCHEMA, **_shown(whole)}

    def chart(self) -> "altair.ConcatChart":
        """The figure as an Altair chart, for notebooks."""
        import altair

        return altair.ConcatChart.from_dict(self.spec())

    def svg(self) -> str:
        """The figure as SVG text."""
        import vl_convert

        svg: str = vl_convert.vegalite_to_svg(self.spec())
        return svg

    def files(self) -> dict[str, bytes]:
        """{suffix: contents} of the SVG, PDF and PNG files."""
        import vl_convert

        svg = self.svg()
        return {
            ".svg": svg.encode(),
            ".pdf": vl_convert.svg_to_pdf(svg),
            ".png": vl_convert.svg_to_png(svg, ppi=300),
        }


@cache
def _chart(name: str) -> Spec:
    found: Spec = json.loads(
        (files("evaluator.report") / "charts" / f"{name}.json").read_text(encoding="utf-8")
    )
    return found


def _filled(part: Any, records: Sequence[Mapping[str, Any]]) -> Any:
    """Replace a `sort` or `domain` of "values" in a part of a chart with the values of its field in
    the records, in their order."""
    if isinstance(part, list):
        return [_filled(each, records) for each in part]
    if not isinstance(part, dict):
        return part
    filled = {name: _filled(each, records) for name, each in part.items()}
    if "field" in part:
        values = list(dict.fromkeys(record.get(part["field"]) for record in records))
        filled |= {"sort": values} if part.get("sort") == "values" else {}
        filled |= {"scale": {"domain": values}} if part.get("scale") == {"domain": "values"} else {}
    return filled


_TOPS = (10, 20, 50)
"""Ends of the axis of percent, below 100, from which a panel takes the smallest that has room."""


def _top(records: Sequence[Mapping[str, Any]]) -> float:
    """The end of the axis of percent of a panel of records.

    Retrieval from thousands of captions reaches a few percent: on an axis to 100 its fall is flat.

    >>> _top([{"value": 7.7, "high": 11.0}]), _top([{"value": 60.0, "high": None}])
    (20, 100)
    """
    numbers = [
        record[name]
        for record in records
        for name in ("value", "low", "high", "chance", "least", "most")
        if isinstance(record.get(name), int | float)
    ]
    if not numbers:
        return 100
    return next((top for top in _TOPS if max(numbers) <= top), 100)


def _zoomed(part: Any, top: float) -> Any:
    """A part of a chart, with axes of `value` from 0 to 100 ending at `top`."""
    if isinstance(part, list):
        return [_zoomed(each, top) for each in part]
    if not isinstance(part, dict):
        return part
    zoomed = {name: _zoomed(each, top) for name, each in part.items()}
    if part.get("field") == "value" and part.get("scale") == {"domain": [0, 100]}:
        zoomed["scale"] = {"domain": [0, top]}
    return zoomed


def write_figures(made: Sequence[Figure], folder: Path) -> list[Path]:
    """Write each figure to `folder` as SVG, PDF and PNG; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {
        folder / f"{folder_name(each.name)}{suffix}": content
        for each in made
        for suffix, content in each.files().items()
    }
    for path, content in written.items():
        write_bytes(path, content)
    return list(written)


def figures(entries: Sequence[Results]) -> list[Figure]:
    """All figures for which pooled results (evaluator.analysis.pooling) have numbers. Model names
    include their marks."""
    named = [{**each, "model": marked(each["model"], each)} for each in entries]
    protocols = dict.fromkeys(row["protocol"] for entry in named for row in entry["rows"])
    draws: tuple[Callable[[Sequence[Results], str], list[Figure]], ...] = (
        by_split,
        by_complexity,
        by_count,
        by_error,
        by_rewording,
    )
    return [
        *gap(named),
        *gaps(named),
        *(each for draw in draws for name in protocols for each in draw(named, name)),
    ]


def numbered(made: Sequence[Figure]) -> list[Figure]:
    """Make the names and files of figures distinct: append a number to a repeated name and its
    title."""
    found: dict[str, Figure] = {}
    for each in made:
        name, title, n = each.name, each.title, 1
        while folder_name(name) in found:
            n += 1
            name, title = f"{each.name}-{n}", f"{each.title} ({n})"
        found[folder_name(name)] = replace(each, name=name, title=title)
    return list(found.values())


def _benchmark(entries: Sequence[Results]) -> list[str]:
    """["benchmark"] if a model was asked several benchmarks, else []."""
    asked = {(entry["model"], entry["benchmark"]) for entry in entries}
    return ["benchmark"] if len(asked) > len({model for model, _ in asked}) else []


def gap(
    entries: Sequence[Results], first: Line | None = None, most: int | None = None
) -> list[Figure]:
    """The first main metric of each protocol by split, a panel for each protocol and a line for
    each model.

    Args:
        entries: Pooled results.
        first: The line of the metric that the first panel shows, in place of its protocol's first.
        most: The largest number of panels; None: all.
    """
    lines = [line for line in main_lines(entries) if {"seen", "unseen"} <= set(line.rows)]
    of_protocol: dict[str, list[Any]] = {}
    for line in [*([first] if first in lines else []), *lines]:
        of_protocol.setdefault(line.first["protocol"], [line.first[name] for name in LABELS])
    panels = list(of_protocol.values())[:most]
    chosen = [line for line in lines if [line.first[name] for name in LABELS] in panels]
    chosen.sort(key=lambda line: panels.index([line.first[name] for name in LABELS]))
    return _of_splits(
        "gap",
        "Seen against unseen combinations",
        chosen,
        (*_benchmark(entries), "protocol", "metric", "kind"),
    )


def by_split(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """The main metric by split: a panel for each group of items, a line for each model (BindSplit,
    figures 2 and 4)."""
    lines = [line for line in main_lines(entries) if line.first["protocol"] == protocol]
    labels = varying((line.first for line in lines), ("metric", "kind", "skill", "level"))
    labels = [*_benchmark(entries), *labels]
    return _of_splits(f"split-{protocol}", f"{protocol} by split", lines, labels or ["metric"])


def _of_splits(name: str, title: str, lines: Sequence[Line], labels: Sequence[str]) -> list[Figure]:
    panels: dict[str, list[Spec]] = {}
    splits = reported_splits(split for line in lines for split in line.rows)
    for line in lines if len(splits) > 1 else ():
        panel = ", ".join(str(line.first[label]) for label in labels if line.first[label]) or "all"
        rows = (line.rows[split] for split in splits if split in line.rows)
        panels.setdefault(panel, []).extend(
            _record(row, line.entry["model"], row["split"]) for row in rows
        )
    several_runs = any(
        record["least"] is not None for records in panels.values() for record in records
    )
    ribbon = (
        "Ribbon: range over blocks, or over the trainings of one block. " if several_runs else ""
    )
    about = f"By split, with intervals. {ribbon}Dashed: chance."
    return _some(name, title, about, "splits", panels)


def by_complexity(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Every share by the number of atoms n: a panel for each kind or level and split, a line for
    each model and metric (CREPE, COMPASS)."""
    of = _benchmark(entries)
    panels = by_key(
        (
            ", ".join(
                filter(
                    None, (*(row[name] for name in of), row["kind"] or row["level"], row["split"])
                )
            ),
            _record(row, entry["model"], row["n"], row["metric"]),
        )
        for entry in entries
        for row in entry["rows"]
        if (row["protocol"], row["unit"]) == (protocol, "share")
        and row["n"] is not None
        and _reported(row)
    )
    about = (
        "By the number of atoms (objects, attributes, relations) of a caption; dashes tell metrics "
        "apart."
    )
    return _some(
        f"complexity-{protocol}", f"{protocol} by complexity", about, "splits", panels, _ATOMS
    )


_ATOMS = {"x": {"field": "x", "type": "ordinal", "title": "atoms", "axis": {"labelAngle": 0}}}


def by_count(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """A figure for each model: R@1 by one count. A panel for each skill, level and pair of counts;
    a line for each value of the other count.

    A panel's title gives the slope β of its count for each split: the skill load, in points per
    atom (COMPASS, section E).
    """
    of = ["model", *_benchmark(entries)]
    return [
        each
        for i, entry in enumerate(entries)
        for each in _by_count(entry, protocol, f"{i + 1}", ", ".join(entry[name] for name in of))
    ]


def _by_count(entry: Results, protocol: str, place: str, named: str) -> list[Figure]:
    panels: dict[str, list[Spec]] = {}
    cells = [
        each
        for each in entry["cells"]
        if each["protocol"] == protocol and each["value"] is not None
    ]
    cells = [each for each in cells if _reported(each)]
    for skill, level in dict.fromkeys((cell["skill"], cell["level"]) for cell in cells):
        part = [cell for cell in cells if (cell["skill"], cell["level"]) == (skill, level)]
        fits = [fit for fit in entry["fits"] if (fit["skill"], fit["level"]) == (skill, level)]
        counts = [name for name in COUNTS if len({cell[name] for cell in part}) > 1]
        pairs: list[tuple[str, str]] = [(x, by) for x in counts for by in counts if x != by]
        for x, by in pairs or [(x, "level") for x in counts]:
            lines = f" (lines: {by.removeprefix('n_')})"
            panel = f"{skill}, {level}, by {x.removeprefix('n_')}{lines}{_slopes(fits, x)}"
            for value, place_ in sorted({(cell[by], cell[x]) for cell in part}):
                chosen = [cell for cell in part if (cell[by], cell[x]) == (value, place_)]
                panels.setdefault(panel, []).append(_record(_mean(chosen), str(value), place_))
    about = "R@1 by the atoms of a caption. β: points per atom; * p < .005, ** p < .001."
    return _some(
        f"load-{protocol}-{place}",
        f"Skill loads of {protocol}, {named}",
        about,
        "splits",
        panels,
        _ATOMS,
    )


def _slopes(fits: Sequence[Row], count: str) -> str:
    """The slopes of a count by split, with corrected stars; "" if no fit has the count."""
    slopes = {
        fit["split"]: fit["coefficients"][count] for fit in fits if count in fit["coefficients"]
    }
    found = [
        f"{name} {slopes[name]['beta']:+.2f}{slopes[name]['stars_corrected']}"
        for name in reported_splits(slopes)
    ]
    return f"\nβ: {', '.join(found)}" if found else ""


def _mean(cells: Sequence[Row]) -> Row:
    """The mean of cells, weighted by their items, as a row."""
    items = sum(cell["items"] for cell in cells)
    return {
        "value": sum(cell["value"] * cell["items"] for cell in cells) / items,
        "unit": "share",
        "items": items,
    }


def by_error(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """The share of each kind of error by split, a panel for each model and group of items
    (Pearson)."""
    panels: dict[str, list[Spec]] = {}
    for entry in entries:
        rows = [
            row
            for row in entry["rows"]
            if row["protocol"] == protocol and row["error"] and row["n"] is None
        ]
        rows = [
            row for row in rows if not row["is_gap"] and row["value"] is not None and _reported(row)
        ]
        several = ["metric", *_benchmark(entries), *varying(rows, LABELS[3:])]
        for row in rows:
            panel = ", ".join([entry["model"], *(str(row[name]) for name in several if row[name])])
            panels.setdefault(panel, []).append(_record(row, row["error"], row["split"]))
    about = (
        "Kinds of chosen false texts. Shares of predictions are of all answers, other shares of "
        "wrong answers."
    )
    return _some(f"errors-{protocol}", f"Kinds of errors of {protocol}", about, "errors", panels)


def by_rewording(entries: Sequence[Results], protocol: str) -> list[Figure]:
    """Brittleness against augmented accuracy, a point for each model, kind and split (Hard
    Positives)."""
    axes = {"augmented accuracy": "x", "brittleness": "y"}
    points: dict[Any, Spec] = {}
    for entry in entries:
        panel = ", ".join(entry[name] for name in _benchmark(entries))
        for row in entry["rows"]:
            if (
                row["protocol"] == protocol
                and row["metric"] in axes
                and _reported(row)
                and not row["is_gap"]
            ):
                labels = (panel, entry["model"], row["kind"], row["skill"], row["split"])
                point = points.setdefault(labels, {"series": entry["model"], "group": row["split"]})
                point[axes[row["metric"]]] = None if row["value"] is None else 100 * row["value"]
    panels = by_key(
        (panel, point) for (panel, *_), point in points.items() if {"x", "y"} <= set(point)
    )
    encoding = {axis: _percent(title) for title, axis in axes.items()}
    about = "Models at the lower right answer correctly, however a caption is worded."
    title = "Brittleness against augmented accuracy"
    return _some(f"rewording-{protocol}", title, about, "points", panels, encoding)


def gaps(entries: Sequence[Results]) -> list[Figure]:
    """The gaps between splits of every main metric, a panel for each gap (BindSplit, tables 3 and
    6)."""
    panels: dict[str, list[Spec]] = {}
    labels = (*_benchmark(entries), "protocol", *LABELS[2:])
    for line in main_lines(entries):
        question = ", ".join(str(line.first[name]) for name in labels if line.first[name])
        for row in line.gaps.values():
            if row["value"] is not None:
                panels.setdefault(split_of(row), []).append(
                    _record(row, line.entry["model"], question)
                )
    return _some(
        "gaps",
        "Gaps between splits",
        "Differences in points, with intervals.",
        "differences",
        panels,
    )


def differences(comparison: Mapping[str, Any]) -> list[Figure]:
    """Two figures of `score compare`: the paired differences, a panel for each split; and changes
    of the lead, a panel for each pair of models and question, by split."""
    of_splits: dict[str, list[Spec]] = {}
    of_flips: dict[str, list[Spec]] = {}
    same = ("protocol", "metric", "kind", "skill", "first", "second")
    flipped = {
        tuple(flip.get(name) for name in same)
        for flip in comparison.get("flips", ())
        if flip["significant"]
    }
    for row in comparison["rows"]:
        question = ", ".join(
            str(row[name]) for name in ("protocol", "kind", "skill") if row.get(name)
        )
        told, pair = (
            {**row, "value": row["difference"], "unit": "difference"},
            f"{row['first']} − {row['second']}",
        )
        of_splits.setdefault(row["split"] or "all items", []).append(_record(told, pair, question))
        if row["split"] != "val" and tuple(row.get(name) for name in same) in flipped:
            of_flips.setdefault(f"{pair}: {question}", []).append(_record(told, pair, row["split"]))
    about = (
        "Differences of two models on the same items, first − second, in points, with intervals."
    )
    turned = (
        "Which model leads depends on the split: differences in points, first − second, with "
        "intervals."
    )
    return [
        *_some("differences", "Paired differences", about, "differences", of_splits),
        *_some("differences-flips", "Where the lead changes", turned, "differences", of_flips),
    ]


def grid(title: str, cells: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Accuracy by value and object, a panel for each model; the held-out block is framed.

    cells: dictionaries with `model`, `value`, `object`, `share` (0..1), `items` and `held_out`.
    """
    panels = by_key(
        (cell["model"], {**cell, "percent": round(100 * cell["share"])}) for cell in cells
    )
    about = (
        "Percent of right answers on items whose scene shows the value on the object. Framed: held "
        "out of training."
    )
    return _some(f"grid-{title}", f"Values and objects, {title}", about, "grid", panels)


def by_frequency(
    title: str, atoms: Sequence[Mapping[str, Any]], splits: Sequence[str]
) -> list[Figure]:
    """How many captions of training and of each split name each of `atoms`
    (generator.dataset.counts), a panel for each split."""
    panels = {
        split: [
            {
                "series": atom["atom"].split()[0],
                "group": atom["atom"],
                "x": of.get("train", 0),
                "y": of[split],
            }
            for atom in atoms
            if (of := atom["captions"]).get(split)
        ]
        for split in splits
        if any(split in atom["captions"] for atom in atoms)
    }
    symlog = {
        "type": "quantitative",
        "scale": {"type": "symlog"},
        "axis": {"labelOverlap": "greedy", "labelSeparation": 6},
    }
    encoding = {"x": {"field": "x", "title": "captions of train", **symlog}}
    encoding |= {
        "y": {"field": "y", "title": "captions of the split", **symlog},
        "shape": {"value": "circle"},
    }
    about = "How often the captions of training and of a split name each atom."
    return _some("frequency", title, about, "points", panels, encoding)


def by_overlap(
    title: str, panels: Mapping[str, Mapping[str, Mapping[str, float | None]]]
) -> list[Figure]:
    """Percent of the bindings in true and in false captions that a corpus shows: a panel for each
    set of samples. panels: {set: its shares, 0..1} (evaluator.audits.familiarity.audit.shares)."""
    made = {
        name: [
            {"x": side, "series": match, "order": i, "value": 100 * (sides[side][match] or 0)}
            for side in ("positive", "negative")
            for i, match in enumerate(("perfect", "close", "none"))
        ]
        for name, sides in panels.items()
    }
    about = (
        "Bindings of true (positive) and false (negative) captions that the corpus shows, shows "
        "closely, or lacks."
    )
    return _some(f"familiarity-{title}", f"Familiarity, {title}", about, "overlap", made)


def embedding_maps(title: str, record: Mapping[str, Any]) -> list[Figure]:
    """Maps of embeddings from `score embeddings` (embeddings.json): a figure of texts and a figure
    of images, with a panel for each model."""
    classes = {each["caption"]: each["split"] for each in record["texts"]}
    names = dict(zip(classes, short_captions(list(classes)), strict=True))
    about = (
        "Close points have similar embeddings (t-SNE by cosine). Shapes: the first split of a "
        "caption."
    )
    made = []
    for what in ("texts", "images"):
        captions = [each["caption"] for each in record[what]]
        panels = {
            model: [
                {"series": names[caption], "group": classes[caption], "x": x, "y": y}
                for caption, (x, y) in zip(captions, places, strict=True)
            ]
            for model, places in record["places"][what].items()
        }
        made += _some(f"map-{title}-{what}", f"Embeddings of {what}, {title}", about, "map", panels)
    return made


def by_probe(record: Mapping[str, Any]) -> list[Figure]:
    """Probe accuracy from images, texts and their alignment, by split (probe.json of `score
    probe`): a panel for each factor and model."""
    panels = by_key(
        (f"{row['factor']}, {model}", _record({**row, "unit": "share"}, row["place"], row["split"]))
        for model, found in record["models"].items()
        for row in found["rows"]
    )
    about = (
        "Accuracy of a linear probe on each tower, and of the alignment of both, for each factor. "
        "Dashed: chance."
    )
    return _some("probe", f"Probes, {record['name']}", about, "splits", panels)


def short_captions(captions: Sequence[str]) -> list[str]:
    """Remove the words that all captions share, if the captions stay distinct.

    >>> short_captions(["a photo of a red cube", "a photo of a blue cube", "a photo of a red cone"])
    ['red cube', 'blue cube', 'red cone']
    """
    words = [caption.split() for caption in captions]
    shared = set(words[0]).intersection(*words) if words else set()
    short = [" ".join(word for word in each if word not in shared) for each in words]
    return short if len(set(short)) == len(set(captions)) > 1 else list(captions)


def _record(row: Row, series: str, x: Any, group: str = "") -> Spec:
    """A record for one mark of a chart: numbers in percent, None if missing, and the value as text,
    as in tables."""
    columns = {"value": "value", "low": "low", "high": "high", "chance": "chance"}
    over = "blocks" if row.get("min_blocks") is not None else "runs"
    columns |= {"least": f"min_{over}", "most": f"max_{over}"}
    numbers = {name: row.get(column) for name, column in columns.items()}
    said = f"{number(row['value'], row['unit'])} {interval({'low': None, **row})}".strip()
    of = {
        "x": x,
        "series": series,
        "group": group,
        "said": said,
        "items": row["items"],
        "speaks": row.get("speaks_of"),
    }
    return of | {
        name: None if each is None else round(100 * each, 4) for name, each in numbers.items()
    }


def _percent(title: str) -> Spec:
    axis = "x" if title == "augmented accuracy" else "y"
    return {
        "field": axis,
        "type": "quantitative",
        "title": f"{title}, %",
        "scale": {"domain": [0, 100]},
    }


def _reported(row: Row) -> bool:
    return row["split"] is None or row["split"] in reported_splits([row["split"]])


def _some(
    name: str, title: str, about: str, kind: str, panels: Panels, encoding: Spec | None = None
) -> list[Figure]:
    return [Figure(name, title, about, kind, panels, encoding or {})] if panels else []
