"""Ladders (`gen ladder`): accuracy at each step of one factor, and the magnitude at which it falls
to half between 100% and chance."""

from collections.abc import Mapping

import numpy as np

from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Outcome, merge_samples, recall
from evaluator.protocols.records import Row
from evaluator.protocols.results import (
    OVER_ITEMS,
    Mean,
    Protocol,
    ProtocolResults,
    result_row,
    tabulate,
)
from evaluator.protocols.scores import Scores
from evaluator.statistics.half_point import HalfPoint, half_point
from evaluator.statistics.intervals import Estimate

HALF_POINT = "half point"
"""The metric whose value is a magnitude of the factor."""
_HALVED = ("size", "contrast")
"""Factors whose magnitude is halved from step to step, and is largest at the easiest step."""
_SPEAKS_OF = "scenes like these, this model"


class Steps(Protocol):
    """Accuracy by step, chance 1/2, and the half point of each factor (docs/ladders.md).

    A kind is a factor and its magnitude, such as `contrast 0.25`.
    """

    name = "steps"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        accuracy = recall(items, items.false, "accuracy")
        rows = tabulate(items, [accuracy], ["kind"])
        rows.sort(key=lambda row: difficulty(row["kind"]))
        merged, (of_majority, *_) = merge_samples(items, [accuracy])
        rows += half_point_rows(merged, of_majority, scores.twins)
        return ProtocolResults(items, [accuracy], rows)


def read_step(kind: str) -> tuple[str, float]:
    """Read the factor and the magnitude of a kind of items.

    Args:
        kind: The kind.

    Returns:
        The factor and the magnitude.

    Example:
        >>> read_step("caption-length 4")
        ('caption-length', 4.0)
    """
    factor, _, magnitude = kind.partition(" ")
    return factor, float(magnitude)


def difficulty(kind: str | None) -> tuple[str, float]:
    """Return a key that sorts the kinds of a factor from easy to hard.

    Args:
        kind: The kind of items.

    Returns:
        The factor, and the place on its scale.

    Example:
        >>> sorted(["contrast 0.5", "contrast 1", "contrast 0.25"], key=difficulty)
        ['contrast 1', 'contrast 0.5', 'contrast 0.25']
    """
    factor, magnitude = read_step(str(kind))
    return factor, place_of(factor, magnitude)


def place_of(factor: str, magnitude: float) -> float:
    """Return the place of a magnitude on the scale of its factor, which increases with difficulty.

    Args:
        factor: What the ladder grades.
        magnitude: Of the factor; above 0 for factors that are halved.

    Returns:
        The number of halvings, or the magnitude itself.
    """
    if factor in _HALVED:
        return -float(np.log2(magnitude))
    return magnitude


def magnitude_at(factor: str, place: float) -> float:
    """Return the magnitude at a place on the scale of its factor, the inverse of `place_of`.

    Args:
        factor: What the ladder grades.
        place: The place.
    """
    if factor in _HALVED:
        return float(0.5**place)
    return place


def half_point_rows(items: Items, accuracy: Outcome, twins: Mapping[str, str]) -> list[Row]:
    """Estimate the half point of each factor and split.

    Args:
        items: Items of the protocol, one row for each.
        accuracy: Their outcome.
        twins: As of `Scores`: the first scene of its ladder for each other scene.

    Returns:
        A row for each, with the unit `score`. Its value and the ends of its interval are
        magnitudes; None where a curve does not reach half within the ladder, or where a step has no
        scored item.
    """
    steps = [read_step(kind) for kind in items.kind]
    factors = np.array([factor for factor, _ in steps], dtype=object)
    places = np.array([place_of(*step) for step in steps])
    # The first scene of a ladder has the least id, and every other scene refers to it.
    first_scenes = [min(scene, twins.get(scene, scene)) for scene in items.scene_id]
    ladders = np.array(first_scenes)
    rows = []
    groups = dict.fromkeys(zip(factors.tolist(), items.split.tolist(), strict=True))
    for factor, split in groups:
        inside = (factors == factor) & (items.split == split)
        scored = inside & items.scored
        steps_with_scores = set(places[scored])
        all_steps = set(places[inside])
        # A step without a scored item is a gap in the curve; one step alone is not a curve.
        estimate = None
        if len(all_steps) > 1 and steps_with_scores == all_steps:
            estimate = _estimate(
                items, accuracy, ladders=ladders[scored], places=places[scored], rows=scored
            )
        rows.append(_row(items, accuracy, estimate, factor=factor, split=split, inside=inside))
    return rows


def _estimate(
    items: Items, accuracy: Outcome, *, ladders: np.ndarray, places: np.ndarray, rows: np.ndarray
) -> HalfPoint:
    """The half point of scored items. `ladders`, `places`: of these items; `rows`: bool, which of
    all items they are."""
    names, ladder = np.unique(ladders.astype(str), return_inverse=True)
    scale, step = np.unique(places, return_inverse=True)
    shape = (len(names), len(scale))
    right = np.zeros(shape)
    total = np.zeros(shape)
    np.add.at(right, (ladder, step), accuracy.value[rows])
    np.add.at(total, (ladder, step), 1.0)
    half = (1 + float(accuracy.chance[rows].mean())) / 2
    # Of a single ladder no interval is estimated.
    if not items.rules.intervals:
        right = right.sum(axis=0)[None]
        total = total.sum(axis=0)[None]
    return half_point(right, total, scale, half=half, level=items.rules.level)


def _row(
    items: Items,
    accuracy: Outcome,
    estimate: HalfPoint | None,
    *,
    factor: str,
    split: str,
    inside: np.ndarray,
) -> Row:
    """The row of a half point; `inside`: bool, the items of its factor and split."""
    n_scored = int((inside & items.scored).sum())
    ends = [np.nan, np.nan, np.nan]
    if estimate is not None:
        for i, place in enumerate((estimate.value, estimate.low, estimate.high)):
            if np.isfinite(place):
                ends[i] = magnitude_at(factor, place)
    value, low, high = ends
    if factor in _HALVED:
        low, high = high, low  # a harder step has a smaller magnitude
    outcome = Outcome(HALF_POINT, accuracy.value, accuracy.tie, accuracy.chance, unit="score")
    n_clusters = len(set(items.cluster[inside & items.scored]))
    mean = Mean(Estimate(value, low, high, n_scored, n_clusters, population=_SPEAKS_OF))
    return result_row(
        outcome,
        {"kind": factor, "split": split},
        mean,
        average=OVER_ITEMS,
        ties=0,
        unscored=int(inside.sum()) - n_scored,
    )
