"""Totals by cluster, and draws of whole clusters."""

import numpy as np
import pytest

from evaluator.statistics.bootstrap import DRAWS, bootstrap_means, cluster_totals


def test_totals_are_sums_and_sizes_by_cluster() -> None:
    outcomes, clusters = np.array([[1, 0], [0, 1], [1, 1], [1, 0]]), np.array(["b", "a", "b", "b"])
    sums, sizes = cluster_totals(outcomes, clusters)
    assert sums.tolist() == [[0, 1], [3, 1]]
    assert sizes.tolist() == [1, 3]
    assert cluster_totals(outcomes[:, 0], clusters)[0].tolist() == [0, 3]


@pytest.mark.parametrize("distinct", [3, 200])
def test_means_have_the_spread_of_draws_of_whole_clusters(distinct: int) -> None:
    """Few distinct clusters are drawn by multinomial counts, many one by one."""
    rng = np.random.default_rng(0)
    sums = np.tile(rng.random(distinct), 200 // distinct)
    means = bootstrap_means(sums, np.ones(len(sums)), 0)
    assert means.shape == (DRAWS,)
    assert means.mean() == pytest.approx(sums.mean(), abs=4 * sums.std() / np.sqrt(len(sums) * DRAWS))
    assert means.std() == pytest.approx(sums.std() / np.sqrt(len(sums)), rel=0.05)


def test_sizes_are_drawn_with_their_clusters() -> None:
    means = bootstrap_means(np.array([0.0, 9.0]), np.array([1.0, 9.0]), 0)
    assert sorted(set(means.round(6))) == [0, 0.9, 1]


def test_a_seed_gives_the_same_draws_and_another_seed_others() -> None:
    sums, sizes = np.arange(50.0), np.full(50, 60.0)
    assert np.array_equal(bootstrap_means(sums, sizes, 1), bootstrap_means(sums[::-1].copy(), sizes, 1))
    assert not np.array_equal(bootstrap_means(sums, sizes, 1), bootstrap_means(sums, sizes, 2))
