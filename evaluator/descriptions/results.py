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
    GAPS,
    RELATION_GAP,
    RELATION_MEASURES,
    SHARES,
    ImageMeasures,
    Shares,
)
from evaluator.statistics.intervals import LEVEL, claim_of
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
    # A measure of relations would be 0 everywhere, for a question that was not asked.
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
        # Floors are averaged over the same groups, because images with more objects are easier to
        # guess in part.
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
    images, or of relations if these are held out, or how many objects are named if no image has
    both.

    Args:
        measures: the counts of each image.
        truths: their records, in the same order.
        level: of the interval, in 0..1.

    Returns:
        A sentence, or two.
    """
    # The paired difference first: in it the difficulty of the image cancels.
    if any(image.held_out and image.seen for image in measures):
        return _recall_sentence(BINDING_GAP, "bindings", measures, truths, level=level)
    has_both = any(image.relations_held_out and image.relations_seen for image in measures)
    names_relations = any(image.relations_decided for image in measures)
    if has_both and names_relations:
        return _recall_sentence(RELATION_GAP, "relations", measures, truths, level=level)
    named = _mean("object recall", measures)
    right = _mean("values right", measures)
    exchanged = _mean("values exchanged", measures)
    return (
        f"In {_images(len(measures))}, the model names {named} of the objects. Of their values, "
        f"{right} are right and {exchanged} belong to another object."
    )


def _recall_sentence(
    gap: str,
    noun: str,
    measures: Sequence[ImageMeasures],
    truths: Sequence[ImageTruth],
    *,
    level: float,
) -> str:
    """The recall of held-out against seen facts in the images that have both."""
    of_held_out, of_seen = GAPS[gap]
    counts = [shares_of(name, measures)[1] for name in (of_held_out, of_seen)]
    both = [
        image
        for image, n_held_out, n_seen in zip(measures, *counts, strict=True)
        if n_held_out and n_seen
    ]
    every_row = aggregate_measures(measures, truths, by=(), level=level)
    (row,) = (row for row in every_row if row.measure == gap)
    points = f"{100 * row.estimate.value:+.1f} points"
    # Too few groups of images give no interval.
    if math.isfinite(row.estimate.low):
        points += (
            f", {100 * level:g}% interval {100 * row.estimate.low:+.1f} to "
            f"{100 * row.estimate.high:+.1f} about {claim_of(row.estimate.population)}"
        )
    return (
        f"In {_images(len(both))} with both, the model names {_mean(of_held_out, both)} of the "
        f"held-out {noun} and {_mean(of_seen, both)} of the seen ones ({points})."
    )


def rows_as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as a table.

    Args:
        rows: as `result_rows` returns them, at least one.

    Returns:
        CSV with a line of names; what is not known is empty.
    """
    file = io.StringIO()
    # The csv module ends lines by CR LF unless told otherwise.
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
