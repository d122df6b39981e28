"""Figures of results, as SVG text to stand inside a page.

Each protocol names the functions of this module that draw it: `by_split`, `by_complexity`, `by_count`. They take the results
of one or more runs and the protocol, and return no figure where the results have no numbers for it.
"""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evaluator.protocols.items import COUNTS, SPLITS, split_rank
from evaluator.protocols.registry import find_protocol
from evaluator.protocols.results import Results, Row
from evaluator.report.cells import is_gap

_COLOURS = ("#0b6e99", "#c2571a", "#4d7c0f", "#7c3aed", "#be123c", "#525252")
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "jackalope",
    "text.parse_math": False,
}


def figures(results: Sequence[Results]) -> list[str]:
    """The figures of every protocol in the results of one or more runs, as <svg> elements."""
    protocols = dict.fromkeys(row["protocol"] for run in results for row in run["rows"])
    return [svg for name in protocols for draw in find_protocol(name).figures for svg in draw(results, name)]


def by_split(results: Sequence[Results], protocol: str) -> list[str]:
    """The main metric by split with its intervals and its chance level, a line for each run and group of items."""
    rows = [(run, row) for run in results for row in run["rows"] if row["protocol"] == protocol]
    splits = [split for split in SPLITS if any(row["split"] == split for _, row in rows)]
    if not splits:
        return []
    metric = rows[0][1]["metric"]
    lines: dict[str, dict[str, Row]] = {}
    for run, row in rows:
        if row["metric"] == metric and row["n"] is None and not is_gap(row):
            lines.setdefault(_label(run, row, results), {})[row["split"]] = row
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
        for i, (name, line) in enumerate(lines.items()):
            drawn = [line.get(split, {"value": None, "low": None, "high": None}) for split in splits]
            places = [x + 0.06 * (i - (len(lines) - 1) / 2) for x in range(len(splits))]
            _line(axes, places, drawn, name, _COLOURS[i % len(_COLOURS)])
        levels = sorted(
            {row["chance"] for line in lines.values() for row in line.values() if row["chance"] is not None}
        )
        for level in levels:
            axes.axhline(100 * level, color="#888", linestyle="--", linewidth=1)
        if levels:
            axes.annotate(
                "chance", (-0.28, 100 * levels[-1]), xytext=(0, 3), textcoords="offset points", color="#666", fontsize=9
            )
        axes.set(xticks=range(len(splits)), xticklabels=splits, ylabel=f"{metric}, %", ylim=(-3, 103), title=protocol)
        axes.set_xlim(-0.3, max(len(splits), 2) - 0.7)
        return [_svg(figure, [axes], len(lines) > 1)]


def by_complexity(results: Sequence[Results], protocol: str) -> list[str]:
    """Every share by the number of atoms n, chance dashed: a panel for each kind or level, a line for each run, metric and split."""
    rows = [
        (run, row) for run in results for row in run["rows"]
        if row["protocol"] == protocol and row["n"] is not None and row["unit"] == "share" and row["split"] != "val"
    ]  # fmt: skip
    rows.sort(key=lambda each: split_rank(each[1]["split"]))
    if not rows:
        return []
    panels = list(dict.fromkeys(row["kind"] or row["level"] or "" for _, row in rows))
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        for axes, panel in zip(grid, panels, strict=True):
            lines: dict[tuple[str, str], list[Row]] = {}
            for run, row in rows:
                if (row["kind"] or row["level"] or "") == panel:
                    model = f"{run['model']}, " if len(results) > 1 else ""
                    lines.setdefault((f"{model}{row['metric']}, {row['split']}", row["metric"]), []).append(row)
            by_chance = {(metric, row["n"]): row["chance"] for (_, metric), part in lines.items() for row in part}
            for i, ((name, _), part) in enumerate(lines.items()):
                _line(axes, [row["n"] for row in part], part, name, _COLOURS[i % len(_COLOURS)])
            for metric in dict.fromkeys(metric for metric, _ in by_chance):
                places = sorted(n for name, n in by_chance if name == metric)
                axes.plot(
                    places, [100 * by_chance[metric, n] for n in places], color="#888", linestyle="--", linewidth=1
                )
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set(title=f"{protocol}, {panel}".strip(", "), xlabel="atoms n", ylabel="%", ylim=(-3, 103))
        return [_svg(figure, grid, True)]


def by_count(results: Sequence[Results], protocol: str) -> list[str]:
    """A figure for each run: R@1 by one count, a line for each value of another, a panel for each skill and two counts."""
    drawn = []
    for run in results:
        cells = [cell for cell in run["cells"] if cell["protocol"] == protocol and cell["value"] is not None]
        if panels := _count_panels(cells):
            drawn.append(_by_count(panels, run["model"] if len(results) > 1 else None))
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


def _by_count(panels: Sequence[_CountPanel], title: str | None) -> str:
    with plt.rc_context(_STYLE):
        figure, grid = _panels(len(panels))
        if title:
            figure.suptitle(title)
        for axes, (skill, level, x, by, part) in zip(grid, panels, strict=True):
            for i, value in enumerate(sorted({cell[by] for cell in part}) if by else [None]):
                chosen = [cell for cell in part if by is None or cell[by] == value]
                places = sorted({cell[x] for cell in chosen})
                heights = [_mean([cell for cell in chosen if cell[x] == place]) for place in places]
                label = None if by is None else f"{by} = {value}"
                axes.plot(places, heights, marker="o", color=_COLOURS[i % len(_COLOURS)], label=label)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set(title=f"{skill}, {level}", xlabel=x, ylabel="R@1, %", ylim=(-3, 103))
        return _svg(figure, grid, True)


def _mean(cells: Sequence[Row]) -> float:
    """Percent right over the items of some cells."""
    return 100 * sum(cell["value"] * cell["items"] for cell in cells) / sum(cell["items"] for cell in cells)


def _label(run: Results, row: Row, results: Sequence[Results]) -> str:
    """What tells a line from the others: the model, where there are several runs, and the group of items."""
    labels = [str(row[name]) for name in ("kind", "skill", "level") if row[name]]
    return ", ".join([run["model"], *labels] if len(results) > 1 else labels) or "all"


def _line(axes: Axes, places: Sequence[float], rows: Sequence[Row], label: str, colour: str) -> None:
    """Draw percentages with their intervals."""
    values = [float("nan") if row["value"] is None else 100 * row["value"] for row in rows]
    bounds = [
        [v if row[side] is None else 100 * row[side] for v, row in zip(values, rows, strict=True)]
        for side in ("low", "high")
    ]
    reach = [
        [max(0.0, sign * (v - b)) for v, b in zip(values, side, strict=True)]
        for sign, side in zip((1, -1), bounds, strict=True)
    ]
    axes.errorbar(places, values, yerr=reach, marker="o", capsize=4, color=colour, label=label)


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
        if legend and axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize=8, frameon=False)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
