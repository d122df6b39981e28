"""`Figure`: panels of one kind, as a specification, as files, and as a chart in notebooks.

`figures.py` has the figures of results and `audit_figures.py` those of audits. To add one, write a
function there that selects the records of each panel, one for each mark, and gives them to
`draw_figure`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.metrics.formats import number
from evaluator.protocols.items import reported_splits
from evaluator.protocols.records import Results
from evaluator.report.chart import (
    SCHEMA,
    SIDE_BY_SIDE,
    Spec,
    axis_end,
    escape_controls,
    fill_values,
    legend_columns,
    read_chart,
    zoom_axes,
)
from evaluator.report.table import interval
from evaluator.runs.folder import folder_name
from generator.base.files import write_bytes

if TYPE_CHECKING:
    import altair

Row = Any
"""A row of results, a fit, or a cell."""
Panels = Mapping[str, list[dict[str, Any]]]
"""{title of a panel: its records}. A record is one mark of the chart; shares are in percent."""
COLUMN, TEXT = 238, 500
"""Widths of a paper's column and of its full text, in points."""
_AXIS_WIDTH = 45
"""What the axis of a panel and the space beside it take of the panel's width, in points."""


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
        columns = min(SIDE_BY_SIDE, len(self.panels))
        # In the widths of a paper, so that a figure is printed at its own size and its letters at
        # theirs.
        total_width = COLUMN if columns == 1 else TEXT
        all_records = [record for records in self.panels.values() for record in records]

        # All panels share the order of their values and series, so that colours mean the same.
        template = fill_values(read_chart(self.kind), all_records)
        shared = {
            **template,
            "width": total_width / columns - _AXIS_WIDTH,
            "encoding": {**template.get("encoding", {}), **self.encoding},
        }
        panels = []
        for title, records in self.panels.items():
            panel = {"title": {"text": title.split("\n")}, "data": {"values": records}}
            panels.append({**panel, **zoom_axes(shared, axis_end(records))})

        config = read_chart("config")
        legend = {**config["legend"], "columns": legend_columns(all_records, total_width)}
        whole = {
            "config": {**config, "legend": legend},
            "columns": columns,
            "spacing": 14,
            "concat": panels,
        }
        return {"$schema": SCHEMA, **escape_controls(whole)}

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


def draw_figure(
    name: str, *, title: str, about: str, kind: str, panels: Panels, encoding: Spec | None = None
) -> list[Figure]:
    """Make a figure, if it has panels.

    Args:
        name: Its name in files and links.
        title: Its title.
        about: Its caption.
        kind: The template of its panels.
        panels: The records of each panel.
        encoding: Parts of the template's encoding that it replaces; None for none.

    Returns:
        A list with the figure; [] without panels.
    """
    if not panels:
        return []
    return [Figure(name, title, about, kind, panels, encoding or {})]


def chart_record(row: Row, series: str, *, x: Any, group: str = "") -> Spec:
    """Make the record of one mark of a chart.

    Args:
        row: A row of results, a fit, or a cell.
        series: What the mark is coloured by, such as the model.
        x: Where it is on the x axis, such as the split.
        group: What tells marks of a series apart; "" for nothing.

    Returns:
        Numbers in percent, None if missing; and the value as text, as in tables.
    """
    pooled_over = "blocks" if row.get("min_blocks") is not None else "runs"
    column_of = {
        "value": "value",
        "low": "low",
        "high": "high",
        "chance": "chance",
        "least": f"min_{pooled_over}",
        "most": f"max_{pooled_over}",
    }
    # Cells have no interval, and not even its columns.
    ends = interval({"low": None, **row})
    record = {
        "x": x,
        "series": series,
        "group": group,
        "said": f"{number(row['value'], row['unit'])} {ends}".strip(),
        "items": row["items"],
        "speaks": row.get("population"),
    }
    for name, column in column_of.items():
        value = row.get(column)
        record[name] = None if value is None else round(100 * value, 4)
    return record


def is_reported(row: Row) -> bool:
    """Check whether results report the split of a row.

    Args:
        row: A row or a cell.

    Returns:
        False for validation splits; True for all others and without a split.
    """
    return row["split"] is None or row["split"] in reported_splits([row["split"]])


def label_of_benchmarks(entries: Iterable[Results]) -> list[str]:
    """Choose whether panels name the benchmark.

    Args:
        entries: Pooled results.

    Returns:
        ["benchmark"] if a model answered several benchmarks, else [].
    """
    answered = {(entry["model"], entry["benchmark"]) for entry in entries}
    models = {model for model, _ in answered}
    return ["benchmark"] if len(answered) > len(models) else []
