"""The difference of two models on the same items: one statistical model gives its interval, p and
power, for each claim.

Items are crossed with the trainings of each model. Values and objects, bindings, clusters and
scenes have random effects on the difference (generator/base/crossed.py), and so have trainings. The
variance of the difference is the sum of their variances, with Satterthwaite's degrees of freedom.
Radiology compares readers crossed with cases in this way (Obuchowski and Rockette 1995).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

from evaluator.statistics.intervals import LEVEL, difference_of_means
from evaluator.statistics.sign_test import sharpen
from generator.base.clusters import Clusters
from generator.base.crossed import (
    NOISE,
    OF_COMPARISONS,
    TINY,
    TRAININGS,
    CrossedMeans,
    MeanEstimate,
    satterthwaite,
    variance_of_difference,
)

POWER = 0.8
"""The share of cases in which a detectable difference is shown."""
_MOST_TIMES = 100_000
"""More blocks or items than so many times those at hand are reported as "no number is enough"."""


@dataclass(frozen=True)
class Difference:
    """The mean of a first model less that of a second: means over trainings, items and blocks."""

    value: float
    """The difference, -1..1."""
    low: float
    """Lower end of the interval about this vocabulary; nan if it cannot be estimated."""
    high: float
    """Its upper end."""
    p: float
    """Two-sided, of the claim about this vocabulary."""
    low_wider: float
    """Lower end of the interval about values and objects like these; nan if it cannot be
    estimated."""
    high_wider: float
    """Its upper end."""
    freedom: float
    """Degrees of freedom of the total variance."""
    of_items: MeanEstimate
    """The variance by values and objects, bindings, clusters and scenes."""
    of_trainings: float | None
    """The variance by trainings; None (unknown) if each model has a single run per block."""
    blocks: int
    """The number of blocks."""
    outlook: "_Outlook" = field(repr=False, compare=False)
    """What other true differences would be like on these items."""

    @property
    def variance(self) -> float:
        """The variance of the difference."""
        return self.of_items.variance + (self.of_trainings or 0)


@dataclass(frozen=True)
class _Outlook:
    """What is needed to say how a pair of models with another true difference would be measured."""

    means: CrossedMeans
    """Of the items of all blocks."""
    components: Mapping[str, float]
    """The estimated variance of each factor's effect on the difference of a scene."""
    shares: tuple[float, float]
    """The mean share of right answers of each model, in 0..1, exclusive."""
    training_freedom: int
    """Degrees of freedom of the variance by trainings."""


@dataclass(frozen=True)
class _Precision:
    """How precisely a difference is measured."""

    error: float
    """Its true variance."""
    estimate: float
    """The variance that is estimated on average; prior guesses make it differ."""
    freedom: float
    """Degrees of freedom of the estimate."""
    of_scenes: float
    """The part of `error` and of `estimate` that more scenes lower."""


Sides = tuple[np.ndarray, np.ndarray]
"""The outcomes (runs, n) in 0..1 of two models in a block."""


def model_difference(
    blocks: Sequence[Sides], clusters: Clusters, level: float = LEVEL
) -> Difference:
    """The difference of two models. Blocks have equal weights, and so have the runs of a block.

    If no item tells the models apart, or all do so equally, the interval is combined from those of
    the two means. If one model is right on all items and the other on none, the exact sign test
    sharpens it (sign_test.py).

    Args:
        blocks: the outcomes of both models in each block.
        clusters: what the items of all blocks share, concatenated in the order of blocks.
        level: of the intervals, in 0..1.

    Returns:
        The difference with its intervals.

    Example:
        >>> right, half = np.ones((1, 40)), (np.arange(40) % 2 == 0).astype(float)[None]
        >>> difference = model_difference([(right, half)], Clusters.from_names(np.arange(40)))
        >>> difference.value, difference.p < 0.001
        (0.5, True)
    """
    weights, first, second = _means_of_items(blocks)

    # The variance by items, then by trainings.
    means = CrossedMeans(clusters, weights, prior=OF_COMPARISONS)
    first_share = means.shrunk_share(float(weights @ first))
    second_share = means.shrunk_share(float(weights @ second))
    shares = (first_share, second_share)
    items = means.estimate(first - second, variance=variance_of_difference(*shares))
    of_trainings, training_freedom = _variance_by_trainings(blocks, clusters)
    of_vocabulary = _with_trainings(items.vocabulary, of_trainings, training_freedom)
    of_wider_claim = _with_trainings(items.like_these, of_trainings, training_freedom)

    # The intervals of both claims. Where nothing varies, they come from both means.
    low, high = of_vocabulary.interval(level)
    low_wider, high_wider = of_wider_claim.interval(level)
    p = of_vocabulary.p()
    if np.isnan(low):
        combined = difference_of_means(first, second, clusters, level)
        combined = sharpen(combined, clusters, level)
        low, high, p = combined.low, combined.high, combined.p
        low_wider, high_wider = combined.low_wider, combined.high_wider
    # The approximation may pass the ends of the range.
    low, high, low_wider, high_wider = np.clip([low, high, low_wider, high_wider], -1, 1)
    return Difference(
        value=of_vocabulary.value,
        low=float(low),
        high=float(high),
        p=p,
        low_wider=float(low_wider),
        high_wider=float(high_wider),
        freedom=of_vocabulary.freedom,
        of_items=items.vocabulary,
        of_trainings=of_trainings,
        blocks=len(blocks),
        outlook=_Outlook(means, items.components, shares, training_freedom),
    )


def _means_of_items(blocks: Sequence[Sides]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weight of each item of all blocks, with sum 1 and equal sums for blocks; and the mean
    outcome of each model on it, over its runs. (n,) each."""
    sizes = [first.shape[1] for first, _ in blocks]
    weight_of_block = [1 / (len(blocks) * size) for size in sizes]
    weights = np.repeat(weight_of_block, sizes)
    first_means = [first.mean(axis=0) for first, _ in blocks]
    second_means = [second.mean(axis=0) for _, second in blocks]
    return weights, np.concatenate(first_means), np.concatenate(second_means)


def _with_trainings(items: MeanEstimate, of_trainings: float | None, freedom: int) -> MeanEstimate:
    """The estimate with the variance by trainings added."""
    if of_trainings is None or not items.known:
        return items
    variances = np.array([items.variance, of_trainings])
    freedoms = np.array([items.freedom, freedom])
    # Rounding errors must not count as a variance.
    total_freedom = satterthwaite(np.where(variances > TINY, variances, 0), freedoms)
    all_parts = {**items.parts, TRAININGS: of_trainings}
    return MeanEstimate(items.value, all_parts, total_freedom, items.centre)


def _variance_by_trainings(blocks: Sequence[Sides], clusters: Clusters) -> tuple[float | None, int]:
    """The variance by trainings, None if no model has several runs of a block, and its degrees of
    freedom.

    The variance of a training is half the mean of d² − v over pairs of trainings of a model, at
    least 0: d is their difference, and v the variance of d by items, which the variance by items
    already contains.
    """
    of_blocks = []
    freedom = 0
    start = 0
    for sides in blocks:
        rows = np.arange(start, start + sides[0].shape[1])
        start += len(rows)
        repeated = [runs for runs in sides if len(runs) > 1]
        if not repeated:
            continue
        means = CrossedMeans(clusters.take(rows), prior=OF_COMPARISONS)
        excesses = []
        for runs in repeated:
            for one, other in combinations(runs, 2):
                share = means.shrunk_share(float((one.mean() + other.mean()) / 2))
                variance = variance_of_difference(share, share)
                pair = means.estimate(one - other, variance=variance).like_these
                excesses.append(pair.value**2 - pair.variance)
        # The mean of k trainings has a k-th of the variance of one.
        of_one_training = max(0.0, float(np.mean(excesses)) / 2)
        of_blocks.append(of_one_training * sum(1 / len(runs) for runs in repeated))
        freedom += sum(len(runs) - 1 for runs in repeated)
    if not of_blocks:
        return None, freedom
    # The variance of a mean over blocks.
    return sum(of_blocks) / len(blocks) ** 2, freedom


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """McNemar's exact two-sided test with mid-p (Fagerland, Lydersen and Laake 2013).

    Args:
        first: (n,) outcomes 0 and 1 of a model.
        second: those of another on the same items, which are taken as independent.

    Returns:
        p in 0..1.

    Example:
        >>> round(mcnemar(np.array([1, 1, 1, 1, 1, 0, 0]), np.array([0, 0, 0, 0, 0, 0, 1])), 6)
        0.125
    """
    only_first = int((first > second).sum())
    only_second = int((first < second).sum())
    smaller = min(only_first, only_second)
    total = only_first + only_second
    # mid-p: the observed number counts half.
    below = stats.binom.cdf(smaller - 1, total, 0.5)
    at_observed = stats.binom.pmf(smaller, total, 0.5)
    tail = below + at_observed / 2
    return float(min(1.0, 2 * tail))


def detectable(difference: Difference, level: float = LEVEL) -> float | None:
    """The smallest true difference that is shown in 80% of cases.

    One model stays as right as the better (or, below 50%, the worse) of these two, and the other
    is less (more) often right. Effects in logits stay as they were estimated, so the variance
    changes with the shares.

    Args:
        difference: of two models on the items in question.
        level: of the interval that must leave out 0, in 0..1.

    Returns:
        A difference in 0..1; None if no other model would be told apart, or if the variance is
        unknown.
    """
    if not difference.of_items.known:
        return None

    def surplus(lead: float) -> float:
        return lead - _lead_for_power(_precision_at(difference, lead), level)

    # The other model can fall to 0, or rise to 1.
    base = _base_share(difference)
    most = max(base, 1 - base)
    if surplus(most) < 0:
        return None
    return float(brentq(surplus, 0.0, most, xtol=1e-4))


def block_seeds_needed(difference: Difference, lead: float, level: float = LEVEL) -> int | None:
    """The number of blocks like these that show a true difference in 80% of cases.

    Args:
        difference: of two models on the blocks at hand.
        lead: the true difference, in 0..1.
        level: of the interval that must leave out 0, in 0..1.

    Returns:
        A number of blocks; None if 100,000 times as many do not show it.
    """
    if not difference.of_items.known:
        return None
    precision = _precision_at(difference, lead)

    def is_shown(seeds: int) -> bool:
        times = seeds / difference.blocks
        error = precision.error / times
        estimate = precision.estimate / times
        more = _Precision(error, estimate, precision.freedom * times, 0.0)
        return _lead_for_power(more, level) <= lead

    return _least_number(is_shown)


def items_needed(
    difference: Difference, lead: float, *, items: int, level: float = LEVEL
) -> int | None:
    """The number of items of the same bindings and clusters that show a true difference in 80% of
    cases. More renders lower only the variance by scenes.

    Args:
        difference: of two models on the items at hand.
        lead: the true difference, in 0..1.
        items: the number of items at hand.
        level: of the interval that must leave out 0, in 0..1.

    Returns:
        A number of items; None if no number is enough.
    """
    if not difference.of_items.known:
        return None
    precision = _precision_at(difference, lead)

    def lead_with(scenes_part: float) -> float:
        saved = precision.of_scenes - scenes_part
        error = precision.error - saved
        estimate = precision.estimate - saved
        if min(error, estimate) <= TINY:
            return 0.0
        return _lead_for_power(_Precision(error, estimate, precision.freedom, 0.0), level)

    if lead_with(0.0) >= lead:
        return None
    return _least_number(
        lambda number: lead_with(precision.of_scenes * items / number) <= lead,
        start=difference.blocks,
    )


def _base_share(difference: Difference) -> float:
    """The share of the model that stays as it is when another difference is imagined: the one
    nearer to 0 or 1, so that there is room for a difference."""
    shares = difference.outlook.shares
    return max(shares) if sum(shares) >= 1 else min(shares)


def _precision_at(difference: Difference, lead: float) -> _Precision:
    """How precisely a true difference of `lead` would be measured on these items.

    Effects in logits change shares by p (1 - p) times as much, so the variances of effects grow
    with its square and that of noise with p (1 - p).
    """
    # The shares of both models, had they this difference.
    outlook = difference.outlook
    before = outlook.shares
    base = _base_share(difference)
    other = base - lead if sum(before) >= 1 else base + lead
    # At 0 and 1 no effect in logits changes a share.
    other = float(np.clip(other, 0.01, 0.99))
    after = (base, other)

    # The variances at these shares.
    noise_ratio = _sum_of_powers(after, 1) / _sum_of_powers(before, 1)
    effect_ratio = _sum_of_powers(after, 2) / _sum_of_powers(before, 2)
    components = {}
    for name, component in outlook.components.items():
        ratio = noise_ratio if name == NOISE else effect_ratio
        components[name] = component * ratio
    error, estimate = outlook.means.anticipate(components, variance=variance_of_difference(*after))
    of_trainings = difference.of_trainings
    if of_trainings is not None:
        of_trainings *= effect_ratio
        error += of_trainings
        estimate = _with_trainings(estimate, of_trainings, outlook.training_freedom)
    of_scenes = estimate.parts.get(NOISE, 0.0)
    return _Precision(error, estimate.variance, estimate.freedom, of_scenes)


def _sum_of_powers(shares: tuple[float, float], power: int) -> float:
    """The sum of (p (1 - p))^power over shares p."""
    return sum((share * (1 - share)) ** power for share in shares)


def _lead_for_power(precision: _Precision, level: float) -> float:
    """The true difference that exceeds the reach of its interval with probability POWER.

    The reach is t standard errors of the estimated variance, whose root has about the mean
    1 - 1/(4f) and the variance 1/(2f) of its true value for f degrees of freedom (Abramowitz and
    Stegun 1964, 26.7.10).
    """
    # All in units of the true standard error.
    freedom = max(precision.freedom, 1.0)
    t = special.stdtrit(freedom, (1 + level) / 2)
    reach = t * sqrt(precision.estimate / precision.error)
    mean_reach = reach * (1 - 1 / (4 * freedom))
    spread = sqrt(1 + reach**2 / (2 * freedom))
    in_errors = mean_reach + special.ndtri(POWER) * spread
    return float(in_errors * sqrt(precision.error))


def _least_number(is_enough: Callable[[int], bool], start: int = 1) -> int | None:
    """The least integer from `start` on that is enough, by doubling and bisection; None above
    100,000 times `start`."""
    high = start
    while not is_enough(high):
        high *= 2
        if high > start * _MOST_TIMES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True)
class Rank:
    """The rank of a model with its 95% confidence set. Models with equal means share the best of
    their ranks."""

    rank: int
    """1 is best."""
    low: int
    """The best rank of the confidence set."""
    high: int
    """The worst rank of the confidence set."""


def ranks(
    means: Sequence[float], differences: dict[tuple[int, int], Difference], level: float = LEVEL
) -> list[Rank]:
    """The rank of each of k models.

    A confidence set counts a model as behind another if p ≤ (1 − level) / (k − 1), so that the
    k − 1 comparisons of a model hold jointly (Mogstad et al. 2024, section 3.3, with Bonferroni's
    inequality).

    Args:
        means: (k,) their means; higher is better.
        differences: of each pair of models (i, j) with i < j.
        level: of the confidence sets, in 0..1.

    Returns:
        Their ranks, in the order of `means`.
    """
    k = len(means)
    alpha = (1 - level) / max(1, k - 1)
    placings = []
    for model in range(k):
        ahead = 0
        behind = 0
        for (first, second), difference in differences.items():
            if model not in (first, second) or difference.p > alpha:
                continue
            if (difference.value > 0) == (model == first):
                behind += 1
            else:
                ahead += 1
        # Means that differ by rounding alone are equal.
        rank = 1 + sum(other > means[model] + 1e-12 for other in means)
        placings.append(Rank(rank, 1 + ahead, k - behind))
    return placings


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Benjamini and Hochberg (1995): rejecting all that are ≤ q has a false
    discovery rate of at most q.

    Args:
        p_values: (n,) in 0..1.

    Returns:
        (n,) the adjusted p-values.

    Example:
        >>> [round(q, 6) for q in benjamini_hochberg([0.01, 0.04, 0.03])]
        [0.03, 0.04, 0.04]
    """
    if not p_values:
        return []
    from statsmodels.stats.multitest import fdrcorrection

    return [float(q) for q in fdrcorrection(p_values)[1]]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Holm (1979): the probability that any true null hypothesis gets one ≤ α
    is at most α, under any dependence of the tests.

    Args:
        p_values: (n,) in 0..1.

    Returns:
        (n,) the adjusted p-values.

    Example:
        >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    # Not statsmodels' multipletests: it collects garbage in each call, which takes 0.15 s.
    order = np.argsort(p_values)
    times = np.arange(len(order), 0, -1)
    rising = np.maximum.accumulate(times * np.take(p_values, order))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(rising, 1)
    return [float(p) for p in adjusted]
