"""The difference of two models on the same items: one statistical model gives its interval, p and
power, for each claim.

Items are crossed with the trainings of each model. Values and objects, bindings, clusters and
scenes have random effects on the difference (generator/base/crossed.py), and so have trainings. The
variance of the difference is the sum of their variances, with Satterthwaite's degrees of freedom.
Radiology compares readers crossed with cases in this way (Obuchowski and Rockette 1995).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from scipy import stats

from evaluator.statistics.intervals import LEVEL, difference_of_means
from generator.base.clusters import Clusters
from generator.base.crossed import (
    NOISE,
    OF_COMPARISONS,
    TINY,
    CrossedMeans,
    MeanEstimate,
    satterthwaite,
)

POWER = 0.8
_MOST_BLOCKS = 100_000


@dataclass(frozen=True)
class Difference:
    """first − second, means over trainings, items and blocks, for the claim about this
    vocabulary."""

    value: float
    low: float
    high: float
    """The interval about this vocabulary; nan if it cannot be estimated."""
    p: float
    """Two-sided, of the same claim."""
    low_wider: float
    high_wider: float
    """The interval about values and objects like these; nan if it cannot be estimated."""
    freedom: float
    """Degrees of freedom of the total variance."""
    of_items: MeanEstimate
    """The variance by values and objects, bindings, clusters and scenes."""
    of_trainings: float | None
    """The variance by trainings; None (unknown) if each model has a single run per block."""
    blocks: int

    @property
    def variance(self) -> float:
        """The variance of the difference."""
        return self.of_items.variance + (self.of_trainings or 0)


Sides = tuple[np.ndarray, np.ndarray]
"""The outcomes (runs, n) in 0..1 of two models in a block."""


def model_difference(
    blocks: Sequence[Sides], clusters: Clusters, level: float = LEVEL
) -> Difference:
    """The difference of two models. Blocks have equal weights, and so have the runs of a block.

    clusters: of the items of all blocks, concatenated in the order of blocks. If no item tells the
    models apart, or all do so equally, the interval is combined from the intervals of the two
    means.
    """
    b, sizes = len(blocks), [first.shape[1] for first, _ in blocks]
    weights = np.repeat([1 / (b * n) for n in sizes], sizes)
    first, second = (np.concatenate([sides[i].mean(axis=0) for sides in blocks]) for i in (0, 1))
    items = CrossedMeans(clusters, weights, prior=OF_COMPARISONS).estimate(first - second)
    of_trainings, freedom = _of_trainings(blocks, clusters)
    whole = _with_trainings(items.vocabulary, of_trainings, freedom)
    wider = _with_trainings(items.like_these, of_trainings, freedom)
    (low, high), (low_wider, high_wider), p = (
        whole.interval(level),
        wider.interval(level),
        whole.p(),
    )
    if np.isnan(low):
        combined = difference_of_means(first, second, clusters, level)
        low, high, p = combined.low, combined.high, combined.p
        low_wider, high_wider = combined.low_wider, combined.high_wider
    low, high, low_wider, high_wider = np.clip([low, high, low_wider, high_wider], -1, 1)
    return Difference(
        value=whole.value,
        low=float(low),
        high=float(high),
        p=p,
        low_wider=float(low_wider),
        high_wider=float(high_wider),
        freedom=whole.freedom,
        of_items=items.vocabulary,
        of_trainings=of_trainings,
        blocks=b,
    )


def _with_trainings(items: MeanEstimate, of_trainings: float | None, freedom: int) -> MeanEstimate:
    """The estimate with the variance by trainings added."""
    if of_trainings is None or not items.known:
        return items
    parts = np.array([items.variance, of_trainings])
    both = satterthwaite(np.where(parts > TINY, parts, 0), np.array([items.freedom, freedom]))
    return MeanEstimate(items.value, {**items.parts, "trainings": of_trainings}, both, items.centre)


def _of_trainings(blocks: Sequence[Sides], clusters: Clusters) -> tuple[float | None, int]:
    """The variance by trainings, None if no model has several runs of a block, and its degrees of
    freedom.

    The variance of a training is half the mean of d² − v over pairs of trainings of a model, at
    least 0: d is their difference, and v the variance of d by items, which the variance by items
    already contains.
    """
    of_blocks, freedom, start = [], 0, 0
    for sides in blocks:
        rows = np.arange(start, start + sides[0].shape[1])
        start += len(rows)
        repeated = [runs for runs in sides if len(runs) > 1]
        if repeated:
            means = CrossedMeans(clusters.take(rows), prior=OF_COMPARISONS)
            pairs = [
                means.estimate(one - other).like_these
                for runs in repeated
                for one, other in combinations(runs, 2)
            ]
            of_one = max(0.0, float(np.mean([pair.value**2 - pair.variance for pair in pairs])) / 2)
            of_blocks.append(of_one * sum(1 / len(runs) for runs in repeated))
            freedom += sum(len(runs) - 1 for runs in repeated)
    return (sum(of_blocks) / len(blocks) ** 2 if of_blocks else None), freedom


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """McNemar's exact two-sided mid-p for outcomes 0 and 1 (n,) on the same items, taken as
    independent (Fagerland et al. 2013).

    >>> round(mcnemar(np.array([1, 1, 1, 1, 1, 0, 0]), np.array([0, 0, 0, 0, 0, 0, 1])), 6)
    0.125
    """
    only = int((first > second).sum()), int((first < second).sum())
    smaller, n = min(only), sum(only)
    tail = stats.binom.cdf(smaller - 1, n, 0.5) + stats.binom.pmf(smaller, n, 0.5) / 2
    return float(min(1.0, 2 * tail))


def detectable(found: Difference, level: float = LEVEL) -> float | None:
    """The smallest true difference (0..1) that is shown in 80% of cases; None if it is above 1 or
    the variance is unknown."""
    return _detectable(found.variance, found.freedom, level)


def block_seeds_needed(found: Difference, difference: float, level: float = LEVEL) -> int | None:
    """The number of blocks like these that show a true difference (0..1) in 80% of cases; None if
    100,000 do not."""
    b = found.blocks

    def shown(seeds: int) -> bool:
        least = _detectable(found.variance * b / seeds, found.freedom * seeds / b, level)
        return least is not None and least <= difference

    return _least(shown)


def items_needed(
    found: Difference, difference: float, items: int, level: float = LEVEL
) -> int | None:
    """The number of items of the same bindings and clusters that show a true difference (0..1) in
    80% of cases; None if no number does.

    More renders lower only the variance by scenes.
    """
    of_scenes = found.of_items.parts.get(NOISE, 0.0)
    rest = found.variance - of_scenes

    def shown(times: int) -> bool:
        least = _detectable(rest + of_scenes * items / times, found.freedom, level)
        return least is not None and least <= difference

    least = _detectable(rest, found.freedom, level) if rest > TINY else 0.0
    if least is None or least >= difference:
        return None
    return _least(shown, start=found.blocks)


def _detectable(variance: float, freedom: float, level: float) -> float | None:
    """(t₁ + t₂) standard errors, t₁ and t₂ the quantiles of Student's t at the level and at the
    power; None above 1."""
    if not variance > TINY or not freedom > 0:
        return None
    least = float(stats.t.ppf([(1 + level) / 2, POWER], freedom).sum() * sqrt(variance))
    return least if least <= 1 else None


def _least(shown: Callable[[int], bool], start: int = 1) -> int | None:
    """The least integer from `start` on for which `shown` is true, by doubling and bisection; None
    above 100,000 · `start`."""
    high = start
    while not shown(high):
        high *= 2
        if high > start * _MOST_BLOCKS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Rank:
    """A rank, 1 is best, and its 95% confidence set low..high. Models with equal means share the
    best of their ranks."""

    rank: int
    low: int
    high: int


def ranks(
    means: Sequence[float], differences: dict[tuple[int, int], Difference], level: float = LEVEL
) -> list[Rank]:
    """The rank of each of k models, from the differences of each pair (i < j).

    Confidence sets count a model as behind another if p ≤ (1 − level) / (k − 1), so that the k − 1
    comparisons of a model hold jointly (Mogstad et al. 2024, section 3.3, with Bonferroni's
    inequality).
    """
    k = len(means)
    alpha = (1 - level) / max(1, k - 1)
    found = []
    for i in range(k):
        ahead = behind = 0
        for (a, b), each in differences.items():
            if i in (a, b) and each.p <= alpha:
                leads = (each.value > 0) == (i == a)
                ahead, behind = ahead + (not leads), behind + leads
        best = 1 + sum(other > means[i] + 1e-12 for other in means)
        found.append(Rank(best, 1 + ahead, k - behind))
    return found


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Benjamini and Hochberg (1995): rejecting all that are ≤ q has a false
    discovery rate ≤ q.

    >>> [round(q, 6) for q in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    if not p_values:
        return []
    from statsmodels.stats.multitest import fdrcorrection

    return [float(q) for q in fdrcorrection(p_values)[1]]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Holm (1979): the probability that any true null hypothesis gets one ≤ α
    is at most α.

    This holds under any dependence of the tests.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(
        p_values
    )  # not statsmodels' multipletests: it collects garbage in each call, 0.15 s
    rising = np.maximum.accumulate(np.arange(len(order), 0, -1) * np.take(p_values, order))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(rising, 1)
    return [float(p) for p in corrected]
