"""Means with honest intervals: by cluster, since renders of one combination are not independent facts."""

from dataclasses import dataclass

import numpy as np

DRAWS = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over items, and its 95% interval by cluster bootstrap. All are shares, 0..1; nan where there is no item."""

    value: float
    low: float
    high: float
    n_items: int
    n_clusters: int


def cluster_mean(outcomes: np.ndarray, clusters: np.ndarray, seed: int = 0) -> Estimate:
    """Mean of outcomes (n,) in 0..1 over items (micro), with the percentile interval over 10,000 draws of clusters.

    Where all clusters have the same outcome 0 or 1 a bootstrap would claim certainty; there the interval is the exact
    binomial one (Clopper and Pearson 1934) with each cluster counted once.
    """
    if len(outcomes) == 0:
        return Estimate(np.nan, np.nan, np.nan, 0, 0)
    sums, sizes = cluster_totals(outcomes, clusters)
    value = float(sums.sum() / sizes.sum())
    tail = (1 - LEVEL) / 2
    if value in (0.0, 1.0):
        reach = tail ** (1 / len(sizes))
        low, high = (reach, 1.0) if value == 1.0 else (0.0, 1 - reach)
    else:
        low, high = np.quantile(bootstrap_means(sums, sizes, seed), (tail, 1 - tail))
    return Estimate(value, float(low), float(high), len(outcomes), len(sizes))


def cluster_difference(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> Estimate:
    """Difference of the means of two sets of (outcomes, clusters) that share no cluster, first − second.

    Percentile interval over independent draws of both; where one of them is all 0 or all 1, the interval is put
    together from theirs (square-and-add, Newcombe 1998, method 10), since a bootstrap would claim too much.
    """
    a, b = cluster_mean(*first, seed), cluster_mean(*second, seed + 1)
    if not (a.n_items and b.n_items):
        return Estimate(np.nan, np.nan, np.nan, 0, 0)
    value = a.value - b.value
    if {a.value, b.value} & {0.0, 1.0}:
        low = value - float(np.hypot(a.value - a.low, b.high - b.value))
        high = value + float(np.hypot(a.high - a.value, b.value - b.low))
    else:
        draws = [bootstrap_means(*cluster_totals(*part), seed + i) for i, part in enumerate((first, second))]
        low, high = np.quantile(draws[0] - draws[1], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high), a.n_items + b.n_items, a.n_clusters + b.n_clusters)


def cluster_totals(outcomes: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum of outcomes and number of items of each cluster, float64."""
    _, place = np.unique(clusters, return_inverse=True)
    return np.bincount(place, weights=outcomes.astype(float)), np.bincount(place).astype(float)


def bootstrap_means(sums: np.ndarray, sizes: np.ndarray, seed: int) -> np.ndarray:
    """Means (DRAWS,) over clusters drawn with replacement."""
    rng = np.random.default_rng(seed)
    n = len(sums)
    means = np.empty(DRAWS)
    rows = max(1, 4_000_000 // n)
    for start in range(0, DRAWS, rows):
        times = rng.multinomial(n, np.full(n, 1 / n), size=min(rows, DRAWS - start))
        means[start : start + len(times)] = (times @ sums) / (times @ sizes)
    return means
