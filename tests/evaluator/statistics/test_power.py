"""Power against simulation of the test itself, and against the formula that it is made of."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from evaluator.statistics.paired import paired_test
from evaluator.statistics.power import (
    PairedDesign,
    block_seeds_for,
    items_for,
    paired_design,
    renders_for,
    smallest_difference,
)

DESIGNS = st.builds(
    lambda clusters, size, correlation, discordance: PairedDesign(clusters * size, clusters, size, correlation, discordance),
    st.integers(2, 400), st.integers(1, 60), st.floats(0, 1), st.floats(0, 1),
)  # fmt: skip


def _draw(
    rng: np.random.Generator, design: PairedDesign, difference: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two outcomes and their clusters: whether only one model is right is as alike within a cluster as the design says."""
    discordance, size = max(design.discordance, difference), design.items // design.clusters
    shares = np.array([discordance + difference, discordance - difference, 2 - 2 * discordance]) / 2
    spread = (1 - design.correlation) / max(design.correlation, 1e-9)
    of_cluster = rng.dirichlet(np.maximum(shares, 1e-9) * spread, design.clusters)
    drawn = rng.random((design.clusters, size, 1)) > np.cumsum(of_cluster, axis=1)[:, None, :2]
    first_only, second_only = ~drawn[..., 0], drawn[..., 0] & ~drawn[..., 1]
    both = rng.random(first_only.shape) < 0.5
    first, second = (only | (both & ~first_only & ~second_only) for only in (first_only, second_only))
    return first.ravel(), second.ravel(), np.repeat(np.arange(design.clusters), size)


def _power(design: PairedDesign, difference: float, draws: int) -> float:
    rng = np.random.default_rng(0)
    return float(np.mean([paired_test(*_draw(rng, design, difference)).p_clusters <= 0.05 for _ in range(draws)]))


@pytest.mark.parametrize(
    ("clusters", "size", "correlation", "discordance"),
    [
        (18, 22, 0.1, 0.2),
        (36, 22, 0.2, 0.3),
        (126, 10, 0.1, 0.2),
        (300, 1, 0, 0.1),
        pytest.param(9, 22, 0.1, 0.3, marks=pytest.mark.full),
        pytest.param(9, 22, 0.3, 0.5, marks=pytest.mark.full),
        pytest.param(9, 100, 0, 0.3, marks=pytest.mark.full),
        pytest.param(36, 10, 0, 0.1, marks=pytest.mark.full),
        pytest.param(405, 4, 0.1, 0.1, marks=pytest.mark.full),
        pytest.param(60, 1, 0, 0.3, marks=pytest.mark.full),
    ],
)
def test_the_smallest_difference_is_shown_in_80_of_100_cases(
    clusters: int, size: int, correlation: float, discordance: float
) -> None:
    design = PairedDesign(clusters * size, clusters, size, correlation, discordance)
    difference = smallest_difference(design)
    assert difference is not None
    assert 0.76 <= _power(design, difference, 600) <= 0.9  # nine clusters: a little more than was asked for


@pytest.mark.full
def test_so_many_block_seeds_or_items_are_enough_and_half_of_them_are_not() -> None:
    design = PairedDesign(12 * 20, 12, 20, 0.1, 0.25)
    seeds = block_seeds_for(0.05, design)
    assert 0.76 <= _power(replace(design, items=240 * seeds, clusters=12 * seeds), 0.05, 600) <= 0.88
    assert _power(replace(design, items=120 * seeds, clusters=6 * seeds), 0.05, 600) < 0.7
    few = PairedDesign(24 * 2, 24, 2, 0.02, 0.2)
    needed = renders_for(0.12, few)
    assert needed is not None
    size = round(needed / 24)
    assert 0.74 <= _power(replace(few, items=24 * size, cluster_size=size), 0.12, 600) <= 0.88
    assert _power(replace(few, items=24 * (size // 2), cluster_size=size // 2), 0.12, 600) < 0.7


def test_with_many_clusters_the_number_of_items_is_connors() -> None:
    z, power = stats.norm.ppf([0.975, 0.8])
    for difference, discordance in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.3), (0.05, 0.05)):
        connor = (z * sqrt(discordance) + power * sqrt(discordance - difference**2)) ** 2 / difference**2
        assert items_for(difference, discordance, 1_000_000) == pytest.approx(connor, rel=1e-4)
    assert items_for(0.2, 0.1, 500) == items_for(0.2, 0.2, 500)  # a difference is at most the discordance
    assert items_for(0.5, 0.5, 4) == inf  # the test by group cannot reach .05


@given(DESIGNS)
def test_the_smallest_difference_needs_the_items_that_there_are(design: PairedDesign) -> None:
    smallest = smallest_difference(design)
    if smallest is None:
        assert design.clusters < 5
    elif smallest == 1:
        assert items_for(1, design.discordance, design.clusters) >= design.effective_items * (1 - 1e-9)
    else:
        needed = items_for(smallest, design.discordance, design.clusters)
        assert needed == pytest.approx(design.effective_items, rel=1e-6)
        assert items_for(min(1, smallest * 1.01), design.discordance, design.clusters) <= needed


@given(DESIGNS, st.floats(0.01, 0.9))
def test_block_seeds_are_the_fewest_that_show_a_difference(design: PairedDesign, difference: float) -> None:
    seeds = block_seeds_for(difference, design)

    def shown(times: int) -> bool:
        smallest = smallest_difference(replace(design, items=times * design.items, clusters=times * design.clusters))
        return smallest is not None and smallest <= difference * (1 + 1e-6)

    assert shown(seeds)
    assert (
        seeds == 1
        or not shown(seeds - 1)
        or items_for(difference, design.discordance, (seeds - 1) * design.clusters)
        == pytest.approx((seeds - 1) * design.effective_items)
    )


@given(DESIGNS, st.floats(0.01, 0.9))
def test_items_in_the_same_clusters_show_a_difference_or_none_do(design: PairedDesign, difference: float) -> None:
    needed = renders_for(difference, design)

    def shown(items: float) -> bool:
        scaled = replace(design, items=int(items), cluster_size=max(1.0, items / design.clusters))
        return scaled.effective_items >= items_for(difference, design.discordance, design.clusters) * (1 - 1e-6)

    if needed is None:
        assert not shown(1e12 * design.clusters) or design.correlation == 0
    else:
        assume(needed < 1e9)
        assert shown(needed + design.clusters)
        assert needed <= design.clusters or not shown(0.98 * needed - design.clusters)


def test_a_design_is_estimated_from_two_outcomes() -> None:
    truth = PairedDesign(3000 * 8, 3000, 8, 0.15, 0.3)
    first, second, clusters = _draw(np.random.default_rng(0), truth, 0.1)
    design = paired_design(first, second, clusters)
    difference = first.astype(float) - second
    f = stats.f_oneway(*difference.reshape(3000, 8)).statistic  # (F − 1) / (F + m − 1), Shrout and Fleiss (1979)
    assert design.correlation == pytest.approx((f - 1) / (f + 7))
    assert design.correlation == pytest.approx(0.15, abs=0.02)
    assert design.discordance == pytest.approx(np.mean(first != second))
    assert (design.items, design.clusters, design.cluster_size) == (24_000, 3000, 8)
    assert design.design_effect == pytest.approx(1 + 7 * design.correlation)


def test_clusters_of_unequal_size_weigh_by_their_items() -> None:
    clusters = np.repeat(["a", "b", "c"], [1, 2, 5])
    design = paired_design(np.arange(8) % 2, np.arange(8) % 3 == 0, clusters)
    assert design.cluster_size == pytest.approx((1 + 4 + 25) / 8)


def test_where_nothing_can_be_estimated_each_cluster_counts_once() -> None:
    same = np.ones(40)
    for first, second in ((same, same), (same, 0 * same)):
        design = paired_design(first, second, np.arange(40) // 10)
        assert (design.correlation, design.effective_items) == (1, 4)
    assert paired_design(same, same, np.arange(40)).effective_items == 40
    one = paired_design(np.arange(40) % 2, same, np.zeros(40))
    assert smallest_difference(one) is None
    assert renders_for(0.1, one) is None
    assert block_seeds_for(0.1, one) > 1


def test_with_five_clusters_a_difference_of_all_items_is_shown_and_with_four_none() -> None:
    always, never = np.ones(40), np.zeros(40)
    for clusters, shown in ((4, False), (5, True)):
        labels = np.arange(40) % clusters
        assert (paired_test(always, never, labels).p_clusters <= 0.05) == shown
        assert smallest_difference(paired_design(always, never, labels)) == (1 if shown else None)
