"""Means with honest intervals: by cluster, since renders of one combination are not independent facts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np

DRAWS = 10_000
LEVEL = 0.95
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


@dataclass(frozen=True)
class Estimate:
    """A mean over items and its 95% interval by cluster bootstrap, in the unit of the outcomes; nan where there is none."""

    value: float
    low: float
    high: float
    n_items: int
    n_clusters: int


_NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0)


def cluster_mean(outcomes: np.ndarray, clusters: np.ndarray, seed: int = 0) -> Estimate:
    """Mean of outcomes (n,) in 0..1 over items (micro), with the percentile interval over 10,000 draws of clusters.

    Where all clusters have the same mean a bootstrap would claim certainty; there the interval counts each cluster
    once: the exact binomial one where all are right or all wrong (Clopper and Pearson 1934), else Wilson's (1927).
    """
    return cluster_means(outcomes[:, None], clusters, seed)[0]


def cluster_means(
    outcomes: np.ndarray, clusters: np.ndarray, seed: int = 0, shares: Sequence[bool] | None = None
) -> list[Estimate]:
    """`cluster_mean` of each column of outcomes (n, k), all over the same draws.

    Columns that `shares` (k,) denies are numbers of any size; where all clusters have the same, they have no interval (nan).
    """
    if len(outcomes) == 0:
        return [_NOTHING] * outcomes.shape[1]
    sums, sizes = cluster_totals(outcomes, clusters)
    values = sums.sum(0) / sizes.sum()
    low, high = np.full((2, len(values)), np.nan)
    agree = _agree(sums, sizes)
    if not agree.all():
        low, high = np.quantile(bootstrap_means(sums, sizes, seed), _TAILS, axis=0)
    for column in np.flatnonzero(agree):
        share = shares is None or shares[column]
        low[column], high[column] = (
            _interval_of_one_mind(float(values[column]), len(sizes)) if share else (np.nan, np.nan)
        )
    return [
        Estimate(float(v), float(a), float(b), len(outcomes), len(sizes))
        for v, a, b in zip(values, low, high, strict=True)
    ]


def cluster_difference(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> Estimate:
    """Difference of the means of two sets of (outcomes, clusters) that share no cluster, first − second.

    Percentile interval over independent draws of both; where all clusters of one have the same mean, the interval is put
    together from theirs (square-and-add, Newcombe 1998, method 10), since a bootstrap would claim too much.
    """
    parts = [(outcomes[:, None], clusters) for outcomes, clusters in (first, second)]
    return cluster_differences(parts[0], parts[1], seed)[0]


def cluster_differences(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> list[Estimate]:
    """`cluster_difference` of each column of two sets of (outcomes (n, k), clusters (n,)), all over the same draws."""
    if not (len(first[0]) and len(second[0])):
        return [_NOTHING] * first[0].shape[1]
    sides = zip(cluster_means(*first, seed), cluster_means(*second, seed + 1), strict=True)
    found = [squared_and_added(a, b, a.n_items + b.n_items, a.n_clusters + b.n_clusters) for a, b in sides]
    totals = [cluster_totals(*part) for part in (first, second)]
    spread = ~np.any([_agree(*part) for part in totals], axis=0)
    if spread.any():
        draws = [bootstrap_means(*part, seed + i) for i, part in enumerate(totals)]
        low, high = np.quantile(draws[0] - draws[1], _TAILS, axis=0)
        for column in np.flatnonzero(spread):
            found[column] = replace(found[column], low=float(low[column]), high=float(high[column]))
    return found


def paired_difference(first: np.ndarray, second: np.ndarray, clusters: np.ndarray, seed: int = 0) -> Estimate:
    """Difference of the means of two outcomes (n,) of the same items, first − second, over draws of their clusters.

    Where all clusters have the same difference, the interval is put together from those of both (square-and-add).
    """
    outcomes = np.stack([first, second, first.astype(float) - second], axis=1)
    a, b, estimate = cluster_means(outcomes, clusters, seed, (True, True, False))
    return estimate if np.isfinite(estimate.low) else squared_and_added(a, b, a.n_items, a.n_clusters)


def means_over_strata(
    outcomes: np.ndarray, clusters: np.ndarray, strata: np.ndarray, shares: Sequence[bool], seed: int = 0
) -> tuple[list[Estimate], np.ndarray]:
    """For each column of outcomes (n, k) the unweighted mean over strata (macro) of its means, and those means (strata, k).

    The draws are of clusters; a stratum that a draw leaves empty is not in that draw's mean. Where no draw differs from
    another, the interval of a share counts each cluster once, as in `cluster_mean`; columns that `shares` (k,) denies have none.
    """
    k = outcomes.shape[1]
    if len(outcomes) == 0:
        return [_NOTHING] * k, np.empty((0, k))
    stratum, place = np.unique(strata, return_inverse=True)
    inside = (place[:, None] == np.arange(len(stratum))).astype(float)
    columns = [inside * column[:, None] for column in outcomes.T]
    totals, sizes = cluster_totals(np.concatenate([*columns, inside], axis=1), clusters)

    def means(sums: np.ndarray) -> np.ndarray:
        parts = sums.reshape(len(sums), k + 1, len(stratum))
        with np.errstate(invalid="ignore"):
            return parts[:, :k] / parts[:, k:]

    found = means(totals.sum(axis=0, keepdims=True))[0]
    # sums over the clusters of a draw are divided by one another: its number of clusters cancels out
    draws = np.nanmean(means(bootstrap_means(totals, np.ones(len(sizes)), seed)), axis=2)
    low, high = np.quantile(draws, _TAILS, axis=0)
    for column in np.flatnonzero(np.ptp(draws, axis=0) < 1e-12):
        value = float(found[column].mean())
        low[column], high[column] = _interval_of_one_mind(value, len(sizes)) if shares[column] else (np.nan, np.nan)
    values = zip(found.mean(axis=1), low, high, strict=True)
    return [Estimate(float(v), float(a), float(b), len(outcomes), len(sizes)) for v, a, b in values], found.T


def _agree(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Whether all clusters have the same mean, for each column (k,)."""
    return np.ptp(sums / sizes[:, None], axis=0) == 0


def squared_and_added(a: Estimate, b: Estimate, n_items: int, n_clusters: int) -> Estimate:
    """The difference a − b with an interval that is put together from theirs (Newcombe 1998, method 10)."""
    value = a.value - b.value
    low = value - float(np.hypot(a.value - a.low, b.high - b.value))
    high = value + float(np.hypot(a.high - a.value, b.value - b.low))
    return Estimate(value, low, high, n_items, n_clusters)


def _interval_of_one_mind(value: float, n: int) -> tuple[float, float]:
    if value in (0.0, 1.0):
        reach = _TAILS[0] ** (1 / n)
        return (reach, 1.0) if value == 1.0 else (0.0, 1 - reach)
    z2 = NormalDist().inv_cdf(_TAILS[1]) ** 2
    middle, reach = (value + z2 / (2 * n)) / (1 + z2 / n), np.sqrt(z2 / n * (value * (1 - value) + z2 / (4 * n)))
    return middle - reach / (1 + z2 / n), middle + reach / (1 + z2 / n)


def cluster_totals(outcomes: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums (clusters,) of outcomes (n,), or (clusters, k) of (n, k), and number of items (clusters,) of each cluster, float64."""
    _, place = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(place).astype(float)
    columns = outcomes.astype(float).reshape(len(outcomes), -1).T
    sums = np.stack([np.bincount(place, weights=column) for column in columns], axis=1)
    return sums.reshape(len(sizes), *outcomes.shape[1:]), sizes


def bootstrap_means(sums: np.ndarray, sizes: np.ndarray, seed: int) -> np.ndarray:
    """Means (DRAWS,) or (DRAWS, k) over clusters drawn with replacement, from their sums (clusters,) or (clusters, k) and sizes.

    Clusters of equal sums and sizes are drawn together: how many of them a draw holds is all that matters.
    """
    kinds, times = np.unique(np.column_stack([sums, sizes]), axis=0, return_counts=True)
    totals = _drawn_totals(kinds.tobytes(), times.astype(np.int64).tobytes(), seed)
    return (totals[:, :-1] / totals[:, -1:]).reshape(DRAWS, *sums.shape[1:])


@lru_cache(maxsize=8)  # a split's mean and its gaps to two others are of the same draws
def _drawn_totals(kinds: bytes, times: bytes, seed: int) -> np.ndarray:
    """Totals (DRAWS, k) over clusters drawn, from each kind's (kinds, k) float64 and the number of clusters of each, int64."""
    counts = np.frombuffer(times, np.int64)
    values = np.frombuffer(kinds).reshape(len(counts), -1)
    rng = np.random.default_rng(seed)
    totals = np.empty((DRAWS, values.shape[1]))
    rows = max(1, 1_000_000 // min(int(counts.sum()), 8 * len(counts)))
    for start in range(0, DRAWS, rows):
        part = totals[start : start + rows]
        part[:] = _draw(counts, len(part), rng) @ values
    return totals


def _draw(times: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """How many clusters of each kind (rows, kinds) are among as many drawn as there are; `times` says how many there are."""
    n, k = int(times.sum()), len(times)
    if n > 8 * k:  # few kinds: draw numbers of clusters, else the clusters themselves; which is faster, no more
        return rng.multinomial(n, times / n, size=rows).astype(float)
    drawn = np.repeat(np.arange(k), times)[rng.integers(0, n, (rows, n), dtype=np.int32)]
    drawn += k * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * k).reshape(rows, k).astype(float)


@dataclass(frozen=True)
class Fit:
    """Coefficients of a linear model (arrays of length k), their errors by cluster, t, two-sided p and 95% interval."""

    coefficients: np.ndarray
    errors: np.ndarray
    t: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_items: int
    n_clusters: int
    df: int


def clustered_least_squares(y: np.ndarray, x: np.ndarray, clusters: np.ndarray) -> Fit:
    """Ordinary least squares of y (n,) on x (n, k), the constant among its columns, with errors by cluster.

    The covariance is the sandwich of Liang and Zeger (1986) times G/(G−1) · (n−1)/(n−k) for G clusters (CR1); t has
    G − 1 degrees of freedom. Raises ValueError where the numbers determine no fit, and says why.
    """
    n, k = x.shape
    _, place = np.unique(clusters, return_inverse=True)
    n_clusters = int(place.max()) + 1 if n else 0
    if n_clusters < 2 or n <= k:
        raise ValueError("too few items")
    if np.ptp(y) == 0:
        raise ValueError("all outcomes are equal")
    if np.linalg.matrix_rank(x) < k:
        raise ValueError("the counts depend on one another linearly")
    bread = np.linalg.inv(x.T @ x)
    coefficients = bread @ x.T @ y
    residuals = y - x @ coefficients
    if np.square(residuals).sum() <= 1e-16 * np.square(y).sum():
        raise ValueError("the counts explain the outcomes exactly")
    sums, _ = cluster_totals(x * residuals[:, None], clusters)
    correction = n_clusters / (n_clusters - 1) * (n - 1) / (n - k)
    errors = np.sqrt(correction * np.diag(bread @ sums.T @ sums @ bread))
    df = n_clusters - 1
    t = coefficients / errors
    p = np.array([student_p(float(value), df) for value in t])
    reach = student_quantile(df) * errors
    return Fit(coefficients, errors, t, p, coefficients - reach, coefficients + reach, n, n_clusters, df)


def student_p(t: float, df: int) -> float:
    """Two-sided p of Student's t with a whole number of degrees of freedom (Abramowitz and Stegun 1972, 26.7.3 and 26.7.4).

    >>> round(student_p(2.228138852, 10), 9)
    0.05
    """
    angle = np.arctan(abs(t) / np.sqrt(df))
    sine, cosine = np.sin(angle), np.cos(angle)
    if df % 2:
        powers = np.arange(2, df - 1, 2)
        terms = np.concatenate([[cosine], powers / (powers + 1) * cosine**2]) if df > 1 else np.array([0.0])
        inside = 2 / np.pi * (angle + sine * np.cumprod(terms).sum())
    else:
        powers = np.arange(1, df - 2, 2)
        inside = sine * np.cumprod(np.concatenate([[1.0], powers / (powers + 1) * cosine**2])).sum()
    return float(min(1.0, max(0.0, 1 - inside)))


def student_quantile(df: int) -> float:
    """The t that 95% of Student's distribution lie within, either side."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, df) > 1 - LEVEL else (low, middle)
    return high
