"""Designs and outcomes for tests of statistics: the unseen scenes of blocks."""

from itertools import combinations

import numpy as np

from generator.base.clusters import Clusters


def block_cells(values: int, objects: int) -> list[tuple[str, str]]:
    """Cluster and bindings of each pairing of two values with two objects, as in the unseen scenes
    of a block."""
    return [
        (f"{a}{b}{c}{d}", ";".join(sorted(f"{v}:{o}" for v, o in pairs)))
        for a, b in combinations(range(values), 2)
        for c, d in combinations(range(objects), 2)
        for pairs in (((a, c), (b, d)), ((a, d), (b, c)))
    ]


def block_clusters(values: int, objects: int, n_items: int) -> Clusters:
    """`n_items` items of every pairing, in the order of `block_cells`."""
    cells = block_cells(values, objects)
    return Clusters.from_names(
        np.repeat([c for c, _ in cells], n_items), np.repeat([b for _, b in cells], n_items)
    )


def outcomes_of(right: np.ndarray, n_items: int) -> np.ndarray:
    """Outcomes (cells · n_items,) of which `right` (cells,) are 1 in each cell."""
    return (np.arange(n_items)[None, :] < np.asarray(right)[:, None]).astype(float).ravel()
