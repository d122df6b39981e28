"""Intervals against scipy's bootstrap where clusters are many, and against definitions where they
are few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from evaluator.statistics.intervals import (
    cluster_mean,
    cluster_means,
    difference_of_means,
    p_from_interval,
    parts_differences,
    subtract,
)
from generator.base.clusters import Clusters
from tests.evaluator.statistics.designs import block_clusters, outcomes_of


def _clustered(
    seed: int, clusters: int, share: float, sizes: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes in clusters of so many items, from..to, that agree more than chance would have
    it."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(
        [f"c{i}" for i in range(clusters)], rng.integers(sizes[0], sizes[1] + 1, clusters)
    )
    leaning = dict(
        zip(sorted(set(labels)), rng.beta(2 * share, 2 * (1 - share), clusters), strict=True)
    )
    order = rng.permutation(len(labels))
    return (rng.random(len(labels)) < [leaning[c] for c in labels])[order], labels[order]


def _bootstrap(outcomes: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """The percentile interval of scipy's bootstrap over clusters."""
    place = np.unique(clusters, return_inverse=True)[1]
    totals = np.bincount(place, weights=outcomes.astype(float)), np.bincount(place).astype(float)

    def ratio(sums: np.ndarray, sizes: np.ndarray, axis: int = -1) -> np.ndarray:
        return sums.sum(axis) / sizes.sum(axis)

    done = stats.bootstrap(
        totals,
        ratio,
        paired=True,
        vectorized=True,
        n_resamples=4_000,
        method="percentile",
        random_state=7,
    )
    return done.confidence_interval.low, done.confidence_interval.high


@pytest.mark.parametrize(("sizes", "within"), [((4, 4), 0.1), ((1, 6), 0.25)])
@pytest.mark.parametrize(
    ("seed", "clusters", "share"), [(1, 150, 0.8), (2, 200, 0.3), (3, 300, 0.5)]
)
def test_with_many_clusters_a_mean_has_the_interval_of_the_bootstrap(
    seed: int, clusters: int, share: float, sizes: tuple[int, int], within: float
) -> None:
    """Of clusters of unequal sizes the bootstrap's is one of the mean over items, the model's one
    of the mean over clusters."""
    outcomes, labels = _clustered(seed, clusters, share, sizes)
    estimate, (low, high) = cluster_mean(outcomes, labels), _bootstrap(outcomes, labels)
    assert estimate.value == pytest.approx(sum(map(int, outcomes)) / len(outcomes), abs=1e-12)
    assert (estimate.n_items, estimate.n_clusters) == (len(outcomes), clusters)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=within * (high - low))


@given(st.integers(1, 60), st.integers(1, 5), st.booleans())
@settings(max_examples=30, deadline=None)
def test_where_all_agree_the_interval_starts_or_ends_there_and_is_not_empty(
    n: int, n_items: int, right: bool
) -> None:
    estimate = cluster_mean(np.full(n * n_items, right), np.repeat(np.arange(n), n_items))
    exact = stats.binomtest(n * n_items * right, n * n_items).proportion_ci(0.95, "exact")
    assert (estimate.low_fixed, estimate.high_fixed) == pytest.approx(
        (exact.low, exact.high), abs=1e-9
    )
    assert (estimate.high if right else estimate.low) == float(right)
    assert estimate.high - estimate.low > 0.3 * (exact.high - exact.low)


@pytest.mark.parametrize(("clusters", "wrong"), [(2, 0), (2, 1), (3, 1), (4, 0), (4, 3), (6, 3)])
def test_more_items_of_a_few_clusters_say_more(clusters: int, wrong: int) -> None:
    lower_ends = [
        cluster_mean(np.arange(clusters * n) >= wrong, np.repeat(np.arange(clusters), n)).low
        for n in (5, 20, 100, 400)
    ]
    assert (np.diff(lower_ends) > -0.01).all()
    assert lower_ends[-1] < 0.99


@pytest.mark.parametrize("wrong", [0, 12])
def test_images_of_a_scene_that_agree_are_one_fact(wrong: int) -> None:
    estimates = []
    for images in (1, 4):
        scenes = np.repeat(np.arange(36), images)
        estimates.append(
            cluster_mean(scenes * 7 % 36 >= wrong, Clusters.from_names(scenes // 4, scenes=scenes))
        )
    one, four = (
        (estimate.low, estimate.high, estimate.low_fixed, estimate.high_fixed)
        for estimate in estimates
    )
    assert one == pytest.approx(four)


def test_these_bindings_have_a_narrower_interval_than_bindings_like_these() -> None:
    right = np.where(np.arange(18) % 4 == 0, 2, 11)
    estimate = cluster_mean(outcomes_of(right, 11), block_clusters(3, 3, 11))
    exact = stats.binomtest(int(right.sum()), 198).proportion_ci(0.95, "exact")
    assert (estimate.low_fixed, estimate.high_fixed) == pytest.approx(
        (exact.low, exact.high), abs=1e-9
    )
    assert estimate.high - estimate.low > 1.5 * (exact.high - exact.low)


def test_a_higher_level_has_a_wider_interval() -> None:
    outcomes, labels = _clustered(0, 30, 0.6, (1, 6))
    half, usual, most = (cluster_mean(outcomes, labels, level) for level in (0.5, 0.95, 0.99))
    assert most.low < usual.low < half.low < half.value < half.high < usual.high < most.high
    assert most.low_fixed < usual.low_fixed < half.low_fixed


def test_no_item_gives_no_number() -> None:
    nothing = cluster_mean(np.array([], dtype=bool), np.array([], dtype=str))
    some = cluster_mean(np.array([True, False, True]), np.array(["a", "b", "c"]))
    for estimate in (nothing, subtract(nothing, some, 3, 3), subtract(some, nothing, 3, 3)):
        assert np.isnan([estimate.value, estimate.low, estimate.high]).all()
    assert (nothing.n_items, nothing.n_clusters) == (0, 0)


@pytest.mark.parametrize(
    ("right", "n", "other_right", "m"), [(20, 20, 15, 30), (0, 12, 5, 9), (8, 16, 14, 14)]
)
def test_a_difference_is_combined_from_both_intervals(
    right: int, n: int, other_right: int, m: int
) -> None:
    a, b = (
        cluster_mean(np.arange(size) < k, np.arange(size))
        for k, size in ((right, n), (other_right, m))
    )
    estimate, value = subtract(a, b, n + m, n + m), right / n - other_right / m
    assert estimate.value == pytest.approx(value)
    assert estimate.low == pytest.approx(
        value - ((a.value - a.low) ** 2 + (b.high - b.value) ** 2) ** 0.5
    )
    assert estimate.high == pytest.approx(
        value + ((a.high - a.value) ** 2 + (b.value - b.low) ** 2) ** 0.5
    )
    assert subtract(b, a, 1, 1).value == pytest.approx(-value)


def test_columns_are_estimated_as_if_alone() -> None:
    a, labels = _clustered(20, 40, 0.6, (1, 6))
    together = cluster_means(np.stack([a, 1.0 - a], axis=1), labels)
    alone = [cluster_mean(column, labels) for column in (a, ~a)]
    assert repr(together) == repr(alone)  # a p that is not asked is nan, which equals nothing


@pytest.mark.parametrize("clusters", [60, 400])
def test_a_paired_difference_with_many_clusters_has_the_interval_of_the_bootstrap(
    clusters: int,
) -> None:
    first, labels = _clustered(30, clusters, 0.7, (1, 6))
    second = np.random.default_rng(3).permutation(first) & first
    difference = first.astype(float) - second
    (estimate,) = cluster_means(difference[:, None], labels, shares=[False])
    low, high = _bootstrap(difference, labels)
    assert estimate.value == pytest.approx(first.mean() - second.mean(), abs=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.15 * (high - low))
    assert estimate.p < 0.01


def test_pairs_that_never_differ_are_no_certainty() -> None:
    outcomes = np.arange(20) < 15
    estimate = difference_of_means(outcomes, outcomes, np.arange(20))
    assert estimate.value == 0
    assert -0.4 < estimate.low < -0.1
    assert estimate.high == pytest.approx(-estimate.low)


def test_unequal_weights_widen_the_interval() -> None:
    outcomes, labels = _clustered(40, 80, 0.4, (1, 6))
    rare = np.arange(len(outcomes)) < 20
    weights = np.where(rare, 1 / 40, 0.5 / (len(outcomes) - 20))
    columns = np.stack([outcomes, np.random.default_rng(1).normal(size=len(outcomes))], axis=1)
    share, score = cluster_means(columns, labels, shares=[True, False], weights=weights)
    assert (share.value, score.value) == pytest.approx(
        (columns[rare].mean(axis=0) + columns[~rare].mean(axis=0)) / 2
    )
    plain = cluster_mean(outcomes, labels)
    assert share.high - share.low > 1.3 * (plain.high - plain.low)
    assert score.low < score.value < score.high
    assert score.low_fixed < score.value < score.high_fixed
    assert p_from_interval(score.value, score.low, score.high, 0.95, 1e6) == pytest.approx(
        score.p, abs=0.02
    )


def test_equal_weights_change_nothing() -> None:
    for outcomes in (np.arange(40) % 3 > 0, np.ones(40)):
        (estimate,) = cluster_means(outcomes[:, None], np.arange(40), weights=np.full(40, 1 / 40))
        plain = cluster_mean(outcomes, np.arange(40))
        weighted, expected = ((mean.value, mean.low, mean.high) for mean in (estimate, plain))
        assert weighted == pytest.approx(expected, abs=1e-9)


def test_a_p_value_belongs_to_its_interval() -> None:
    """An interval that ends at 0 has a p-value of one minus its level."""
    assert p_from_interval(0.1, 0, 0.2, 0.95, 7) == pytest.approx(0.05)
    assert p_from_interval(-0.1, -0.3, 0, 0.9, 2) == pytest.approx(0.1)
    assert p_from_interval(0.1, 0.05, 0.2, 0.95, 100) < 0.001
    assert p_from_interval(0.1, 0.05, 0.2, 0.95, 2) > 0.01  # few clusters know little of the tails
    assert np.isnan(p_from_interval(np.nan, np.nan, np.nan, 0.95, 7))


def test_a_share_is_compared_with_its_chance() -> None:
    outcomes = outcomes_of(np.full(18, 9), 11)
    (above,) = cluster_means(outcomes[:, None], block_clusters(3, 3, 11), chance=[0.5])
    (equal,) = cluster_means(outcomes[:, None], block_clusters(3, 3, 11), chance=[9 / 11])
    assert above.p < 0.05
    assert equal.p > 0.8
    assert np.isnan(cluster_mean(outcomes, Clusters.from_names(np.arange(198))).p)


@pytest.mark.full
def test_a_difference_of_parts_knows_what_they_share() -> None:
    """Each of 40 images has items in both parts, and half of the items of the first are in both:
    the width agrees with how the difference varies over draws, which parts taken as independent do
    not."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(40), 10)
    first, second = np.tile(np.arange(10) < 6, 40), np.tile(np.arange(10) >= 3, 40)
    differences, halves, independent = [], [], []
    for _ in range(150):
        chance = expit(0.5 + 1.5 * rng.normal(size=40))[images]
        outcomes = (rng.random(400) < chance).astype(float)
        names = images.astype(str)
        difference, repeated = parts_differences(
            np.column_stack([outcomes, outcomes]),
            first,
            second=second,
            clusters=Clusters.from_names(names, None, names),
        )
        assert difference == repeated
        assert difference.value == pytest.approx(outcomes[first].mean() - outcomes[second].mean())
        assert difference.n_items == 400
        differences.append(difference.value)
        halves.append((difference.high - difference.low) / 2 / stats.t.ppf(0.975, 39))
        variances = [np.var(outcomes[part]) / 40 for part in (first, second)]
        independent.append(np.sqrt(sum(variances) / 2))
    assert np.mean(halves) / np.std(differences) == pytest.approx(1, abs=0.15)
    assert np.mean(independent) > 1.5 * np.std(differences)


def test_parts_in_which_nothing_varies_have_no_interval() -> None:
    part = np.array([True, True, False, False])
    (difference,) = parts_differences(
        np.array([[1.0], [1], [0], [0]]),
        part,
        second=~part,
        clusters=Clusters.from_names(["a", "b", "a", "b"]),
    )
    assert (difference.value, np.isnan(difference.low)) == (1, True)
