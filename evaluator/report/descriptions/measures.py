"""Tables, figures and sentences of the measures of descriptions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator.descriptions.floors import FLOORS
from evaluator.descriptions.measures import BINDING_GAP, GAPS, RELATION_GAP
from evaluator.metrics.formats import number
from evaluator.protocols.items import reported_splits
from evaluator.provenance.contamination import mark_of, marked
from evaluator.report.figure import Figure, draw_figure
from evaluator.report.table import Cell, Column, Line, Table, population
from evaluator.runs.answered_run import AnsweredRun
from evaluator.runs.described import DescribedRun
from generator.base.errors import visible

Row = Mapping[str, Any]
"""A row of descriptions.json (evaluator.descriptions.results.result_rows)."""
MAIN_MEASURES = (
    "object precision",
    "object recall",
    "exact count",
    "whole scene",
    "values right",
    "values exchanged",
    "values invented",
    "values unread",
    "recall of held-out bindings",
    "recall of seen bindings",
    BINDING_GAP,
    "relation precision",
    "relation recall",
    "relations reversed",
    "relation recall of held-out relations",
    "relation recall of seen relations",
    RELATION_GAP,
)
"""The measures that are shown first."""
_GROUPS = {
    "objects": ("By number of objects", "number of objects"),
    "interference": ("By interference", "features that several objects share"),
    "load": ("By load", "atoms of a full description"),
}
"""{label of rows: (title of its section, title of its axis)}."""
_MEASURES_OF_FIGURES = ("values right", "values exchanged", "values invented")
"""The measures that are drawn by each group of images."""
_BINDS, _DOES_NOT, _UNDECIDED = "binds", "does not bind", "is undecided"
FLOORS_NOTE = (
    "blind describes another image of the same split. unbound knows the image's own objects and "
    "values, and deals the values to the objects at random: a model at or below it does not bind."
)
"""What the floors are."""
MEANS_NOTE = (
    "Mean over images, in percent; a difference is in points. Values are those of the objects that "
    "the model names. Exchanged: another object of the image has the value. Invented: none has it."
)
"""What the numbers are."""


def intervals_note(rows: Iterable[Row]) -> str:
    """Say what the intervals of rows speak of.

    Args:
        rows: Rows of results by split.

    Returns:
        A sentence.
    """
    covered = population(row for row in rows if row["measure"] not in GAPS)
    return f"The intervals cover {covered} (docs/statistics.md)."


def rows_by_split(run: AnsweredRun) -> list[Row]:
    """Return the rows that are grouped by the split alone.

    Args:
        run: The run.

    Returns:
        The rows of measures that are defined in an image, in their order.
    """
    rows = []
    for row in run.record["rows"]:
        is_by_split = row["objects"] is row["interference"] is row["load"] is None
        if is_by_split and row["images"]:
            rows.append(row)
    return rows


def title_of(run: AnsweredRun) -> str:
    """Return the name of a run's model with its marks, such as CONTAMINATED.

    Args:
        run: The run.

    Returns:
        The name, with control characters escaped.
    """
    return marked(visible(run.name), run.record)


def unit_of(measure: str) -> str:
    """Return the unit of a measure.

    Args:
        measure: A name of SHARES or of GAPS.

    Returns:
        "difference" for a paired difference, else "share" (evaluator.report.table.number).
    """
    return "difference" if measure in GAPS else "share"


def cell_of(row: Row | None, name: str = "value") -> Cell:
    """Make a cell of a row.

    Args:
        row: The row; None for a dash.
        name: `value`, or the name of a floor.

    Returns:
        The number, with the interval of a value.
    """
    if row is None or row[name] is None:
        return Cell("–")
    unit = unit_of(row["measure"])
    text = number(row[name], unit)
    if name != "value":
        return Cell(text, numbers={"value": row[name]})
    interval = ""
    if row["low"] is not None:
        interval = f"[{number(row['low'], unit)}, {number(row['high'], unit)}]"
    return Cell(text, interval, numbers=row)


def measures_table(
    runs: Sequence[AnsweredRun], what: str = "Descriptions", means_note: str = MEANS_NOTE
) -> Table:
    """Make the table of all measures by split: each model, then the floors.

    Args:
        runs: Runs of one world, of descriptions or of attributes.
        what: What the runs are, for the title.
        means_note: What the numbers are.

    Returns:
        The table, for Markdown and LaTeX.
    """
    row_of: dict[tuple[int, str, str], Row] = {}
    splits: dict[str, None] = {}
    for i, run in enumerate(runs):
        for row in rows_by_split(run):
            row_of[i, row["split"], row["measure"]] = row
            splits[row["split"]] = None
    columns = []
    for split in splits:
        columns += [Column(title_of(run), split) for run in runs]
        columns += [Column(floor, split) for floor in FLOORS]
    lines = []
    measures = dict.fromkeys(measure for _, _, measure in row_of)
    for measure in measures:
        cells: list[Cell] = []
        for split in splits:
            rows = [row_of.get((i, split, measure)) for i in range(len(runs))]
            cells += [cell_of(row) for row in rows]
            # Floors are of the images, so the row of any model has them.
            any_row = next(filter(None, rows), None)
            cells += [cell_of(any_row, floor) for floor in FLOORS]
        if any(cell.numbers for cell in cells):
            lines.append(Line((measure,), cells))
    level = f"{100 * runs[0].record['level']:.4g}%"
    brackets = f"Brackets: {level} intervals. {intervals_note(row_of.values())}"
    notes = (f"{means_note} {brackets}", FLOORS_NOTE)
    benchmark = visible(runs[0].record["benchmark_name"])
    # Runs with the same mark, such as two of one model, say it once.
    marks = dict.fromkeys(mark_of(run.record) for run in runs)
    mark = " ".join(filter(None, marks))
    return Table(
        ("measure",), columns, lines, title=f"{what} of {benchmark}", notes=notes, mark=mark
    )


def describe_binding(run: DescribedRun) -> str:
    """Say whether a model binds values to objects better than the floor that deals them at random.

    Args:
        run: The run.

    Returns:
        A sentence on each split, with the shares of right values, their intervals and their floors.
    """
    parts = []
    splits_of: dict[str, list[str]] = {}
    for row in rows_by_split(run):
        floor = row["unbound"]
        if row["measure"] != "values right" or floor is None:
            continue
        splits_of.setdefault(_verdict_of(row, floor), []).append(row["split"])
        cell = cell_of(row)
        value = f"{cell.text}% {cell.interval}".strip()
        parts.append(f"{value} on {row['split']} against {100 * floor:.1f}%")
    if not parts:
        return ""
    claims = []
    for verdict, splits in splits_of.items():
        everywhere = len(splits_of) == 1
        where = "" if everywhere else f" on {' and '.join(splits)}"
        claims.append(_CLAIMS[verdict].format(where=where))
    claim = "; ".join(claims)
    return (
        f"{claim[0].upper()}{claim[1:]}: of the values of the objects that it names, it has right "
        f"{', '.join(parts)} when the image's own values are dealt at random."
    )


_CLAIMS = {
    _BINDS: "it binds{where}",
    _DOES_NOT: "it does not bind{where}",
    _UNDECIDED: "whether it binds{where} is undecided",
}
"""{verdict on some splits: the claim}."""


def _verdict_of(row: Row, floor: float) -> str:
    """Whether right values are above the floor that does not bind."""
    # At the floor or below nothing is bound, whatever the interval: values dealt at random do as
    # well.
    if row["value"] <= floor:
        return _DOES_NOT
    is_above = row["low"] is not None and row["low"] > floor
    return _BINDS if is_above else _UNDECIDED


def describe_errors(run: DescribedRun) -> str:
    """Say which kind of error prevails: exchanged or invented values.

    Args:
        run: The run.

    Returns:
        A sentence with the shares on each split; "" if no value is wrong.
    """
    shares: dict[str, dict[str, float]] = {}
    for row in rows_by_split(run):
        if row["measure"] in ("values exchanged", "values invented"):
            shares.setdefault(row["split"], {})[row["measure"]] = row["value"]
    parts = []
    for split, of_split in shares.items():
        exchanged = 100 * of_split.get("values exchanged", 0)
        invented = 100 * of_split.get("values invented", 0)
        parts.append(f"{exchanged:.1f}% and {invented:.1f}% on {split}")
    if not any(value for of_split in shares.values() for value in of_split.values()):
        return ""
    return f"Exchanged and invented values: {', '.join(parts)}."


def describe_answers(answers: Mapping[str, int]) -> list[str]:
    """Say how many images were described, and how much of the answers was not read.

    Args:
        answers: The counts of descriptions.json.

    Returns:
        A sentence for each count that is not 0.
    """
    lines = [f"{answers['answered']:,} of {answers['images']:,} images have an answer."]
    if answers["unread_parts"]:
        lines.append(
            f"Unread: {answers['unread']:,} whole answers, and parts of "
            f"{answers['partly_unread']:,} more; they count as nothing described."
        )
    if answers["cut_off"]:
        lines.append(f"Cut off: {answers['cut_off']:,} answers; take a larger --max-tokens.")
    if answers["refused"]:
        lines.append(f"Refused: {answers['refused']:,} answers.")
    return lines


def describe_reader(record: Mapping[str, Any]) -> str:
    """Say how well another model reads the descriptions that the grammar reads too.

    Args:
        record: The contents of descriptions.json.

    Returns:
        A sentence; "" for a run that the grammar reads.
    """
    reader = record.get("reader")
    if reader is None:
        return ""
    opening = f"Read by {visible(reader['model'])}"
    if not reader["rows"]:
        return f"{opening}. The grammar reads none of the descriptions whole: its error is unknown."
    parts = []
    for row in reader["rows"]:
        interval = ""
        if row["low"] is not None:
            interval = f" [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        parts.append(f"{row['measure']} {100 * row['value']:.1f}%{interval}")
    return (
        f"{opening}. Its own error, on the {reader['compared']:,} of {reader['answers']:,} "
        f"descriptions that the grammar reads whole: {', '.join(parts)}."
    )


def measure_figures(runs: Sequence[DescribedRun]) -> list[Figure]:
    """Draw the measures of runs, each beside its floors.

    Args:
        runs: Runs of one world.

    Returns:
        The figure of the main measures by split; that of held-out against seen bindings in the same
        images, if there are any; and figures by number of objects, interference and load.
    """
    measures = [*_MEASURES_OF_FIGURES, *_relations_drawn(runs)]
    # A model that names no object of an image has no values, and so no panels to draw.
    figures = draw_figure(
        "measures",
        title="By split",
        about="Values of the named objects by split, in percent, with intervals. Dashed: the "
        "floors.",
        kind="splits",
        panels=_panels_by_split(runs, measures),
    )
    bindings = _panel_of_bindings(runs)
    figures += draw_figure(
        "bindings",
        title="Held-out against seen bindings in the same images",
        about="Recall of held-out and of seen bindings in the images that have both, in "
        "percent. Dashed: the floors.",
        kind="splits",
        panels={"the same images": bindings} if bindings else {},
    )
    for label, (title, axis) in _GROUPS.items():
        for measure in measures:
            panels = _panels_by_group(runs, label, measure)
            figures += draw_figure(
                f"{label}-{measure.replace(' ', '-')}",
                title=f"{title}: {measure}",
                about=f"{measure[0].upper()}{measure[1:]} by {axis}, in percent, with "
                f"intervals. Dashed: the floors.",
                kind="splits",
                panels=panels,
                encoding=_axis(axis, panels),
            )
    return figures


def _relations_drawn(runs: Sequence[DescribedRun]) -> list[str]:
    """The measure of relations that is drawn, if any run was asked for relations."""
    has_relations = any(run.relations for run in runs)
    return ["relation precision"] if has_relations else []


def _axis(title: str, panels: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The encoding of an axis of numbers, in their order."""
    places = sorted({record["x"] for records in panels.values() for record in records})
    return {
        "x": {
            "field": "x",
            "type": "ordinal",
            "title": title,
            "axis": {"labelAngle": 0},
            "sort": places,
        }
    }


def _panels_by_split(
    runs: Sequence[DescribedRun], measures: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    panels: dict[str, list[dict[str, Any]]] = {}
    for measure in measures:
        for run in runs:
            for row in _rows_of_measure(run, measure):
                record = _record(row, title_of(run), row["split"])
                panels.setdefault(measure, []).append(record)
        # Floors do not depend on the model: those of the first run that has the measure are drawn.
        of_measure = [_rows_of_measure(run, measure) for run in runs]
        first_rows = next(filter(None, of_measure), [])
        for floor in FLOORS:
            for row in first_rows:
                if row[floor] is not None:
                    panels[measure].append(_floor_record(row, floor, row["split"]))
    return panels


def _rows_of_measure(run: DescribedRun, measure: str) -> list[Row]:
    return [row for row in rows_by_split(run) if row["measure"] == measure]


def _panel_of_bindings(runs: Sequence[DescribedRun]) -> list[dict[str, Any]]:
    """Recall of held-out and of seen bindings on the splits whose images have both."""
    records = []
    for run in runs:
        for row in _recall_of_bindings(run):
            records.append(_record(row, title_of(run), _SORTS_OF_BINDINGS[row["measure"]]))
    # Floors do not depend on the model.
    for floor in FLOORS:
        for row in _recall_of_bindings(runs[0]):
            if row[floor] is not None:
                records.append(_floor_record(row, floor, _SORTS_OF_BINDINGS[row["measure"]]))
    return records


_SORTS_OF_BINDINGS = {"recall of held-out bindings": "held-out", "recall of seen bindings": "seen"}
"""{measure: its place on the axis}."""


def _recall_of_bindings(run: DescribedRun) -> list[Row]:
    """The rows of _SORTS_OF_BINDINGS on the splits with images that have both sorts."""
    rows = rows_by_split(run)
    splits_with_both = {row["split"] for row in rows if row["measure"] == BINDING_GAP}
    recall = []
    for row in rows:
        if row["measure"] in _SORTS_OF_BINDINGS and row["split"] in splits_with_both:
            recall.append(row)
    return recall


def _panels_by_group(
    runs: Sequence[DescribedRun], label: str, measure: str
) -> dict[str, list[dict[str, Any]]]:
    """A panel for each split, by a label of images; none if all images have one value of it."""
    panels: dict[str, list[dict[str, Any]]] = {}
    has_floors: set[tuple[str, Any]] = set()
    for run in runs:
        for row in run.record["rows"]:
            is_drawn = row["measure"] == measure and row[label] is not None and row["images"]
            if not is_drawn or row["split"] not in reported_splits([row["split"]]):
                continue
            records = panels.setdefault(row["split"], [])
            records.append(_record(row, title_of(run), row[label]))
            # Floors are of the images: several runs have the same, which are drawn once.
            place = (row["split"], row[label])
            if place in has_floors:
                continue
            has_floors.add(place)
            for floor in FLOORS:
                if row[floor] is not None:
                    records.append(_floor_record(row, floor, row[label]))
    places = {record["x"] for records in panels.values() for record in records}
    return panels if len(places) > 1 else {}


def _record(row: Row, series: str, place: Any) -> dict[str, Any]:
    """A mark of a chart (charts/splits.json), in percent."""
    cell = cell_of(row)
    record = {
        "x": place,
        "series": series,
        "group": "model",
        "said": f"{cell.text} {cell.interval}".strip(),
        "items": row["images"],
        "speaks": row["population"],
        "chance": None,
        "least": None,
        "most": None,
    }
    for name in ("value", "low", "high"):
        record[name] = None if row[name] is None else round(100 * row[name], 4)
    return record


def _floor_record(row: Row, floor: str, place: Any) -> dict[str, Any]:
    """A floor as a mark of a chart, without interval."""
    numbers = {"value": row[floor], "low": None, "high": None}
    record = _record({**row, **numbers}, floor, place)
    return {**record, "group": "floor", "speaks": None}
