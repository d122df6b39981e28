"""Weights of means that are not over items."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np


def category_weights(categories: Sequence[tuple[str, ...]]) -> np.ndarray:
    """The weight (n,) of each item in the mean over categories; they sum to 1.

    categories: a path for each item, such as (kind, skill). The mean of a path is the unweighted mean of its
    subcategories; the mean of a whole path is that of its items.

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
