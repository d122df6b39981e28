"""Figures of results, as SVG text to stand inside a page.

`by_split`, `by_complexity` and `by_count` take pooled results (evaluator.analysis.pooling), an entry for each model,
and a protocol. They return no figure where the results have no numbers for it.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from evaluator.protocols.items import COUNTS, SPLITS, split_rank
from evaluator.protocols.records import Results
from evaluator.report.overview import Line, main_lines, varying

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


def by_split(results: Sequence[Results], protocol: str) -> list[str]:
    """The main metric by split with its intervals, the range over blocks as a ribbon, and its chance level.

    Of one model, a line for each group of items. Of several, a panel for each group and a line for each model.
    """
    lines = [line for line in main_lines(results) if line.first["protocol"] == protocol]
    splits = [split for split in SPLITS if any(split in line.rows for line in lines)]
    if not splits:
        return []
    metrics = list(dict.fromkeys(line.first["metric"] for line in lines))
    name = metrics[0] if len(metrics) == 1 else "R@1" if all("R@1" in each for each in metrics) else "share"
    labels = varying((line.first for line in lines), ("kind", "skill", "level"))
    groups: dict[str, list[Line]] = {}
    for line in lines:
        parts = [line.first["metric"]] if len(metrics) > 1 else []
        parts += [str(line.first[each]) for each in labels if line.first[each]]
        groups.setdefault(", ".join(parts) or "all", []).append(line)
    panels = [*groups] if len(results) > 1 else [""]
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        for axes, panel in zip(grid, panels, strict=True):
            drawn = [(group, line) for group, part in groups.items() for line in part if panel in ("", group)]
            step = min(0.06, 0.5 / len(drawn))
            for i, (group, line) in enumerate(drawn):
                places = [x + step * (i - (len(drawn) - 1) / 2) for x in range(len(splits))]
                rows = [line.rows.get(split, _NOTHING) for split in splits]
                label = line.entry["model"] if panel else group
                _line(axes, places, rows, label, _style(results, line.entry, [*groups].index(group) * (not panel)))
            own = [row for _, line in drawn for split, row in line.rows.items() if split in splits]
            _chance(axes, [row["chance"] for row in own if row["chance"] is not None])
            title = protocol if panel in ("", "all") else f"{protocol}, {panel}"
            axes.set(xticks=range(len(splits)), xticklabels=splits, ylabel=f"{name}, %", ylim=(-3, 103), title=title)
            axes.set_xlim(-0.3, max(len(splits), 2) - 0.7)
        return [_svg(figure, grid, len(lines) > 1)]


def _chance(axes: Axes, levels: Sequence[float]) -> None:
    """Dash the levels of chance, the highest named at the right."""
    for level in set(levels):
        axes.axhline(100 * level, color="#888", linestyle="--", linewidth=1)
    if levels:
        place = (1, 100 * max(levels))
        axes.annotate(
            "chance", place, (3, 0), ("axes fraction", "data"), "offset points", color="#666", fontsize=9, va="center"
        )


def by_complexity(results: Sequence[Results], protocol: str) -> list[str]:
    """Every share by the number of atoms n, chance dashed: a panel for each kind or level, a line for each model,
    metric and split."""
    rows = [
        (run, row)
        for run in results
        for row in run["rows"]
        if row["protocol"] == protocol and row["n"] is not None and row["unit"] == "share" and row["split"] != "val"
    ]
    rows.sort(key=lambda each: split_rank(each[1]["split"]))
    if not rows:
        return []
    panels = list(dict.fromkeys(row["kind"] or row["level"] or "" for _, row in rows))
    kinds = list(dict.fromkeys((row["metric"], row["split"]) for _, row in rows))
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        for axes, panel in zip(grid, panels, strict=True):
            lines: dict[tuple[int, str, str], list[Row]] = {}
            for run, row in rows:
                if (row["kind"] or row["level"] or "") == panel:
                    entry = next(i for i, each in enumerate(results) if each is run)
                    lines.setdefault((entry, row["metric"], row["split"]), []).append(row)
            by_chance = {(metric, row["n"]): row["chance"] for (_, metric, _), part in lines.items() for row in part}
            for (entry, metric, split), part in lines.items():
                model = f"{results[entry]['model']}, " if len(results) > 1 else ""
                style = _style(results, results[entry], kinds.index((metric, split)))
                _line(axes, [row["n"] for row in part], part, f"{model}{metric}, {split}", style)
            for metric in dict.fromkeys(metric for metric, _ in by_chance):
                places = sorted(n for name, n in by_chance if name == metric)
                axes.plot(
                    places, [100 * by_chance[metric, n] for n in places], color="#888", linestyle="--", linewidth=1
                )
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set(title=f"{protocol}, {panel}".strip(", "), xlabel="atoms n", ylabel="%", ylim=(-3, 103))
        return [_svg(figure, grid, True)]


def by_count(results: Sequence[Results], protocol: str) -> list[str]:
    """A figure for each model: R@1 by one count, a line for each value of another, a panel for each skill and two
    counts.

    A panel names the slope β of its count for each split: the skill load, in points an atom (COMPASS, section E).
    """
    drawn = []
    for run in results:
        cells = [cell for cell in run["cells"] if cell["protocol"] == protocol and cell["value"] is not None]
        if panels := _count_panels(cells):
            fits = [fit for fit in run["fits"] if fit["split"] != "val"]
            drawn.append(_by_count(panels, fits, run["model"] if len(results) > 1 else None))
    return drawn


_CountPanel = tuple[str, str, str, str | None, list[Row]]
"""Skill, level, the count along the axis, the count that tells lines apart, cells."""


def _count_panels(cells: Sequence[Row]) -> list[_CountPanel]:
    panels: list[_CountPanel] = []
    for skill, level in dict.fromkeys((cell["skill"], cell["level"]) for cell in cells):
        part = [cell for cell in cells if (cell["skill"], cell["level"]) == (skill, level) and cell["split"] != "val"]
        counts = [name for name in COUNTS if len({cell[name] for cell in part}) > 1]
        pairs: list[tuple[str, str | None]] = [(x, by) for x in counts for by in counts if x != by]
        panels += [(skill, level, x, by, part) for x, by in pairs or [(x, None) for x in counts]]
    return panels


def _slopes(fits: Sequence[Row], skill: str, level: str, count: str) -> str:
    """The slopes of a count by split, with stars after correction; "" where no fit has one."""
    found = [
        f"{fit['split']} {slope['beta']:+.2f}{slope['stars_corrected']}"
        for fit in sorted(fits, key=lambda fit: split_rank(fit["split"]))
        if (fit["skill"], fit["level"]) == (skill, level) and (slope := fit["coefficients"].get(count))
    ]
    return f"β: {', '.join(found)}" if found else ""


def _by_count(panels: Sequence[_CountPanel], fits: Sequence[Row], title: str | None) -> str:
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        if title:
            figure.suptitle(title)
        for axes, (skill, level, x, by, part) in zip(grid, panels, strict=True):
            for value in sorted({cell[by] for cell in part}) if by else [None]:
                chosen = [cell for cell in part if by is None or cell[by] == value]
                places = sorted({cell[x] for cell in chosen})
                heights = [_mean([cell for cell in chosen if cell[x] == place]) for place in places]
                label = None if by is None else f"{value}"
                colour = matplotlib.colormaps["tab10"]((value or 0) % 10)
                axes.plot(places, heights, marker="o", color=colour, label=label)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            lines = "" if by is None else f" (lines: {_named(by)})"
            axes.set(title=f"{skill}, {level}{lines}", xlabel=_named(x), ylabel="R@1, %", ylim=(-3, 103))
            axes.annotate(
                _slopes(fits, skill, level, x), (0.98, 0.96), xycoords="axes fraction", fontsize=8, ha="right", va="top"
            )
        return _svg(figure, grid, True)


def _named(count: str) -> str:
    return count.removeprefix("n_")


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
            for axis, most in ((axes.xaxis, max(places, default=0)), (axes.yaxis, max(each[split] for each in named))):
                axis.set_ticks([0, *(tick for power in range(7) for n in (1, 3) if (tick := n * 10**power) <= most)])
                axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
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


def _mean(cells: Sequence[Row]) -> float:
    """Percent right over the items of some cells."""
    return 100 * sum(cell["value"] * cell["items"] for cell in cells) / sum(cell["items"] for cell in cells)


def _style(results: Sequence[Results], entry: Results, group: int) -> dict[str, Any]:
    """How a line is drawn: the colour tells models apart, dashes and marker its groups; of one model the colour tells
    groups apart."""
    if len(results) == 1:
        return {"color": _COLOURS[group % len(_COLOURS)], "marker": "o"}
    model = next(i for i, each in enumerate(results) if each is entry)
    return {
        "color": _COLOURS[model % len(_COLOURS)],
        "marker": _MARKERS[group % len(_MARKERS)],
        "linestyle": _DASHES[group % len(_DASHES)],
    }


def _line(axes: Axes, places: Sequence[float], rows: Sequence[Row], label: str, style: dict[str, Any]) -> None:
    """Draw percentages with their intervals, and the range over blocks, where there are several, as a ribbon."""
    values = [_percent(row, "value") for row in rows]
    reach = [
        [np.fmax(0.0, sign * (value - _percent(row, end))) for value, row in zip(values, rows, strict=True)]
        for sign, end in ((1, "low"), (-1, "high"))
    ]
    axes.errorbar(places, values, yerr=reach, capsize=4, label=label, **style)
    least, most = ([_percent(row, f"{end}_blocks") for row in rows] for end in ("min", "max"))
    if np.isfinite(least).any():
        axes.fill_between(places, least, most, color=style["color"], alpha=0.12, linewidth=0)


def _percent(row: Row, name: str) -> float:
    return float("nan") if row.get(name) is None else 100 * float(row[name])


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
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
