"""Measures what could make one form of a world harder than another: factors of its scenes, and
counts of its values, objects and combinations."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Dataset, World

FACTORS: Mapping[str, str] = {
    "objects": "number of objects",
    "area": "area of an object's box, share of the image, mean over objects",
    "visibility": "visible share of an object, mean over objects",
    "contrast": "standard deviation of luminance (0..1) within an object's box, mean over objects",
    "distance": "distance between the centres of two boxes, image widths, mean over pairs",
    "shared": "share of category and attributes that two objects have in common, mean over pairs",
}
"""What each factor of a scene is."""
# Luminance of linear red, green and blue (ITU-R BT.709). It is taken of sRGB values as they are
# stored: contrast is only compared between images, not measured in candela.
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])

Row = Mapping[str, Any]
"""A row of scenes.parquet."""


def scene_factors(world: World, progress: Progress = SILENT) -> dict[str, np.ndarray]:
    """Measure the factors of a world.

    Twins show the same objects at the same places, so they are not independent: a scene and its
    twin count once, with their mean.

    Args:
        world: The world.
        progress: Where progress is reported.

    Returns:
        For each factor of FACTORS an array (groups,) of float64, in the order of scenes. Scenes of
        one object have no distance and nothing shared; they count as 0.

    Raises:
        UserError: The world is damaged.
    """
    world.check_files()
    values_of_group: dict[str, list[list[float]]] = defaultdict(list)
    rows = [row for row in world.scenes.to_pylist() if row["status"] == "ok"]
    for row in progress.follow(rows, "measuring scenes", total=len(rows)):
        group = row["twin_of"] or row["scene_id"]
        values_of_group[group].append(_measure(world, row))
    means = []
    for values in values_of_group.values():
        means.append(np.mean(values, axis=0))
    # (groups, factors): a column for each factor.
    return dict(zip(FACTORS, np.array(means).T, strict=True))


def _measure(world: World, row: Row) -> list[float]:
    """The factors of a scene, in the order of FACTORS."""
    objects = row["objects"]
    image = np.asarray(world.image(row["scene_id"]), dtype=float) / 255
    luminance = image @ _LUMINANCE

    boxes = [object_["amodal_box"] for object_ in objects]
    areas = [_area(box) for box in boxes]
    visible_shares = [object_["visible_fraction"] for object_ in objects]
    contrasts = [_contrast(luminance, box) for box in boxes]
    distances = [_distance(*pair) for pair in combinations(boxes, 2)]
    shared_features = [_shared(*pair) for pair in combinations(objects, 2)]
    return [
        float(len(objects)),
        float(np.mean(areas)) / luminance.size,
        float(np.mean(visible_shares)),
        float(np.mean(contrasts)),
        _mean_over_pairs(distances) / row["width"],
        _mean_over_pairs(shared_features),
    ]


def _area(box: Sequence[int]) -> int:
    left, top, right, bottom = box
    return (right - left) * (bottom - top)


def _contrast(luminance: np.ndarray, box: Sequence[int]) -> float:
    """The standard deviation of luminance within a box; 0 if the box is outside of the image."""
    # A box may reach beyond the image, where a negative index would count from its other side.
    left, top, right, bottom = (max(0, side) for side in box)
    inside = luminance[top:bottom, left:right]
    return float(inside.std()) if inside.size else 0.0


def _distance(box: Sequence[int], other: Sequence[int]) -> float:
    """The distance between the centres of two boxes, pixels."""
    column, row = _centre(box)
    other_column, other_row = _centre(other)
    return float(np.hypot(column - other_column, row - other_row))


def _centre(box: Sequence[int]) -> tuple[float, float]:
    left, top, right, bottom = box
    return (left + right) / 2, (top + bottom) / 2


def _shared(first: Row, second: Row) -> float:
    """The share of features that two objects have in common."""
    first_values = dict(first["attributes"])
    second_values = dict(second["attributes"])
    is_same = [first["category"] == second["category"]]
    for kind, value in first_values.items():
        is_same.append(second_values.get(kind) == value)
    return sum(is_same) / len(is_same)


def _mean_over_pairs(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


@dataclass(frozen=True)
class SplitCounts:
    """How often the scenes of a split show each name, over all benchmarks of a world."""

    scenes: int
    """Number of scenes; a scene counts once for each benchmark."""
    names: Mapping[str, Counter[str]]
    """Counts by "values", "objects" and "combinations"."""


def split_counts(dataset: Dataset) -> dict[str, SplitCounts]:
    """Count what the splits of a world show.

    Benchmarks of one holdout have the same splits, so only the first of them is counted; the turns
    of a rotation are counted together.

    Args:
        dataset: The dataset.

    Returns:
        Counts by split.

    Raises:
        UserError: The dataset is damaged.
    """
    objects_of_scene = {}
    for row in dataset.world.scenes.to_pylist():
        objects_of_scene[row["scene_id"]] = row["objects"]
    scenes: Counter[str] = Counter()
    names: dict[str, dict[str, Counter[str]]] = defaultdict(_no_counts)
    counted_holdouts: list[Any] = []
    for benchmark_name in dataset.benchmark_names():
        benchmark = dataset.benchmark(benchmark_name)
        benchmark.check_files()
        holdout = benchmark.holdout_block()
        # Further texts over the same splits show the same scenes.
        if holdout in counted_holdouts:
            continue
        counted_holdouts.append(holdout)
        for row in benchmark.splits.to_pylist():
            split = row["split"]
            if split is None:
                continue
            scenes[split] += 1
            _count_names(names[split], objects_of_scene[row["scene_id"]], holdout["kind"])
    return {split: SplitCounts(scenes[split], of_split) for split, of_split in names.items()}


def _no_counts() -> dict[str, Counter[str]]:
    return {role: Counter() for role in ("values", "objects", "combinations")}


def _count_names(
    counts: Mapping[str, Counter[str]], objects: Sequence[Row], tested_kind: str
) -> None:
    """Add the names of a scene's objects to the counts of its split."""
    for object_ in objects:
        value = dict(object_["attributes"])[tested_kind]
        category = object_["category"]
        counts["values"][value] += 1
        counts["objects"][category] += 1
        counts["combinations"][f"{value} {category}"] += 1


def largest_difference(first: Mapping[str, int], second: Mapping[str, int]) -> tuple[int, float]:
    """Compare counts.

    Args:
        first: Counts by name.
        second: Counts by name.

    Returns:
        The largest difference between counts of one name, and the mean of all counts.

    Example:
        >>> largest_difference({"red": 4, "blue": 4}, {"red": 4, "blue": 3, "gray": 1})
        (1, 2.6666666666666665)
    """
    # A name that one of the forms lacks counts as 0 there.
    names = {*first, *second}
    differences = []
    for name in names:
        differences.append(abs(first.get(name, 0) - second.get(name, 0)))
    largest = max(differences)
    total = sum(first.values()) + sum(second.values())
    return largest, total / (2 * len(names))
