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
"""The usual level of intervals."""
SMALLEST_P = 0.0005
"""Smaller p-values are reported as this one: the approximation is poor in the far tails."""
THIS_VOCABULARY, WIDER = "this vocabulary", "values and objects like these"
"""The two claims."""
NOT_OF_BINDINGS = "groups like these; the bindings are not known"
THIS_MODEL, NEW_TRAININGS = "this model", "new trainings"
"""Of which models an interval speaks."""


@dataclass(frozen=True)
class Estimate:
    """A value and its intervals, in the unit of the outcomes; nan where there is none."""

    value: float
    """The mean or the difference."""
    low: float
    """Lower end of the interval about this vocabulary."""
    high: float
    """Its upper end."""
    n_items: int
    """The number of items."""
    n_clusters: int
    """The number of clusters of the items."""
    low_fixed: float = np.nan
    """Lower end of the interval that holds bindings and clusters fixed."""
    high_fixed: float = np.nan
    """Its upper end."""
    low_wider: float = np.nan
    """Lower end of the interval about values and objects like these."""
    high_wider: float = np.nan
    """Its upper end."""
    p: float = np.nan
    """Two-sided, for the claim about this vocabulary: of a share against its chance, of a
    difference against 0."""
    population: str = ""
    """What `low` and `high` speak of, in words."""

    def moved(
        self, move: Callable[[float, float], tuple[float, float]], **changes: float
    ) -> "Estimate":
        """A copy with other intervals.

        Args:
            move: gives the new ends of an interval from its ends.
            changes: other fields and their new values.

        Returns:
            The copy.
        """
        for low, high in INTERVALS:
            changes[low], changes[high] = move(getattr(self, low), getattr(self, high))
        return replace(self, **changes)  # type: ignore[arg-type]


INTERVALS = (("low", "high"), ("low_fixed", "high_fixed"), ("low_wider", "high_wider"))
"""The fields of `Estimate` that are the ends of an interval."""
NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0)
"""The estimate for an empty set of items."""
Grouping = Clusters | np.ndarray
"""Clusters of items with their bindings, or only names (n,) of clusters."""


def describe_population(
    clusters: Clusters, finite_bindings: bool = False, models: str = THIS_MODEL
) -> str:
    """What the intervals of some items speak of, in words.

    Args:
        clusters: what the items share.
        finite_bindings: as in `CrossedMeans`.
        models: THIS_MODEL or NEW_TRAININGS.

    Returns:
        A phrase.

    Example:
        >>> describe_population(Clusters.from_names(["x", "y"], ["red:cube", "blue:ball"]))
        'this vocabulary (2 values, 2 objects); bindings like these; this model'
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


def claim_of(population: str) -> str:
    """The short name of what an interval speaks of, for sentences.

    Args:
        population: from `describe_population`.

    Returns:
        The part before its details.

    Example:
        >>> claim_of("this vocabulary (8 values, 12 objects); bindings like these; this model")
        'this vocabulary'
    """
    return population.split(";")[0].split(" (")[0]


def cluster_mean(outcomes: np.ndarray, clusters: Grouping, level: float = LEVEL) -> Estimate:
    """The mean of shares over items.

    Args:
        outcomes: (n,) in 0..1.
        clusters: what the items share.
        level: of the intervals, in 0..1.

    Returns:
        The mean with its intervals.

    Example:
        >>> mean = cluster_mean(np.array([1, 1, 0, 1]), np.array(["a", "b", "c", "d"]))
        >>> mean.value, mean.low < 0.75 < mean.high
        (0.75, True)
    """
    return cluster_means(outcomes[:, None], clusters, level)[0]


def cluster_means(
    outcomes: np.ndarray,
    clusters: Grouping,
    level: float = LEVEL,
    *,
    shares: Sequence[bool] | None = None,
    chance: Sequence[float] | None = None,
    weights: np.ndarray | None = None,
) -> list[Estimate]:
    """The mean of each column of outcomes, with its intervals.

    Args:
        outcomes: (n, k).
        clusters: what the items share.
        level: of the intervals, in 0..1.
        shares: (k,) which columns are in 0..1; all by default. Other columns have no interval if
            nothing varies.
        chance: (k,) the chance values of shares, for p; None: no p.
        weights: (n,) with sum 1; equal by default.

    Returns:
        An estimate for each column.

    Example:
        >>> both = cluster_means(np.array([[1, 0], [1, 1]]), np.array(["a", "b"]))
        >>> [mean.value for mean in both]
        [1.0, 0.5]
    """
    if len(outcomes) == 0:
        return [NOTHING] * outcomes.shape[1]
    if not isinstance(clusters, Clusters):
        clusters = Clusters.from_names(clusters)
    means = CrossedMeans(clusters, weights)
    means_of_images = CrossedMeans(clusters.images(), weights)
    population = describe_population(clusters)
    estimates = []
    for i, column in enumerate(outcomes.T.astype(float)):
        # A share is tested against its chance, a difference against 0.
        share = shares is None or bool(shares[i])
        null = 0.0
        if share:
            null = np.nan if chance is None else chance[i]
        estimate = from_estimates(
            means.estimate(column, share=share), clusters, level=level, null=null
        )
        # With bindings and clusters held fixed only renders vary: trials are images.
        if share and weights is None:
            low, high = _binomial_interval(column, clusters, level)
        else:
            of_images = means_of_images.estimate(column, share=share)
            low, high = of_images.vocabulary.interval(level)
        estimates.append(replace(estimate, low_fixed=low, high_fixed=high, population=population))
    return estimates


def from_estimates(
    estimates: Estimates, clusters: Clusters, *, level: float, null: float
) -> Estimate:
    """The intervals of both claims.

    Args:
        estimates: of a mean.
        clusters: what its items share. Without names of bindings there is no wider claim.
        level: of the intervals, in 0..1.
        null: the value that p is against; nan for no p.

    Returns:
        An estimate without `low_fixed`, `high_fixed` and `population`.
    """
    low, high = estimates.vocabulary.interval(level)
    low_wider, high_wider = np.nan, np.nan
    if clusters.levels()["values"]:
        low_wider, high_wider = estimates.like_these.interval(level)
    p = estimates.vocabulary.p(null) if np.isfinite(null) else np.nan
    return Estimate(
        estimates.vocabulary.value,
        low,
        high,
        len(clusters),
        len(np.unique(clusters.codes)),
        low_wider=low_wider,
        high_wider=high_wider,
        p=max(SMALLEST_P, p) if np.isfinite(p) else np.nan,
    )


def parts_differences(
    outcomes: np.ndarray,
    first: np.ndarray,
    *,
    second: np.ndarray,
    clusters: Clusters,
    level: float = LEVEL,
) -> list[Estimate]:
    """The mean over one part of the items less the mean over another.

    The parts may share items, scenes and clusters; effects that they share move both means. The
    interval is Student's t over the influence of each item on the difference: its deviation from
    the mean of its part, divided by the part's share of the items.

    Args:
        outcomes: (n, k).
        first: bool (n,) the first part. Together the parts are all items.
        second: bool (n,) the second part.
        clusters: what the items share.
        level: of the intervals, in 0..1.

    Returns:
        An estimate for each column; without interval if nothing varies.
    """
    influence = np.zeros(outcomes.shape)
    value = np.zeros(outcomes.shape[1])
    for part, sign in ((first, 1), (second, -1)):
        mean = outcomes[part].mean(axis=0)
        deviations = outcomes - mean
        influence += sign * part[:, None] * deviations * len(part) / part.sum()
        value += sign * mean
    estimates = cluster_means(influence + value, clusters, level, shares=[False] * len(value))
    # The mean of the influences is the value but for rounding.
    differences = []
    for estimate, exact in zip(estimates, value, strict=True):
        differences.append(replace(estimate, value=float(exact)))
    return differences


def difference_of_means(
    first: np.ndarray, second: np.ndarray, clusters: Grouping, level: float = LEVEL
) -> Estimate:
    """The difference of the means of two outcomes on the same items, from both means' intervals.

    Args:
        first: (n,) outcomes in 0..1.
        second: (n,) outcomes in 0..1.
        clusters: what the items share.
        level: of the intervals, in 0..1.

    Returns:
        first − second.

    Example:
        >>> ones, names = np.ones(20), np.arange(20)
        >>> difference = difference_of_means(ones, ones, names)
        >>> difference.value, difference.low < 0 < difference.high
        (0.0, True)
    """
    a, b = cluster_means(np.stack([first, second], axis=1), clusters, level)
    return subtract(a, b, a.n_items, a.n_clusters, level)


def subtract(
    a: Estimate, b: Estimate, n_items: int, n_clusters: int, level: float = LEVEL
) -> Estimate:
    """The difference a − b. Its intervals are combined from those of a and b (Newcombe 1998, method
    10), and p comes from the interval.

    Args:
        a: an estimate.
        b: another, of independent items or of the same.
        n_items: the number of items of both.
        n_clusters: the number of clusters of both.
        level: of the intervals, in 0..1.

    Returns:
        The difference; nan where a or b is.

    Example:
        >>> b = Estimate(0.5, 0.4, 0.6, 9, 9)
        >>> difference = subtract(Estimate(0.8, 0.7, 0.9, 9, 9), b, 18, 18)
        >>> round(difference.value, 3), round(difference.low, 3), round(difference.high, 3)
        (0.3, 0.159, 0.441)
    """
    value = a.value - b.value
    ends = {}
    for low, high in INTERVALS:
        # The difference is low where a is low and b is high. Distances from the values of
        # independent estimates add as errors do, by their squares.
        a_low, a_high = getattr(a, low), getattr(a, high)
        b_low, b_high = getattr(b, low), getattr(b, high)
        below = np.hypot(a.value - a_low, b_high - b.value)
        above = np.hypot(a_high - a.value, b.value - b_low)
        ends[low] = value - float(below)
        ends[high] = value + float(above)
    p = p_from_interval(value, ends["low"], ends["high"], level, n_clusters - 2)
    population = a.population
    if a.population != b.population:
        population = f"{a.population}, against {b.population}"
    return Estimate(
        value, n_items=n_items, n_clusters=n_clusters, p=p, population=population, **ends
    )


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """A difference and its intervals times a known factor; p does not change.

    Args:
        estimate: the difference.
        factor: at least 0.

    Returns:
        The scaled difference.

    Example:
        >>> half = scaled(Estimate(0.4, 0.2, 0.6, 10, 5, p=0.01), 0.5)
        >>> half.value, half.low, half.high, half.p
        (0.2, 0.1, 0.3, 0.01)
    """
    return estimate.moved(
        lambda low, high: (factor * low, factor * high), value=factor * estimate.value
    )


def p_from_interval(value: float, low: float, high: float, level: float, freedom: float) -> float:
    """The p-value against 0 of a value with an interval, which is read as Student's t. The interval
    ends at 0 if p is 1 − level.

    Args:
        value: the value.
        low: lower end of its interval.
        high: upper end.
        level: of the interval, in 0..1.
        freedom: degrees of freedom; values below 1 count as 1.

    Returns:
        p, at least SMALLEST_P; nan for a value or an interval that is nan.

    Example:
        >>> round(p_from_interval(0.1, 0.0, 0.2, 0.95, 7), 3)
        0.05
    """
    half = value - low if value > 0 else high - value
    if not np.isfinite(half) or half <= 0:
        return np.nan
    freedom = max(1, freedom)
    t = stats.t.ppf((1 + level) / 2, freedom) * abs(value) / half
    return max(SMALLEST_P, float(2 * stats.t.sf(t, freedom)))


def _binomial_interval(
    outcomes: np.ndarray, clusters: Clusters, level: float
) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934).

    Trials are the effective number of items, given how much the items of a scene agree; the number
    of scenes if all outcomes are equal.
    """
    from statsmodels.stats.proportion import proportion_confint

    value = outcomes.mean()
    residuals = outcomes - value
    total = np.square(residuals).sum()
    if total > 0:
        # 1 for independent items; the size of a scene if its items are all alike.
        scene_sums = np.bincount(clusters.scenes, weights=residuals)
        design_effect = np.square(scene_sums).sum() / total
        trials = len(outcomes) / max(1, design_effect)
    else:
        trials = len(np.unique(clusters.scenes))
    low, high = proportion_confint(value * trials, trials, alpha=1 - level, method="beta")
    return min(float(low), value), max(float(high), value)
