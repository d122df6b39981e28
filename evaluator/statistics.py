"""Means with honest intervals: by cluster, since renders of one combination are not independent facts."""

from dataclasses import dataclass
from statistics import NormalDist

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

    Where all clusters have the same mean a bootstrap would claim certainty; there the interval counts each cluster
    once: the exact binomial one where all are right or all wrong (Clopper and Pearson 1934), else Wilson's (1927).
    """
    if len(outcomes) == 0:
        return Estimate(np.nan, np.nan, np.nan, 0, 0)
    sums, sizes = cluster_totals(outcomes, clusters)
    value = float(sums.sum() / sizes.sum())
    if _agree(sums, sizes):
        low, high = _interval_of_one_mind(value, len(sizes))
    else:
        low, high = np.quantile(bootstrap_means(sums, sizes, seed), ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high), len(outcomes), len(sizes))


def cluster_difference(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> Estimate:
    """Difference of the means of two sets of (outcomes, clusters) that share no cluster, first − second.

    Percentile interval over independent draws of both; where all clusters of one have the same mean, the interval is put
    together from theirs (square-and-add, Newcombe 1998, method 10), since a bootstrap would claim too much.
    """
    a, b = cluster_mean(*first, seed), cluster_mean(*second, seed + 1)
    if not (a.n_items and b.n_items):
        return Estimate(np.nan, np.nan, np.nan, 0, 0)
    value = a.value - b.value
    totals = [cluster_totals(*part) for part in (first, second)]
    if any(_agree(*part) for part in totals):
        low = value - float(np.hypot(a.value - a.low, b.high - b.value))
        high = value + float(np.hypot(a.high - a.value, b.value - b.low))
    else:
        draws = [bootstrap_means(*part, seed + i) for i, part in enumerate(totals)]
        low, high = np.quantile(draws[0] - draws[1], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high), a.n_items + b.n_items, a.n_clusters + b.n_clusters)


def _agree(sums: np.ndarray, sizes: np.ndarray) -> bool:
    return bool(np.ptp(sums / sizes) == 0)


def _interval_of_one_mind(value: float, n: int) -> tuple[float, float]:
    if value in (0.0, 1.0):
        reach = ((1 - LEVEL) / 2) ** (1 / n)
        return (reach, 1.0) if value == 1.0 else (0.0, 1 - reach)
    z2 = NormalDist().inv_cdf((1 + LEVEL) / 2) ** 2
    middle, reach = (value + z2 / (2 * n)) / (1 + z2 / n), np.sqrt(z2 / n * (value * (1 - value) + z2 / (4 * n)))
    return middle - reach / (1 + z2 / n), middle + reach / (1 + z2 / n)


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
