"""The mixed logistic model against direct integration, and what intervals must never do."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logsumexp

from evaluator.statistics import mixed
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.mixed import MixedLogistic, Posterior
from tests.evaluator.statistics.designs import block_cells, block_clusters, outcomes_of

CONSTANTS = np.linspace(-12, 12, 73)


def interval(clusters: Clusters, outcomes: np.ndarray) -> tuple[float, float]:
    return MixedLogistic(clusters).posterior(outcomes).interval(0.95)


def integrated(
    right: Sequence[int],
    sizes: Sequence[int],
    weights: np.ndarray | None = None,
    spreads: np.ndarray = mixed._SPREADS,
    constants: np.ndarray = CONSTANTS,
) -> tuple[float, float]:
    """The interval by a sum over each cluster's effect, and Monte Carlo over those of bindings, weights (cells,
    bindings). Standard deviations and constants are those of a grid."""
    z = np.linspace(-5, 5, 41)
    mass = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    weights = np.zeros((len(right), 0)) if weights is None else weights
    b = np.random.default_rng(0).standard_normal((500 if weights.size else 1, weights.shape[1]))
    cells, times = np.unique(np.column_stack([right, sizes, weights]), axis=0, return_counts=True)
    means, found, flat = [], [], dict(zip(spreads, np.gradient(spreads), strict=True))
    for of_bindings, of_clusters in product(spreads if weights.size else [0.0], spreads):
        spread = np.hypot(of_bindings, of_clusters)
        shrink = float(1 / np.sqrt(1 + 0.346 * spread**2))  # with it, a constant is close to the logit of the mean
        log_likelihood = np.zeros((len(constants), len(b)))
        for (k, n, *weight), count in zip(cells, times, strict=True):
            shift = of_bindings * b @ np.array(weight)
            eta = constants[:, None, None] + shift[:, None] + of_clusters * z
            log_likelihood += count * np.log(stats.binom.pmf(k, n, expit(eta)) @ mass)
        prior = stats.beta.pdf(expit(constants * shrink), 0.5, 0.5) * stats.logistic.pdf(constants * shrink) * shrink
        means.append(expit(constants[:, None] + spread * z) @ mass)
        prior *= flat[of_clusters] * flat.get(of_bindings, 1)
        found.append(logsumexp(log_likelihood, axis=1) + np.log(prior))
    order = np.argsort(np.ravel(means))
    below = np.cumsum(np.exp(found - np.max(found)).ravel()[order])
    low, high = np.interp([0.025, 0.975], below / below[-1], np.ravel(means)[order])
    return float(low), float(high)


@pytest.mark.parametrize(("right", "sizes"), [([8, 3, 10], [10, 10, 10]), ([20, 20, 19, 12], [20, 20, 20, 20])])
def test_clusters_alone_agree_with_integration(right: list[int], sizes: list[int]) -> None:
    outcomes = np.concatenate([np.arange(n) < k for k, n in zip(right, sizes, strict=True)]).astype(float)
    found = interval(Clusters.of(np.repeat(np.arange(len(sizes)), sizes)), outcomes)
    assert found == pytest.approx(integrated(right, sizes), abs=0.05)


@pytest.mark.full
def test_bindings_that_clusters_share_agree_with_integration() -> None:
    """Four clusters, three bindings, each cluster with two of them or one twice."""
    shown = ["a;b", "a;c", "b;c", "a;a"]
    clusters = Clusters.of(np.repeat([f"cluster {i}" for i in range(4)], 8), np.repeat(shown, 8))
    weights = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [2**0.5, 0, 0]]) / 2**0.5
    right = [8, 5, 3, 8]
    found = interval(clusters, outcomes_of(np.array(right), 8))
    assert found == pytest.approx(integrated(right, [8] * 4, weights), abs=0.05)


def test_hundreds_of_clusters_agree_with_integration() -> None:
    """With few errors in each, where the joint maximum over all effects is far from the mean's posterior."""
    rng = np.random.default_rng(0)
    right = rng.binomial(22, expit(5 + 2 * rng.standard_normal(405)))
    expected = integrated(right, [22] * 405, None, np.linspace(1.4, 2.8, 29), np.linspace(4, 6.5, 61))
    found = interval(Clusters.of(np.repeat(np.arange(405), 22)), outcomes_of(right, 22))
    assert found == pytest.approx(expected, abs=0.05 * (expected[1] - expected[0]))


@pytest.mark.parametrize("right", [0, 3, 60, 117, 120])
def test_items_that_share_nothing_have_the_posterior_of_a_binomial_share(right: int) -> None:
    found = interval(Clusters.of(np.arange(120)), (np.arange(120) < right).astype(float))
    assert found == pytest.approx(stats.beta.interval(0.95, right + 0.5, 120.5 - right), abs=0.015)


@pytest.mark.parametrize("right", [0, 41, 99])
def test_items_of_a_scene_that_agree_are_one_fact(right: int) -> None:
    codes, outcomes = np.repeat(np.arange(9), 11), (np.arange(99) < right).astype(float)
    copies = np.repeat(np.arange(99), 3)
    thrice = interval(Clusters.of(codes[copies], scenes=copies), outcomes[copies])
    assert thrice == pytest.approx(interval(Clusters.of(codes), outcomes), abs=1e-9)


def test_items_of_a_scene_that_differ_are_facts_of_their_own() -> None:
    codes, outcomes = np.repeat(np.arange(9), 12), np.tile([1.0, 0.0], 54)
    together = interval(Clusters.of(codes, scenes=np.arange(108) // 2), outcomes)
    assert together == pytest.approx(interval(Clusters.of(codes), outcomes), abs=1e-9)


def test_bindings_make_the_interval_wider_when_they_decide() -> None:
    clusters = block_clusters(3, 3, 11)
    hard = np.array(["0 0" in row for row in np.repeat([bindings for _, bindings in block_cells(3, 3)], 11)])
    outcomes = np.where(hard, 0.0, 1.0)
    alone = Clusters.of(clusters.codes)
    crossed, by_cluster = interval(clusters, outcomes), interval(alone, outcomes)
    assert crossed[1] - crossed[0] > by_cluster[1] - by_cluster[0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 11), min_size=18, max_size=18), st.integers(0, 17))
def test_one_more_error_raises_no_end_by_more_than_two_points(right: list[int], where: int) -> None:
    clusters = block_clusters(3, 3, 11)
    model, better = MixedLogistic(clusters), np.array(right)
    better[where] = min(11, better[where] + 1)
    worse = better - (np.arange(18) == where)
    low, high = model.posterior(outcomes_of(worse, 11)).interval(0.95)
    low_better, high_better = model.posterior(outcomes_of(better, 11)).interval(0.95)
    assert low <= low_better + 0.02
    assert high <= high_better + 0.02


def test_there_is_no_cliff_where_all_are_right() -> None:
    model, right = MixedLogistic(block_clusters(3, 3, 11)), np.full(18, 11)
    lows = []
    for errors in range(6):
        lows.append(model.posterior(outcomes_of(right - (np.arange(18) < errors), 11)).interval(0.95)[0])
    assert lows == sorted(lows, reverse=True)
    assert lows[0] - lows[1] < 0.08  # importance sampling of the same model gives 0.075


def test_a_posterior_gives_intervals_and_p_values() -> None:
    points = np.linspace(-6, 6, 2001)
    posterior = Posterior(points, stats.norm.cdf(points))
    assert posterior.interval(0.95) == pytest.approx(tuple(expit([-1.95996, 1.95996])), abs=1e-4)
    assert posterior.interval(0.5) == pytest.approx(tuple(expit([-0.67449, 0.67449])), abs=1e-4)
    assert posterior.p_value(float(expit(1.95996))) == pytest.approx(0.05, abs=1e-4)
    assert posterior.p_value(0.5) == pytest.approx(1)
    assert posterior.p_value(1e-12) == mixed.SMALLEST_P
