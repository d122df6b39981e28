"""The exact sign test where one side is right everywhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluator.statistics.intervals import Estimate
from evaluator.statistics.sign_test import independent_groups, sharpen
from generator.base.clusters import Clusters
from tests.evaluator.statistics.designs import block_cells

WIDE = Estimate(1.0, -0.2, 1.0, 24, 12, low_wider=-0.3, high_wider=1.0, p=0.08)


@given(st.integers(1, 11), st.floats(0.5, 0.99))
def test_p_and_interval_are_those_of_the_binomial_test(groups: int, level: float) -> None:
    clusters = Clusters.from_names(np.repeat(np.arange(groups), 2))
    uninformed = Estimate(1.0, np.nan, np.nan, 2 * groups, groups)
    sharp = sharpen(uninformed, clusters, level)
    test = stats.binomtest(groups, groups)
    assert sharp.p == pytest.approx(max(0.0005, test.pvalue))
    assert sharp.low == pytest.approx(2 * test.proportion_ci(level).low - 1)
    assert (sharp.p < 1 - level) == (sharp.low > 0)


def test_the_difference_of_minus_one_mirrors_that_of_one() -> None:
    clusters = Clusters.from_names(np.arange(12))
    positive = sharpen(WIDE, clusters, 0.95)
    negative = sharpen(
        Estimate(-1.0, -1.0, 0.2, 24, 12, low_wider=-1.0, high_wider=0.3, p=0.08), clusters, 0.95
    )
    assert (negative.low, negative.high) == (-positive.high, -positive.low)
    assert negative.p == positive.p < 0.001
    assert (positive.low_wider, positive.high_wider) == (-0.3, 1.0)  # other words: nothing new


def test_a_difference_that_is_not_everywhere_stays_as_it_is() -> None:
    some = Estimate(0.98, -0.2, 1.0, 24, 12, p=0.08)
    assert sharpen(some, Clusters.from_names(np.arange(12)), 0.95) is some


def test_a_sharper_interval_of_the_model_stays() -> None:
    narrow = Estimate(1.0, 0.9, 1.0, 24, 12, p=0.0005)
    assert sharpen(narrow, Clusters.from_names(np.arange(4)), 0.95).low == 0.9


@pytest.mark.parametrize(("values", "objects"), [(3, 3), (3, 4), (4, 6)])
def test_independent_groups_share_neither_binding_nor_cluster(values: int, objects: int) -> None:
    """Each scene of a block takes two bindings, so there are at most half as many groups as
    bindings; taking rare bindings first comes within one of that."""
    cells = block_cells(values, objects)
    clusters = Clusters.from_names(
        [cluster for cluster, _ in cells], [bindings for _, bindings in cells]
    )
    most = values * objects // 2
    assert most - 2 <= independent_groups(clusters) <= most


def test_two_scenes_of_one_cluster_are_one_group() -> None:
    scenes = ["red:cube;blue:ball", "red:ball;blue:cube"]
    assert independent_groups(Clusters.from_names(["c", "c"], scenes)) == 1
    assert independent_groups(Clusters.from_names(["c", "d"], scenes)) == 2
