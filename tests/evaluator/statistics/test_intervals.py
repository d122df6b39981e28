"""Intervals against scipy and statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from evaluator.statistics.intervals import (
    cluster_difference,
    cluster_differences,
    cluster_mean,
    cluster_means,
    means_over_strata,
    paired_difference,
)


def _clustered(seed: int, clusters: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes in clusters of 1 to 6 items that agree more than chance would have it."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([f"c{i}" for i in range(clusters)], rng.integers(1, 7, clusters))
    leaning = dict(zip(sorted(set(labels)), rng.beta(2 * share, 2 * (1 - share), clusters), strict=True))
    order = rng.permutation(len(labels))
    return (rng.random(len(labels)) < [leaning[c] for c in labels])[order], labels[order]


def _totals(outcomes: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    names = sorted(set(clusters.tolist()))
    sums = [sum(int(o) for o, c in zip(outcomes, clusters, strict=True) if c == name) for name in names]
    return np.array(sums, dtype=float), np.array([(clusters == name).sum() for name in names], dtype=float)


def _ratio(sums: np.ndarray, sizes: np.ndarray, axis: int = -1) -> np.ndarray:
    return sums.sum(axis) / sizes.sum(axis)


def _scipy(parts: tuple[np.ndarray, ...], statistic: object, paired: bool) -> tuple[float, float, float]:
    done = stats.bootstrap(
        parts, statistic, paired=paired, vectorized=True, n_resamples=10_000, method="percentile", random_state=7
    )
    return done.confidence_interval.low, done.confidence_interval.high, done.standard_error


@pytest.mark.parametrize(("seed", "clusters", "share"), [(0, 9, 0.5), (1, 40, 0.8), (2, 200, 0.3), (4, 20, 0.15)])
def test_mean_and_interval_are_those_of_a_bootstrap_over_clusters(seed: int, clusters: int, share: float) -> None:
    outcomes, labels = _clustered(seed, clusters, share)
    estimate = cluster_mean(outcomes, labels)
    low, high, error = _scipy(_totals(outcomes, labels), _ratio, paired=True)
    assert estimate.value == pytest.approx(sum(map(int, outcomes)) / len(outcomes), abs=1e-12)
    assert (estimate.n_items, estimate.n_clusters) == (len(outcomes), clusters)
    assert estimate.low == pytest.approx(low, abs=0.12 * error)
    assert estimate.high == pytest.approx(high, abs=0.12 * error)


def test_intervals_by_cluster_are_wider_than_by_item_when_clusters_agree() -> None:
    outcomes = np.repeat(np.arange(20) % 2 == 0, 10)
    clusters = np.repeat(np.arange(20), 10)
    by_cluster, by_item = cluster_mean(outcomes, clusters), cluster_mean(outcomes, np.arange(200))
    assert (by_cluster.high - by_cluster.low) / (by_item.high - by_item.low) == pytest.approx(np.sqrt(10), rel=0.1)


@given(st.integers(1, 300), st.integers(1, 5), st.booleans())
def test_where_all_agree_the_interval_is_the_exact_binomial_one_over_clusters(n: int, each: int, right: bool) -> None:
    estimate = cluster_mean(np.full(n * each, right), np.repeat(np.arange(n), each))
    exact = stats.binomtest(n * right, n).proportion_ci(0.95, "exact")
    assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert (estimate.value, estimate.n_items, estimate.n_clusters) == (float(right), n * each, n)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(2, 6))
def test_clusters_that_are_all_partly_right_do_not_claim_certainty(n: int, right: int, each: int) -> None:
    right = min(right, each - 1)
    outcomes = np.tile(np.arange(each) < right, n)
    estimate = cluster_mean(outcomes, np.repeat(np.arange(n), each))
    share, z = right / each, stats.norm.ppf(0.975)
    assert estimate.value == pytest.approx(share)
    for bound in (
        estimate.low,
        estimate.high,
    ):  # Wilson's bounds are z standard errors, of the bound itself, from the share
        assert (bound - share) ** 2 == pytest.approx(z**2 * bound * (1 - bound) / n, abs=1e-9)
    assert estimate.low < share < estimate.high


def test_one_cluster() -> None:
    assert cluster_mean(np.array([True]), np.array(["only"])).low == pytest.approx(0.025)
    assert cluster_mean(np.array([False, False]), np.array(["only"] * 2)).high == pytest.approx(0.975)
    mixed = cluster_mean(np.array([True, False]), np.array(["only"] * 2))
    assert mixed.value == 0.5
    assert mixed.high - mixed.low > 0.7


def test_no_item_gives_no_number() -> None:
    nothing = (np.array([], dtype=bool), np.array([], dtype=str))
    some = (np.array([True, False, True]), np.array(["a", "b", "c"]))
    for estimate in (cluster_mean(*nothing), cluster_difference(nothing, some), cluster_difference(some, nothing)):
        assert np.isnan([estimate.value, estimate.low, estimate.high]).all()
        assert (estimate.n_items, estimate.n_clusters) == (0, 0)


def test_equal_input_gives_equal_output_in_any_order_and_another_seed_another() -> None:
    outcomes, clusters = _clustered(4, 30, 0.6)
    order = np.random.default_rng(0).permutation(len(outcomes))
    assert cluster_mean(outcomes, clusters) == cluster_mean(outcomes[order], clusters[order])
    first, other = cluster_mean(outcomes, clusters, seed=0), cluster_mean(outcomes, clusters, seed=1)
    assert (first.low, first.high) != (other.low, other.high)


@pytest.mark.parametrize("seed", [10, 11])
def test_difference_is_that_of_two_independent_bootstraps(seed: int) -> None:
    first, second = _clustered(seed, 60, 0.7), _clustered(seed + 50, 25, 0.4)
    estimate = cluster_difference(first, second)
    parts = (*_totals(*first), *_totals(*second))
    # scipy draws every sample apart when they are not paired; indices keep each pair of totals together
    indices = (np.arange(60), np.arange(25))

    def difference(i: np.ndarray, j: np.ndarray, axis: int = -1) -> np.ndarray:
        return _ratio(parts[0][i], parts[1][i], axis) - _ratio(parts[2][j], parts[3][j], axis)

    low, high, error = _scipy(indices, difference, paired=False)
    assert estimate.value == pytest.approx(first[0].mean() - second[0].mean(), abs=1e-12)
    assert estimate.low == pytest.approx(low, abs=0.12 * error)
    assert estimate.high == pytest.approx(high, abs=0.12 * error)
    assert (estimate.n_items, estimate.n_clusters) == (len(first[0]) + len(second[0]), 85)


def test_difference_does_not_draw_both_sides_alike() -> None:
    part = _clustered(5, 50, 0.5)
    one, both = cluster_mean(*part), cluster_difference(part, part)
    assert both.value == 0
    assert (both.high - both.low) / (one.high - one.low) == pytest.approx(np.sqrt(2), rel=0.1)


@pytest.mark.parametrize(("right", "n", "other_right", "m"), [(20, 20, 15, 30), (0, 12, 5, 9), (8, 16, 14, 14)])
def test_difference_where_one_side_agrees_is_squared_and_added(right: int, n: int, other_right: int, m: int) -> None:
    sides = [(np.arange(size) < k, np.arange(size)) for k, size in ((right, n), (other_right, m))]
    estimate = cluster_difference(*sides)
    a, b = (cluster_mean(*side, seed=i) for i, side in enumerate(sides))
    value = right / n - other_right / m
    assert estimate.value == pytest.approx(value)
    assert estimate.low == pytest.approx(value - ((a.value - a.low) ** 2 + (b.high - b.value) ** 2) ** 0.5)
    assert estimate.high == pytest.approx(value + ((a.high - a.value) ** 2 + (b.value - b.low) ** 2) ** 0.5)
    # Newcombe's own interval takes Wilson limits on both sides; near it, and never of no width
    low, high = confint_proportions_2indep(right, n, other_right, m, method="newcomb", compare="diff")
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.08)


def test_two_sides_without_a_mistake_differ_by_nothing_for_certain() -> None:
    sides = [(np.ones(n, dtype=bool), np.arange(n)) for n in (9, 30)]
    estimate = cluster_difference(*sides)
    assert estimate.value == 0
    assert estimate.low < -0.2
    assert estimate.high > 0.1


def test_draws_made_in_several_chunks_are_right() -> None:
    outcomes = np.arange(3000) % 3 == 0
    estimate = cluster_mean(outcomes, np.arange(3000))
    error = np.sqrt(1 / 3 * 2 / 3 / 3000)
    assert (estimate.low, estimate.high) == pytest.approx((1 / 3 - 1.96 * error, 1 / 3 + 1.96 * error), abs=error / 10)


def test_columns_are_estimated_as_if_alone() -> None:
    (a, labels), (b, _) = _clustered(20, 70, 0.6), _clustered(20, 70, 0.6)
    others, other_labels = _clustered(21, 40, 0.3)
    constant = np.ones(len(a))
    together = cluster_means(np.stack([a, 1.0 - b, constant], axis=1), labels)
    for column, estimate in zip((a, ~b, constant), together, strict=True):
        alone = cluster_mean(column, labels)
        assert (estimate.value, estimate.n_items, estimate.n_clusters) == pytest.approx(
            (alone.value, alone.n_items, 70)
        )
        assert (estimate.low, estimate.high) == pytest.approx((alone.low, alone.high), abs=0.01)
    assert np.isnan(cluster_means(constant[:, None] * 7, labels, shares=[False])[0].low)
    columns = [np.stack([outcomes, np.ones(len(outcomes))], axis=1) for outcomes in (a, others)]
    first, second = cluster_differences((columns[0], labels), (columns[1], other_labels))
    alone = cluster_difference((a, labels), (others, other_labels))
    assert (first.value, first.low, first.high) == pytest.approx((alone.value, alone.low, alone.high), abs=0.01)
    assert second.value == 0
    assert second.low < 0 < second.high


@pytest.mark.parametrize("clusters", [12, 60, 400])
def test_a_paired_difference_is_that_of_a_bootstrap_over_clusters(clusters: int) -> None:
    first, labels = _clustered(30, clusters, 0.7)
    second = np.random.default_rng(3).permutation(first) & first
    estimate = paired_difference(first, second, labels)
    sums, sizes = _totals(first, labels)
    others, _ = _totals(second, labels)
    low, high, error = _scipy((sums - others, sizes), _ratio, paired=True)
    assert estimate.value == pytest.approx(first.mean() - second.mean(), abs=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.12 * error)


def test_pairs_that_never_differ_are_no_certainty() -> None:
    outcomes, labels = np.arange(20) < 15, np.arange(20)
    estimate = paired_difference(outcomes, outcomes, labels)
    assert estimate.value == 0
    assert -0.4 < estimate.low < -0.1
    assert estimate.high == pytest.approx(-estimate.low)


def test_a_mean_over_strata_is_that_of_a_bootstrap_over_clusters() -> None:
    outcomes, labels = _clustered(40, 80, 0.4)
    strata = np.random.default_rng(5).integers(4, 8, len(outcomes))
    (estimate,), means = means_over_strata(outcomes[:, None], labels, strata, [True])
    names, place = np.unique(labels, return_inverse=True)
    parts = [
        np.bincount(place, weights=(strata == s) * w, minlength=len(names))
        for s in range(4, 8)
        for w in (outcomes, 1.0)
    ]

    def mean(*totals: np.ndarray, axis: int = -1) -> np.ndarray:
        drawn = [total.sum(axis) for total in totals]
        return np.mean([a / b for a, b in zip(drawn[::2], drawn[1::2], strict=True)], axis=0)

    low, high, error = _scipy(tuple(parts), mean, paired=True)
    assert means[:, 0] == pytest.approx([outcomes[strata == s].mean() for s in range(4, 8)])
    assert estimate.value == pytest.approx(means.mean())
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.12 * error)
    (perfect,), _ = means_over_strata(np.ones((9, 1)), np.arange(9), np.arange(9) % 3, [True])
    assert (perfect.value, perfect.high) == (1, 1)
    assert perfect.low == pytest.approx(0.025 ** (1 / 9))
