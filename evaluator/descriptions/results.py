"""The results of a run of descriptions: rows of measures beside their floors, and a sentence."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.descriptions.aggregation import (
    IMAGE_LABELS,
    MeasureRow,
    aggregate_measures,
    shares_of,
)
from evaluator.descriptions.floors import FLOORS, average_floor, draw_floor
from evaluator.descriptions.measures import (
    BINDING_GAP,
    RELATION_MEASURES,
    SHARES,
    ImageMeasures,
    Shares,
)
from evaluator.statistics.intervals import LEVEL
from generator.dataset.descriptions.truth import ImageTruth

GROUPINGS = (("split",), ("split", "objects"), ("split", "interference"), ("split", "load"))
"""By which labels rows are made, one grouping after another."""


def result_rows(
    measures: Sequence[ImageMeasures],
    truths: Sequence[ImageTruth],
    *,
    relations: bool = False,
    level: float = LEVEL,
) -> list[dict[str, Any]]:
    """Average every measure over the groups of GROUPINGS, with its floors.

    Args:
        measures: the counts of each image.
        truths: their records, in the same order.
        relations: whether relations were asked for. Without, their measures are left out.
        level: of the intervals, in 0..1.

    Returns:
        Rows as JSON data: those of `MeasureRow.to_dict`, with a label None where a row is not
        grouped by it, and the floors by name (None where they are not defined).
    """
    draws_of_floor = {floor: draw_floor(truths, floor, relations=relations) for floor in FLOORS}
    rows = rows_with_floors(measures, truths, draws_of_floor, level=level)
    if relations:
        return rows
    return [row for row in rows if row["measure"] not in RELATION_MEASURES]


def rows_with_floors(
    counts: Sequence[Any],
    truths: Sequence[ImageTruth],
    draws_of_floor: Mapping[str, Sequence[Sequence[Any]]],
    *,
    level: float = LEVEL,
    shares: Shares = SHARES,
) -> list[dict[str, Any]]:
    """Average every measure of some counts over the groups of GROUPINGS, with its floors.

    Args:
        counts: the counts of each image.
        truths: their records, in the same order.
        draws_of_floor: by floor, for each image the counts of the floor's answers.
        level: of the intervals, in 0..1.
        shares: the measures of these counts.

    Returns:
        As `result_rows`.
    """
    rows = []
    for by in GROUPINGS:
        floor_of: dict[tuple[Any, ...], float] = {}
        for floor, of_images in draws_of_floor.items():
            for floor_row in average_floor(floor, of_images, truths, by=by, shares=shares):
                key = (floor, floor_row.measure, *floor_row.labels.values())
                floor_of[key] = floor_row.value
        for row in aggregate_measures(counts, truths, by=by, level=level, shares=shares):
            rows.append(_row_with_floors(row, floor_of))
    return rows


def _row_with_floors(row: MeasureRow, floor_of: Mapping[tuple[Any, ...], float]) -> dict[str, Any]:
    floors = {}
    for floor in FLOORS:
        value = floor_of[floor, row.measure, *row.labels.values()]
        floors[floor] = None if math.isnan(value) else value
    return {**dict.fromkeys(IMAGE_LABELS), **row.to_dict(), **floors}


def main_sentence(
    measures: Sequence[ImageMeasures], truths: Sequence[ImageTruth], level: float = LEVEL
) -> str:
    """Say the main result in a sentence: recall of held-out against seen bindings in the same
    images, or how many objects are named if no image has both.

    Args:
        measures: the counts of each image.
        truths: their records, in the same order.
        level: of the interval, in 0..1.

    Returns:
        A sentence, or two.
    """
    both = [image for image in measures if image.held_out and image.seen]
    if not both:
        named = _mean("object recall", measures)
        right = _mean("values right", measures)
        exchanged = _mean("values exchanged", measures)
        return (
            f"In {_images(len(measures))}, the model names {named} of the objects. Of their "
            f"values, {right} are right and {exchanged} belong to another object."
        )
    every_row = aggregate_measures(measures, truths, by=(), level=level)
    (gap,) = (row for row in every_row if row.measure == BINDING_GAP)
    points = f"{100 * gap.estimate.value:+.1f} points"
    if math.isfinite(gap.estimate.low):
        points += (
            f", {100 * level:g}% interval {100 * gap.estimate.low:+.1f} to "
            f"{100 * gap.estimate.high:+.1f}"
        )
    return (
        f"In {_images(len(both))} with both, the model names "
        f"{_mean('recall of held-out bindings', both)} of the held-out bindings and "
        f"{_mean('recall of seen bindings', both)} of the seen ones ({points})."
    )


def rows_as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as a table.

    Args:
        rows: as `result_rows` returns them, at least one.

    Returns:
        CSV with a line of names; what is not known is empty.
    """
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _mean(measure: str, images: Sequence[ImageMeasures]) -> str:
    """The mean share over the images in which it is defined, in percent; "none" without any."""
    counts, counts_of = shares_of(measure, images)
    defined = counts_of > 0
    if not defined.any():
        return "none"
    return f"{(counts[defined] / counts_of[defined]).mean():.1%}"


def _images(n: int) -> str:
    return f"{n:,} image{'s' * (n != 1)}"
