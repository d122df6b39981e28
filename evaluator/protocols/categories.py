"""Means over categories, as benchmarks of others publish them, beside those over items."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluator.protocols.items import Items, split_rank
from evaluator.protocols.results import Outcome, Row, result_row, with_full
from evaluator.statistics.intervals import Estimate, weighted_means

AVERAGE = "macro (over categories)"
_METRIC = "{}, mean of categories"


def kinds_and_skills(items: Items) -> list[tuple[str, ...]]:
    """The category (n,) of each item: its kind, then the parts of its skill, which "/" separates."""
    return [(kind, *(skill.split("/") if skill else ())) for kind, skill in zip(items.kind, items.skill, strict=True)]


def category_means(
    items: Items, outcomes: Sequence[Outcome], categories: Sequence[tuple[str, ...]], overall: bool = True
) -> list[Row]:
    """For each share, each kind with several categories and each split, the mean over categories; with `overall` also over all kinds.

    categories (n,): a path for each item, its kind first. The mean of a path is that of the means of the paths one longer, each
    once; the mean of a whole path is that of its items. Unscored items are in no mean, nor is a category without others.
    Partitioned items have the splits of `tabulate`.
    """
    wholes: list[str | None] = [None] * (overall and len({path[0] for path in categories}) > 1)
    wholes += sorted({path[0] for path in categories if len({each for each in categories if each[0] == path[0]}) > 1})
    shares = [outcome for outcome in outcomes if outcome.unit == "share"]
    kinds = np.array([path[0] for path in categories], dtype=object)
    rows: list[list[Row]] = [[] for _ in shares]
    for whole in wholes:
        inside = np.ones(len(items), dtype=bool) if whole is None else kinds == whole
        splits = sorted(set(items.split[inside]), key=split_rank)
        chosen_of = {split: np.flatnonzero(inside & (items.split == split)) for split in splits}
        for split, chosen in (with_full(chosen_of) if items.partitioned else chosen_of).items():
            kept = chosen[items.scored[chosen]]
            weights = category_weights([categories[i] for i in kept])
            for i, (outcome, estimate) in enumerate(zip(shares, _means(items, shares, kept, weights), strict=True)):
                named = replace(outcome, metric=_METRIC.format(outcome.metric))
                rows[i].append(
                    result_row(
                        named, {"kind": whole, "split": split}, estimate, ties=int(outcome.tie[kept].sum()),
                        unscored=len(chosen) - len(kept), average=AVERAGE, chance=float(weights @ outcome.chance[kept]) if len(kept) else None,
                    )
                )  # fmt: skip
    return [row for of_outcome in rows for row in of_outcome]


def category_weights(categories: Sequence[tuple[str, ...]]) -> np.ndarray:
    """The weight (n,) of each item in the mean over categories, in all 1.

    >>> category_weights([("a",), ("a",), ("b", "x"), ("b", "y")]).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    items = Counter(categories)
    below: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in items:
        for depth, name in enumerate((*path, "")):  # "" for the items of a path that is whole
            below[path[:depth]].add(name)
    weight = {
        path: 1 / n / float(np.prod([len(below[path[:depth]]) for depth in range(len(path) + 1)]))
        for path, n in items.items()
    }
    return np.array([weight[path] for path in categories])


def _means(items: Items, outcomes: Sequence[Outcome], kept: np.ndarray, weights: np.ndarray) -> list[Estimate]:
    if not len(kept):
        return [Estimate(np.nan, np.nan, np.nan, 0, 0)] * len(outcomes)
    values = np.stack([outcome.value[kept] for outcome in outcomes], axis=1)
    return weighted_means(values, items.clusters.take(kept), weights, [True] * len(outcomes), items.confidence)
