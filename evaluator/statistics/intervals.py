"""Means and differences of outcomes with intervals that respect dependence within clusters and between them.

`low` and `high` are for bindings like these: clusters and bindings vary, and so do values and objects if there are at
least ENOUGH. For `low_drawn` and `high_drawn`, values and objects vary even if there are few. `low_fixed` and
`high_fixed` hold bindings fixed; only renders vary (docs/statistics.md).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from evaluator.statistics.clusters import ENOUGH, Clusters
from evaluator.statistics.crossed import CrossedMeans
from evaluator.statistics.mixed import SMALLEST_P, MixedLogistic

LEVEL = 0.95
_ANY = 2


@dataclass(frozen=True)
class Estimate:
    """A value and its intervals, in the unit of the outcomes, nan for none; and its numbers of items and clusters.

    p: the two-sided p-value against the value by chance, for a difference against 0; nan for none. speaks_of: the
    population that `low` and `high` are about, in words.
    """

    value: float
    low: float
    high: float
    n_items: int
    n_clusters: int
    low_fixed: float = np.nan
    high_fixed: float = np.nan
    low_drawn: float = np.nan
    high_drawn: float = np.nan
    p: float = np.nan
    speaks_of: str = ""

    def moved(self, move: Callable[[float, float], tuple[float, float]], **changes: float) -> "Estimate":
        """A copy with `move` applied to every interval, and with other `changes`."""
        for low, high in INTERVALS:
            changes[low], changes[high] = move(getattr(self, low), getattr(self, high))
        return replace(self, **changes)  # type: ignore[arg-type]


INTERVALS = (("low", "high"), ("low_fixed", "high_fixed"), ("low_drawn", "high_drawn"))
NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0)
"""The estimate for an empty set of items."""
Grouping = Clusters | np.ndarray
"""Clusters of items with their bindings, or only names (n,) of clusters."""


def cluster_mean(outcomes: np.ndarray, clusters: Grouping, level: float = LEVEL) -> Estimate:
    """The mean of outcomes (n,) in 0..1 over items (micro), with intervals of `level` in 0..1."""
    return cluster_means(outcomes[:, None], clusters, level)[0]


def cluster_means(
    outcomes: np.ndarray,
    clusters: Grouping,
    level: float = LEVEL,
    shares: Sequence[bool] | None = None,
    chance: Sequence[float] | None = None,
) -> list[Estimate]:
    """`cluster_mean` of each column of outcomes (n, k).

    shares (k,): which columns are in 0..1, by default all. Shares have intervals from the mixed logistic model, other
    columns from Student's t, none if nothing varies. chance (k,): the chance values of shares, for p.
    """
    if len(outcomes) == 0:
        return [NOTHING] * outcomes.shape[1]
    clusters = _grouped(clusters)
    models = [MixedLogistic(clusters, enough) for enough in _enough(clusters)]
    means = _means(clusters)
    found = []
    for i, column in enumerate(outcomes.T.astype(float)):
        if shares is None or shares[i]:
            found.append(_share(models, column, clusters, level, np.nan if chance is None else chance[i]))
        else:
            found.append(_score(means, column, clusters, level))
    return found


def parts_differences(
    outcomes: np.ndarray, first: np.ndarray, second: np.ndarray, clusters: Clusters, level: float = LEVEL
) -> list[Estimate]:
    """For each column of outcomes (n, k), the mean over the part `first` minus the mean over the part `second`. The
    parts may share items, scenes and clusters; shared effects move both means.

    first, second: bool (n,), together all items. The interval is Student's t over each item's influence on the
    difference: its deviation from the mean of its part, divided by the part's share. No interval if nothing varies.
    """
    influence, value = np.zeros(outcomes.shape), np.zeros(outcomes.shape[1])
    for part, sign in ((first, 1), (second, -1)):
        mean = outcomes[part].mean(axis=0)
        influence += sign * part[:, None] * (outcomes - mean) * len(part) / part.sum()
        value += sign * mean
    found = cluster_means(influence + value, clusters, level, [False] * len(value))
    return [replace(each, value=float(exact)) for each, exact in zip(found, value, strict=True)]


def difference_of_means(first: np.ndarray, second: np.ndarray, clusters: Grouping, level: float = LEVEL) -> Estimate:
    """The difference of the means of two outcomes (n,) in 0..1 on the same items; its interval is combined from both
    means' intervals."""
    a, b = cluster_means(np.stack([first, second], axis=1), clusters, level)
    return subtract(a, b, a.n_items, a.n_clusters, level)


def weighted_means(
    outcomes: np.ndarray, clusters: Grouping, weights: np.ndarray, shares: Sequence[bool], level: float = LEVEL
) -> list[Estimate]:
    """The mean of each column of outcomes (n, k) over n > 0 items by weights (n,) that sum to 1.

    The interval of a share is the interval of the unweighted mean, moved in logits to the weighted mean and widened by
    √(n Σw²), the factor by which unequal weights increase the standard error (Kish 1965). Other columns have Student's
    t over the weighted items.
    """
    clusters = _grouped(clusters)
    wider = float(np.sqrt(len(weights) * np.square(weights).sum()))
    means = _means(clusters, weights)
    estimates = cluster_means(outcomes, clusters, level, shares)
    for i, estimate in enumerate(estimates):
        value = math.fsum(weights * outcomes[:, i]) / math.fsum(weights)  # exactly 1 if all outcomes are 1
        if shares[i]:
            estimates[i] = _moved(estimate, value, wider)
        else:
            estimates[i] = replace(_score(means, outcomes[:, i].astype(float), clusters, level), value=value)
    return estimates


def subtract(a: Estimate, b: Estimate, n_items: int, n_clusters: int, level: float = LEVEL) -> Estimate:
    """The difference a − b; its intervals are combined from the intervals of a and b (Newcombe 1998, method 10), p
    comes from the interval."""
    value = a.value - b.value
    ends = {}
    for low, high in INTERVALS:
        below = np.hypot(a.value - getattr(a, low), getattr(b, high) - b.value)
        above = np.hypot(getattr(a, high) - a.value, b.value - getattr(b, low))
        ends[low], ends[high] = value - float(below), value + float(above)
    p = p_from_interval(value, ends["low"], ends["high"], level, n_clusters - 2)
    speaks_of = a.speaks_of if a.speaks_of == b.speaks_of else f"{a.speaks_of}, against {b.speaks_of}"
    return Estimate(value, n_items=n_items, n_clusters=n_clusters, p=p, speaks_of=speaks_of, **ends)


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """A difference and its intervals times a known factor ≥ 0; p does not change.

    >>> half = scaled(Estimate(0.4, 0.2, 0.6, 10, 5, p=0.01), 0.5)
    >>> half.value, half.low, half.high, half.p
    (0.2, 0.1, 0.3, 0.01)
    """
    return estimate.moved(lambda low, high: (factor * low, factor * high), value=factor * estimate.value)


def p_from_interval(value: float, low: float, high: float, level: float, freedom: float) -> float:
    """The p-value against 0 of a value with an interval, which is read as Student's t; nan for nan.

    The interval ends at 0 if p is 1 − level. freedom: degrees of freedom; values below 1 count as 1.
    """
    half = value - low if value > 0 else high - value
    if not np.isfinite(half) or half <= 0:
        return np.nan
    freedom = max(1, freedom)
    t = stats.t.ppf((1 + level) / 2, freedom) * abs(value) / half
    return max(SMALLEST_P, float(2 * stats.t.sf(t, freedom)))


def _grouped(clusters: Grouping) -> Clusters:
    return clusters if isinstance(clusters, Clusters) else Clusters.of(clusters)


def _share(
    models: Sequence[MixedLogistic], outcomes: np.ndarray, clusters: Clusters, level: float, chance: float
) -> Estimate:
    """The mean of a share. If all outcomes are 0 (or 1), the interval starts (ends) there."""
    value = float(outcomes.mean())
    posteriors = [model.posterior(outcomes) for model in models]
    low, high = _around(value, *posteriors[0].interval(level))
    fixed = _around(value, *_binomial(outcomes, clusters, level))
    drawn = _around(value, *posteriors[-1].interval(level))
    p = np.nan if np.isnan(chance) else posteriors[0].p_value(chance)
    return Estimate(value, low, high, len(outcomes), _count(clusters), *fixed, *drawn, p, clusters.speaks_of())


def _enough(clusters: Clusters) -> tuple[int, ...]:
    """The least numbers of values, or objects, for random effects: for `low` and `high`, then for `low_drawn`; only the
    first if no effects are held."""
    return (ENOUGH, _ANY) if clusters.main_effects()[1].shape[1] else (ENOUGH,)


def _means(clusters: Clusters, weights: np.ndarray | None = None) -> list[CrossedMeans]:
    """The estimators for `_score`: one for each of `_enough`, then one that holds bindings fixed."""
    of_images = CrossedMeans(clusters.images(), weights)
    return [*(CrossedMeans(clusters, weights, enough) for enough in _enough(clusters)), of_images]


def _score(means: Sequence[CrossedMeans], outcomes: np.ndarray, clusters: Clusters, level: float) -> Estimate:
    found = means[0].estimate(outcomes)
    drawn, fixed = (each.interval(outcomes, level) for each in means[-2:])
    p = max(SMALLEST_P, found.p) if np.isfinite(found.p) else np.nan
    low, high = found.interval(level)
    value, population = float(outcomes.mean()), clusters.speaks_of()
    return Estimate(value, low, high, len(outcomes), _count(clusters), *fixed, *drawn, p, population)


def _binomial(outcomes: np.ndarray, clusters: Clusters, level: float) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934). Trials: the effective number of items, given how much the
    items of a scene agree; the number of scenes if all outcomes are equal."""
    from statsmodels.stats.proportion import proportion_confint

    n, value = len(outcomes), outcomes.mean()
    residuals = outcomes - value
    total = np.square(residuals).sum()
    by_scene = np.square(np.bincount(clusters.scenes, weights=residuals)).sum()
    trials = n / max(1, by_scene / total) if total > 0 else len(np.unique(clusters.scenes))
    low, high = proportion_confint(value * trials, trials, alpha=1 - level, method="beta")
    return float(low), float(high)


def _around(value: float, low: float, high: float) -> tuple[float, float]:
    return (0.0 if value == 0 else min(low, value)), (1.0 if value == 1 else max(high, value))


def _moved(estimate: Estimate, value: float, wider: float) -> Estimate:
    """The estimate moved to another value; its intervals keep their width in logits, times `wider`."""

    def bounds(low: float, high: float) -> tuple[float, float]:
        if estimate.value in (0, 1):
            return low, high
        center = logit(estimate.value)
        ends = logit(value) + wider * (logit(np.array([low, high])) - center)
        return float(expit(ends[0])), float(expit(ends[1]))

    return estimate.moved(bounds, value=value, p=np.nan)


def _count(clusters: Clusters) -> int:
    return len(np.unique(clusters.codes))
