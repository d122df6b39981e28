"""Figures of results, as SVG text to stand inside a page.

`by_split`, `by_complexity` and `by_count` take pooled results (evaluator.analysis.pooling), an entry for each model,
and a protocol. They return no figure where the results have no numbers for it.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from evaluator.protocols.items import COUNTS, reported_splits, split_rank
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import marked
from evaluator.report.overview import main_lines, varying
from generator.base.errors import visible

_COLOURS = ("#0b6e99", "#c2571a", "#4d7c0f", "#7c3aed", "#be123c", "#525252")
_MARKERS, _DASHES = ("o", "s", "^", "D", "v", "P"), ("-", "--", ":", "-.")
Row = Any
"""A row of results, or a fit."""
_NOTHING: dict[str, Any] = {"value": None, "low": None, "high": None}
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "jackalope",
    "text.parse_math": False,
}


def figures(results: Sequence[Results]) -> list[str]:
    """The figures of every protocol in pooled results, as <svg> elements: those that it has numbers for."""
    protocols = dict.fromkeys(row["protocol"] for run in results for row in run["rows"])
    return [svg for name in protocols for draw in (by_complexity, by_count, by_split) for svg in draw(results, name)]


@dataclass(frozen=True)
class _Curve:
    """A line of a figure: the rows of one entry of results at places along the axis, and which of its lines it is."""

    entry: Results
    group: str
    places: Sequence[float]
    rows: Sequence[Row]


def by_split(results: Sequence[Results], protocol: str) -> list[str]:
    """The main metric by split with its intervals, the range over blocks as a ribbon, and its chance level.

    Of one model, a line for each group of items. Of several, a panel for each group and a line for each model.
    """
    lines = [line for line in main_lines(results) if line.first["protocol"] == protocol]
    splits = reported_splits(split for line in lines for split in line.rows)
    labels = varying((line.first for line in lines), ("metric", "kind", "skill", "level"))
    panels: dict[str, list[_Curve]] = {}
    for line in lines if splits else ():
        group = ", ".join(str(line.first[name]) for name in labels if line.first[name])
        panel, group = (group, "") if len(results) > 1 else ("", group)
        rows = [line.rows.get(split, _NOTHING) for split in splits]
        panels.setdefault(f"{protocol}, {panel}".strip(", "), []).append(
            _Curve(line.entry, group, range(len(splits)), rows)
        )
    metrics = {line.first["metric"] for line in lines}
    name = metrics.pop() if len(metrics) == 1 else "share"
    return _curves(results, panels, ylabel=f"{name}, %", xticks=range(len(splits)), xticklabels=splits)


def by_complexity(results: Sequence[Results], protocol: str) -> list[str]:
    """Every share by the number of atoms n: a panel for each kind or level, a line for each model, metric and split."""
    panels: dict[str, dict[tuple[int, str], _Curve]] = {}
    for i, entry in enumerate(results):
        for row in sorted(entry["rows"], key=lambda row: split_rank(row["split"])):
            if (row["protocol"], row["unit"]) == (protocol, "share") and row["n"] is not None and row["split"] != "val":
                curves = panels.setdefault(f"{protocol}, {row['kind'] or row['level'] or ''}".strip(", "), {})
                group = f"{row['metric']}, {row['split']}"
                curve = curves.setdefault((i, group), _Curve(entry, group, [], []))
                curves[i, group] = replace(curve, places=[*curve.places, row["n"]], rows=[*curve.rows, row])
    shown = {panel: list(curves.values()) for panel, curves in panels.items()}
    return _curves(results, shown, ylabel="%", xlabel="atoms n")


def by_count(results: Sequence[Results], protocol: str) -> list[str]:
    """A figure for each model: R@1 by one count, a line for each value of another, a panel for each skill and two
    counts.

    A panel names the slope β of its count for each split: the skill load, in points an atom (COMPASS, section E).
    """
    return [svg for entry in results for svg in _by_count(entry, protocol, entry["model"] if len(results) > 1 else "")]


def _by_count(entry: Results, protocol: str, title: str) -> list[str]:
    cells = [cell for cell in entry["cells"] if cell["protocol"] == protocol and cell["value"] is not None]
    cells = [cell for cell in cells if cell["split"] != "val"]
    panels: dict[str, list[_Curve]] = {}
    for skill, level in dict.fromkeys((cell["skill"], cell["level"]) for cell in cells):
        part = [cell for cell in cells if (cell["skill"], cell["level"]) == (skill, level)]
        counts = [name for name in COUNTS if len({cell[name] for cell in part}) > 1]
        pairs: list[tuple[str, str | None]] = [(x, by) for x in counts for by in counts if x != by]
        for x, by in pairs or [(x, None) for x in counts]:
            lines = f" (lines: {by.removeprefix('n_')})" if by else ""
            fits = [fit for fit in entry["fits"] if (fit["skill"], fit["level"]) == (skill, level)]
            panel = f"{skill}, {level}, by {x.removeprefix('n_')}{lines}{_slopes(fits, x)}"
            for value in sorted({cell[by] for cell in part}) if by else [""]:
                chosen = [cell for cell in part if not by or cell[by] == value]
                places = sorted({cell[x] for cell in chosen})
                means = [_mean([cell for cell in chosen if cell[x] == place]) for place in places]
                panels.setdefault(panel, []).append(_Curve(entry, str(value), places, means))
    return _curves([entry], panels, title, ylabel="R@1, %", xlabel="atoms")


def _slopes(fits: Sequence[Row], count: str) -> str:
    """The slopes of a count by split, with stars after correction; "" where no fit has one."""
    found = [
        f"{fit['split']} {slope['beta']:+.2f}{slope['stars_corrected']}"
        for fit in sorted(fits, key=lambda fit: split_rank(fit["split"]))
        if fit["split"] != "val" and (slope := fit["coefficients"].get(count))
    ]
    return f"\nβ: {', '.join(found)}" if found else ""


def _mean(cells: Sequence[Row]) -> Row:
    """The mean over the items of some cells, as a row."""
    right = sum(cell["value"] * cell["items"] for cell in cells)
    return {**_NOTHING, "value": right / sum(cell["items"] for cell in cells)}


def _curves(
    results: Sequence[Results], panels: Mapping[str, Sequence[_Curve]], title: str = "", **axes_options: Any
) -> list[str]:
    """One figure of percentages, none without panels: lines with intervals, ranges over blocks as ribbons, chance
    dashed. The name of a single model stands above, if a mark belongs to it.

    Colours tell models apart, dashes and markers the groups of each; of one model colours tell groups apart.
    """
    if not panels:
        return []
    groups = list(dict.fromkeys(curve.group for curves in panels.values() for curve in curves))
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        alone = results[0]["model"] if len(results) == 1 and marked("", results[0]) else ""
        figure.suptitle(title or alone)
        for axes, (panel, curves) in zip(grid, panels.items(), strict=True):
            step = min(0.06, 0.5 / len(curves))
            for i, curve in enumerate(curves):
                group = groups.index(curve.group)
                model = next(k for k, entry in enumerate(results) if entry is curve.entry)
                colour = _COLOURS[(model if len(results) > 1 else group) % len(_COLOURS)]
                style = {"marker": "o", "linestyle": "-"}
                if len(results) > 1:
                    style = {"marker": _MARKERS[group % len(_MARKERS)], "linestyle": _DASHES[group % len(_DASHES)]}
                label = ", ".join(part for part in (curve.entry["model"] * (len(results) > 1), curve.group) if part)
                _draw(axes, curve, step * (i - (len(curves) - 1) / 2), label=label or None, color=colour, **style)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set(title=panel, ylim=(-3, 103), **axes_options)
        return [_svg(figure, grid, True)]


def _draw(axes: Axes, curve: _Curve, aside: float, **style: Any) -> None:
    """Draw a curve a little aside of its places, so that intervals do not cover one another; chance at its places."""
    values, low, high, least, most, chance = (
        np.array([np.nan if row.get(name) is None else 100 * float(row[name]) for row in curve.rows])
        for name in ("value", "low", "high", "min_blocks", "max_blocks", "chance")
    )
    reach = [np.fmax(0.0, values - low), np.fmax(0.0, high - values)]
    places = [place + aside for place in curve.places]
    axes.errorbar(places, values, yerr=reach, capsize=4, **style)
    if np.isfinite(least).any():
        axes.fill_between(places, least, most, color=style["color"], alpha=0.12, linewidth=0)
    if np.isfinite(chance).any():
        axes.plot(curve.places, chance, color="#888", linestyle="--", linewidth=1, label="chance")


def by_frequency(title: str, atoms: Sequence[Mapping[str, Any]], splits: Sequence[str]) -> str:
    """How many captions of training and of each split name each of `atoms` (generator.dataset.counts), a panel for
    each split."""
    shown = [split for split in splits if any(split in atom["captions"] for atom in atoms)]
    with plt.rc_context(_STYLE):
        figure, grid = _panels(max(1, len(shown)))
        figure.suptitle(title)
        for axes, split in zip(grid, shown, strict=False):
            named = [atom["captions"] for atom in atoms if atom["captions"].get(split)]
            places = [each.get("train", 0) for each in named]
            axes.plot(places, [each[split] for each in named], "o", color=_COLOURS[0], alpha=0.6)
            axes.set(
                xscale="symlog", yscale="symlog", title=split, xlabel="captions of train", ylabel=f"captions of {split}"
            )
        return _svg(figure, grid, False)


def by_overlap(title: str, panels: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> str:
    """Shares of bindings of true and of false captions that a corpus shows, in percent: a panel for each set of
    samples, of which `panels` has the shares (evaluator.audits.familiarity.samples.shares)."""
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        figure.suptitle(title)
        for axes, (name, sides) in zip(grid, panels.items(), strict=True):
            shown = ("positive", "negative")
            below = np.zeros(len(shown))
            for label, colour in zip(("perfect", "close", "none"), ("#7fb8d1", "#e0a889", "#d9d9d9"), strict=True):
                values = np.array([100 * (sides[side][label] or 0) for side in shown])
                bars = axes.bar(shown, values, 0.6, below, color=colour, label=label)
                axes.bar_label(
                    bars, [f"{value:.1f}" if value >= 5 else "" for value in values], label_type="center", fontsize=8
                )
                below += values
            axes.set(title=name, ylabel="bindings, %", ylim=(0, 100))
        return _svg(figure, grid, True)


def _panels(n: int) -> tuple[Figure, list[Axes]]:
    """A figure with n panels, at most three side by side."""
    columns = min(n, 3)
    rows = -(-n // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.2 * rows), layout="constrained", squeeze=False)
    flat = list(grid.flat)
    for spare in flat[n:]:
        spare.set_axis_off()
    return figure, flat[:n]


def _svg(figure: Figure, grid: Sequence[Axes], legend: bool) -> str:
    """Finish a figure; returns its <svg> element."""
    for axes in grid:
        axes.spines[["top", "right"]].set_visible(False)
    labelled = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if legend and labelled:
        # beside the panels, which keep their size
        figure.legend(
            labelled.values(), labelled.keys(), loc="upper left", bbox_to_anchor=(1, 1), fontsize=8, frameon=False
        )
    for each in figure.findobj(Text):  # a name may hold characters that control a terminal, which warnings would print
        each.set_text(visible(each.get_text()))
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
