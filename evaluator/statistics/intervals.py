"""Means and differences of outcomes with intervals for two named claims (docs/statistics.md).

`low` and `high` speak of *this vocabulary*: new images, clusters and bindings of these values and
objects. `low_wider` and `high_wider` speak of *values and objects like these*. Both come from one
model with crossed random effects (generator/base/crossed.py). `low_fixed` and `high_fixed` hold
bindings and clusters fixed; only renders vary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from generator.base.clusters import Clusters
from generator.base.crossed import CrossedMeans, Estimates

LEVEL = 0.95
SMALLEST_P = 0.0005
"""Smaller p-values are reported as this one: the approximation is poor in the far tails."""
THIS_VOCABULARY, WIDER = "this vocabulary", "values and objects like these"
"""The two claims."""
NOT_OF_BINDINGS = "groups like these; the bindings are not known"
THIS_MODEL, NEW_TRAININGS = "this model", "new trainings"


@dataclass(frozen=True)
class Estimate:
    """A value and its intervals, in the unit of the outcomes, nan for none."""

    value: float
    low: float
    high: float
    n_items: int
    n_clusters: int
    low_fixed: float = np.nan
    high_fixed: float = np.nan
    low_wider: float = np.nan
    high_wider: float = np.nan
    p: float = np.nan
    """Two-sided, for the claim about this vocabulary: of a share against its chance, of a
    difference against 0; nan for none."""
    speaks_of: str = ""
    """What `low` and `high` speak of, in words."""

    def moved(
        self, move: Callable[[float, float], tuple[float, float]], **changes: float
    ) -> "Estimate":
        """A copy with `move` applied to every interval, and with other `changes`."""
        for low, high in INTERVALS:
            changes[low], changes[high] = move(getattr(self, low), getattr(self, high))
        return replace(self, **changes)  # type: ignore[arg-type]


INTERVALS = (("low", "high"), ("low_fixed", "high_fixed"), ("low_wider", "high_wider"))
NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0)
"""The estimate for an empty set of items."""
Grouping = Clusters | np.ndarray
"""Clusters of items with their bindings, or only names (n,) of clusters."""


def speaks_of(clusters: Clusters, finite_bindings: bool = False, models: str = THIS_MODEL) -> str:
    """What the intervals of these items speak of, in words.

    Args:
        clusters: what the items share.
        finite_bindings: see `CrossedMeans`.
        models: THIS_MODEL or NEW_TRAININGS.
    """
    named = clusters.bindings_named
    if not named:
        return f"{NOT_OF_BINDINGS}; {models}"
    values, objects = clusters.vocabulary
    of_names = f" ({values:,} values, {objects:,} objects)" if values else ""
    of_bindings = "" if finite_bindings and values else "; bindings like these"
    unnamed = len(clusters) - named
    missing = f"; {unnamed:,} of {len(clusters):,} items name no binding" if unnamed else ""
    return f"{THIS_VOCABULARY}{of_names}{of_bindings}; {models}{missing}"


def cluster_mean(outcomes: np.ndarray, clusters: Grouping, level: float = LEVEL) -> Estimate:
    """The mean of outcomes (n,) in 0..1 over items (micro), with intervals of `level` in 0..1."""
    return cluster_means(outcomes[:, None], clusters, level)[0]


def cluster_means(
    outcomes: np.ndarray,
    clusters: Grouping,
    level: float = LEVEL,
    shares: Sequence[bool] | None = None,
    chance: Sequence[float] | None = None,
    weights: np.ndarray | None = None,
) -> list[Estimate]:
    """The mean of each column of outcomes (n, k), with its intervals.

    Args:
        outcomes: (n, k).
        clusters: what the items share.
        level: of the intervals, in 0..1.
        shares: (k,) which columns are in 0..1; all by default. Other columns have no interval if
            nothing varies.
        chance: (k,) the chance values of shares, for p.
        weights: (n,) with sum 1; equal by default.
    """
    if len(outcomes) == 0:
        return [NOTHING] * outcomes.shape[1]
    clusters = clusters if isinstance(clusters, Clusters) else Clusters.of(clusters)
    means, of_images = CrossedMeans(clusters, weights), CrossedMeans(clusters.images(), weights)
    population, n_clusters = speaks_of(clusters), len(np.unique(clusters.codes))
    found = []
    for i, column in enumerate(outcomes.T.astype(float)):
        share = shares is None or bool(shares[i])
        null = (np.nan if chance is None else chance[i]) if share else 0.0
        estimates = means.estimate(column, share)
        if share and weights is None:
            fixed = _binomial(column, clusters, level)
        else:
            fixed = of_images.estimate(column, share).vocabulary.interval(level)
        estimate = from_estimates(estimates, clusters, level, null)
        found.append(
            replace(
                estimate,
                low_fixed=fixed[0],
                high_fixed=fixed[1],
                n_clusters=n_clusters,
                speaks_of=population,
            )
        )
    return found


def from_estimates(estimates: Estimates, clusters: Clusters, level: float, null: float) -> Estimate:
    """The intervals of both claims, and p against `null`. Without names of bindings there is no
    wider claim."""
    value = estimates.vocabulary.value
    low, high = estimates.vocabulary.interval(level)
    wider = (
        estimates.like_these.interval(level) if clusters.levels()["values"] else (np.nan, np.nan)
    )
    p = estimates.vocabulary.p(null) if np.isfinite(null) else np.nan
    return Estimate(
        value,
        low,
        high,
        len(clusters),
        len(np.unique(clusters.codes)),
        low_wider=wider[0],
        high_wider=wider[1],
        p=max(SMALLEST_P, p) if np.isfinite(p) else np.nan,
    )


def parts_differences(
    outcomes: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    clusters: Clusters,
    level: float = LEVEL,
) -> list[Estimate]:
    """For each column of outcomes (n, k), the mean over the part `first` minus the mean over the
    part `second`. The parts may share items, scenes and clusters; shared effects move both means.

    first, second: bool (n,), together all items. The interval is Student's t over each item's
    influence on the
    difference: its deviation from the mean of its part, divided by the part's share. No interval if
    nothing varies.
    """
    influence, value = np.zeros(outcomes.shape), np.zeros(outcomes.shape[1])
    for part, sign in ((first, 1), (second, -1)):
        mean = outcomes[part].mean(axis=0)
        influence += sign * part[:, None] * (outcomes - mean) * len(part) / part.sum()
        value += sign * mean
    estimates = cluster_means(influence + value, clusters, level, [False] * len(value))
    return [replace(each, value=float(exact)) for each, exact in zip(estimates, value, strict=True)]


def difference_of_means(
    first: np.ndarray, second: np.ndarray, clusters: Grouping, level: float = LEVEL
) -> Estimate:
    """The difference of the means of two outcomes (n,) in 0..1 on the same items; its interval is
    combined from both means' intervals."""
    a, b = cluster_means(np.stack([first, second], axis=1), clusters, level)
    return subtract(a, b, a.n_items, a.n_clusters, level)


def subtract(
    a: Estimate, b: Estimate, n_items: int, n_clusters: int, level: float = LEVEL
) -> Estimate:
    """The difference a − b; its intervals are combined from the intervals of a and b (Newcombe
    1998, method 10), p comes from the interval."""
    value = a.value - b.value
    ends = {}
    for low, high in INTERVALS:
        below = np.hypot(a.value - getattr(a, low), getattr(b, high) - b.value)
        above = np.hypot(getattr(a, high) - a.value, b.value - getattr(b, low))
        ends[low], ends[high] = value - float(below), value + float(above)
    p = p_from_interval(value, ends["low"], ends["high"], level, n_clusters - 2)
    population = (
        a.speaks_of if a.speaks_of == b.speaks_of else f"{a.speaks_of}, against {b.speaks_of}"
    )
    return Estimate(
        value, n_items=n_items, n_clusters=n_clusters, p=p, speaks_of=population, **ends
    )


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """A difference and its intervals times a known factor ≥ 0; p does not change.

    >>> half = scaled(Estimate(0.4, 0.2, 0.6, 10, 5, p=0.01), 0.5)
    >>> half.value, half.low, half.high, half.p
    (0.2, 0.1, 0.3, 0.01)
    """
    return estimate.moved(
        lambda low, high: (factor * low, factor * high), value=factor * estimate.value
    )


def p_from_interval(value: float, low: float, high: float, level: float, freedom: float) -> float:
    """The p-value against 0 of a value with an interval, which is read as Student's t; nan for nan.

    The interval ends at 0 if p is 1 − level. freedom: degrees of freedom; values below 1 count as
    1.
    """
    half = value - low if value > 0 else high - value
    if not np.isfinite(half) or half <= 0:
        return np.nan
    freedom = max(1, freedom)
    t = stats.t.ppf((1 + level) / 2, freedom) * abs(value) / half
    return max(SMALLEST_P, float(2 * stats.t.sf(t, freedom)))


def _binomial(outcomes: np.ndarray, clusters: Clusters, level: float) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934). Trials: the effective number of
    items, given how much the items of a scene agree; the number of scenes if all outcomes are
    equal."""
    from statsmodels.stats.proportion import proportion_confint

    n, value = len(outcomes), outcomes.mean()
    residuals = outcomes - value
    total = np.square(residuals).sum()
    by_scene = np.square(np.bincount(clusters.scenes, weights=residuals)).sum()
    trials = n / max(1, by_scene / total) if total > 0 else len(np.unique(clusters.scenes))
    low, high = proportion_confint(value * trials, trials, alpha=1 - level, method="beta")
    return min(float(low), value), max(float(high), value)
