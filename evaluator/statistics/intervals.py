"""Means and differences of outcomes with 95% intervals by cluster: renders of one combination are not independent facts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluator.statistics.bootstrap import bootstrap_means, cluster_totals

LEVEL = 0.95
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


@dataclass(frozen=True)
class Estimate:
    """A value and its 95% interval, in the unit of the outcomes, nan where there is none; and what it was computed from."""

    value: float
    low: float
    high: float
    n_items: int
    n_clusters: int


_NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0)


def cluster_mean(outcomes: np.ndarray, clusters: np.ndarray, seed: int = 0) -> Estimate:
    """Mean of outcomes (n,) in 0..1 over items (micro), with the percentile interval of 10,000 cluster bootstrap draws.

    Where all clusters have the same mean, the bootstrap interval would have no width. There the interval counts each
    cluster once: the exact binomial interval for means 0 and 1 (Clopper and Pearson 1934), else Wilson's (1927).
    """
    return cluster_means(outcomes[:, None], clusters, seed)[0]


def cluster_means(
    outcomes: np.ndarray, clusters: np.ndarray, seed: int = 0, shares: Sequence[bool] | None = None
) -> list[Estimate]:
    """`cluster_mean` of each column of outcomes (n, k), all over the same draws.

    shares (k,) says which columns are in 0..1, by default all. A column that is not gets no interval (nan) where all
    clusters have the same mean.
    """
    if len(outcomes) == 0:
        return [_NOTHING] * outcomes.shape[1]
    sums, sizes = cluster_totals(outcomes, clusters)
    values = sums.sum(0) / sizes.sum()
    low, high = np.full((2, len(values)), np.nan)
    agree = _clusters_agree(sums, sizes)
    if not agree.all():
        low, high = np.quantile(bootstrap_means(sums, sizes, seed), _TAILS, axis=0)
    for column in np.flatnonzero(agree):
        share = shares is None or shares[column]
        low[column], high[column] = _binomial_interval(values[column], len(sizes)) if share else (np.nan, np.nan)
    return [
        Estimate(float(v), float(a), float(b), len(outcomes), len(sizes))
        for v, a, b in zip(values, low, high, strict=True)
    ]


def cluster_difference(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> Estimate:
    """Difference of two means, first − second, each of (outcomes, clusters); the two share no cluster.

    Percentile interval over independent draws of both. Where all clusters of one have the same mean, the interval is
    combined from the intervals of the two means (Newcombe 1998, method 10), since a bootstrap interval would be too narrow.
    """
    columns = [(outcomes[:, None], clusters) for outcomes, clusters in (first, second)]
    return cluster_differences(columns[0], columns[1], seed)[0]


def cluster_differences(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> list[Estimate]:
    """`cluster_difference` of each column of two sets of (outcomes (n, k), clusters (n,)), all over the same draws."""
    if not (len(first[0]) and len(second[0])):
        return [_NOTHING] * first[0].shape[1]
    sides = zip(cluster_means(*first, seed), cluster_means(*second, seed + 1), strict=True)
    differences = [subtract(a, b, a.n_items + b.n_items, a.n_clusters + b.n_clusters) for a, b in sides]
    totals = [cluster_totals(*part) for part in (first, second)]
    vary = ~np.any([_clusters_agree(*part) for part in totals], axis=0)
    if vary.any():
        draws = [bootstrap_means(*part, seed + i) for i, part in enumerate(totals)]
        low, high = np.quantile(draws[0] - draws[1], _TAILS, axis=0)
        for column in np.flatnonzero(vary):
            differences[column] = replace(differences[column], low=float(low[column]), high=float(high[column]))
    return differences


def paired_difference(first: np.ndarray, second: np.ndarray, clusters: np.ndarray, seed: int = 0) -> Estimate:
    """Difference of the means of two outcomes (n,) of the same items, first − second, over draws of their clusters.

    Where all clusters have the same difference, the interval is combined from the intervals of the two means.
    """
    outcomes = np.stack([first, second, first.astype(float) - second], axis=1)
    a, b, estimate = cluster_means(outcomes, clusters, seed, (True, True, False))
    return estimate if np.isfinite(estimate.low) else subtract(a, b, a.n_items, a.n_clusters)


def means_over_strata(
    outcomes: np.ndarray, clusters: np.ndarray, strata: np.ndarray, shares: Sequence[bool], seed: int = 0
) -> tuple[list[Estimate], np.ndarray]:
    """For each column of outcomes (n, k): the unweighted mean over strata (macro), and the means (strata, k) themselves.

    The draws are of clusters. A draw without items of a stratum averages over the other strata. Where all draws are equal,
    a share has the interval of `cluster_mean`, and a column that shares (k,) denies has none (nan).
    """
    k = outcomes.shape[1]
    if len(outcomes) == 0:
        return [_NOTHING] * k, np.empty((0, k))
    names, codes = np.unique(strata, return_inverse=True)
    inside = (codes[:, None] == np.arange(len(names))).astype(float)
    columns = [inside * column[:, None] for column in outcomes.T]
    totals, sizes = cluster_totals(np.concatenate([*columns, inside], axis=1), clusters)

    def stratum_means(sums: np.ndarray) -> np.ndarray:
        parts = sums.reshape(len(sums), k + 1, len(names))
        with np.errstate(invalid="ignore"):
            return parts[:, :k] / parts[:, k:]

    means = stratum_means(totals.sum(axis=0, keepdims=True))[0]
    # outcomes and items of a draw are both divided by its number of clusters, which cancels out
    draws = np.nanmean(stratum_means(bootstrap_means(totals, np.ones(len(sizes)), seed)), axis=2)
    low, high = np.quantile(draws, _TAILS, axis=0)
    for column in np.flatnonzero(np.ptp(draws, axis=0) < 1e-12):
        value = means[column].mean()
        low[column], high[column] = _binomial_interval(value, len(sizes)) if shares[column] else (np.nan, np.nan)
    values = zip(means.mean(axis=1), low, high, strict=True)
    return [Estimate(float(v), float(a), float(b), len(outcomes), len(sizes)) for v, a, b in values], means.T


def subtract(a: Estimate, b: Estimate, n_items: int, n_clusters: int) -> Estimate:
    """The difference a − b, its interval combined from the intervals of both (Newcombe 1998, method 10)."""
    value = a.value - b.value
    low = value - float(np.hypot(a.value - a.low, b.high - b.value))
    high = value + float(np.hypot(a.high - a.value, b.value - b.low))
    return Estimate(value, low, high, n_items, n_clusters)


def _clusters_agree(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Whether all clusters have the same mean, for each column (k,)."""
    return np.ptp(sums / sizes[:, None], axis=0) == 0


def _binomial_interval(share: float, n: int) -> tuple[float, float]:
    """The interval of a share of n clusters: exact for 0 and 1, else Wilson's."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(share * n, n, alpha=1 - LEVEL, method="beta" if share in (0, 1) else "wilson")
    return float(low), float(high)
