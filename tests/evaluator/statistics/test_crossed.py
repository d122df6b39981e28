"""Student's intervals for weighted means, with variances by moments."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from evaluator.statistics.clusters import Clusters
from evaluator.statistics.crossed import CrossedMeans
from tests.evaluator.statistics.designs import block_cells


@pytest.mark.parametrize("each", [1, 5])
def test_clusters_of_equal_items_have_students_interval_over_clusters(each: int) -> None:
    means = np.random.default_rng(0).normal(3, 2, 40)
    found = CrossedMeans(Clusters.of(np.repeat(np.arange(40), each))).interval(np.repeat(means, each), 0.9)
    assert found == pytest.approx(stats.t.interval(0.9, 39, means.mean(), stats.sem(means)))


def test_weights_move_the_mean_and_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    y, w = rng.normal(0, 1, 30), rng.random(30)
    w /= w.sum()
    low, high = CrossedMeans(Clusters.of(np.arange(30)), w).interval(y, 0.95)
    equal = CrossedMeans(Clusters.of(np.arange(30))).interval(y, 0.95)
    assert (low + high) / 2 == pytest.approx(DescrStatsW(y, w).mean)
    assert high - low > equal[1] - equal[0]


def test_variances_of_unequally_weighted_means_are_right_on_average() -> None:
    """Clusters of 2 to 21 items; 600 draws, whose means have standard errors of 3%."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(20), np.arange(2, 22))
    w = rng.exponential(1, len(groups)) ** 2
    w /= w.sum()
    means = CrossedMeans(Clusters.of(groups), w)
    found = [means.estimate(rng.normal(0, 1, 20)[groups] + rng.normal(0, 2, len(groups))).parts[2:] for _ in range(600)]
    due = np.square(np.bincount(groups, w)).sum(), 4 * np.square(w).sum()
    assert np.mean(found, axis=0) == pytest.approx(due, rel=0.1)


def test_where_nothing_varies_there_is_no_interval() -> None:
    assert np.isnan(CrossedMeans(Clusters.of(np.arange(5))).interval(np.ones(5), 0.95)).all()
    assert np.isnan(CrossedMeans(Clusters.of(["a"])).interval(np.array([0.3]), 0.95)).all()


@pytest.mark.parametrize(("of_binding", "of_cluster"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_intervals_hold_with_effects_of_bindings_and_clusters(of_binding: float, of_cluster: float) -> None:
    """Nine bindings in nine clusters; 400 draws, so that 92% are three standard errors below 95%."""
    rng = np.random.default_rng(3)
    names, bindings = zip(*block_cells(3, 3), strict=True)
    means = CrossedMeans(Clusters.of(np.repeat(names, 6), np.repeat(bindings, 6)))
    known = sorted({b for each in bindings for b in each.split(";")})
    shown = np.array([[b in each.split(";") for b in known] for each in bindings]) / 2**0.5
    groups = np.unique(names, return_inverse=True)[1]
    held = 0
    for _ in range(400):
        cell = shown @ rng.normal(0, 2**0.5 * of_binding, 9) + rng.normal(0, of_cluster, 9)[groups]
        low, high = means.interval(np.repeat(cell, 6) + rng.normal(0, 1, 108), 0.95)
        held += low <= 0 <= high
    assert held / 400 >= 0.92


def test_degrees_of_freedom_are_never_below_those_of_one_difference() -> None:
    """Unlike clusters and bindings of a few scenes. Without a bound 0.1 were left, and intervals of 10^12."""
    found = []
    for seed in (1557, 552, 2700, 394, 576):
        rng = np.random.default_rng(seed)
        n, bindings = int(rng.integers(8, 40)), int(rng.integers(2, 6))
        shown = rng.integers(0, bindings, n)
        clusters = rng.integers(0, max(2, n // 3), n).astype(str)
        names = Clusters.of(clusters.tolist(), [f"v{each % 3}:o{each % 2}" for each in shown])
        found.append(CrossedMeans(names).estimate(rng.normal(size=n)).freedom)
    assert min(found) >= 1
