"""Paired tests against binomial sums, statsmodels, scipy and enumeration; and their error rates by simulation."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from evaluator.statistics.multiple import benjamini_hochberg
from evaluator.statistics.paired import PairedTest, Rank, exchange_p, in_all, paired_test, ranking

RNG = np.random.default_rng(0)
TABLES = np.column_stack([RNG.integers(0, 60, 1000), *RNG.integers(0, RNG.choice([4, 20, 150], 1000), (2, 1000)), RNG.integers(0, 60, 1000)])  # fmt: skip


def outcomes(both: int, only_first: int, only_second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    """Two outcomes with the counts of a 2×2 table."""
    sizes = (both, only_first, only_second, neither)
    return np.repeat([1, 1, 0, 0], sizes), np.repeat([1, 0, 1, 0], sizes)


def by_hand(only_first: int, only_second: int) -> float:
    """McNemar's mid-p with whole numbers: 2 (P(X < m) + P(X = m) / 2)."""
    n, m = only_first + only_second, min(only_first, only_second)
    below = sum(comb(n, k) for k in range(m))
    return float(min(Fraction(1), (2 * below + Fraction(comb(n, m))) / 2**n))


@pytest.mark.parametrize("tables", np.split(TABLES, 10), ids=str)
def test_mcnemar_is_that_of_sums_by_hand_of_scipy_and_of_statsmodels(tables: np.ndarray) -> None:
    for a, b, c, d in tables.tolist():
        first, second = outcomes(a, b, c, d)
        found = paired_test(first, second, np.arange(len(first)))
        assert (found.only_first, found.only_second, found.lead) == (b, c, (b > c) - (b < c))
        assert found.p == found.p_clusters == pytest.approx(by_hand(b, c), rel=1e-9)
        m = min(b, c)
        below, at = stats.binom.cdf(m - 1, b + c, 0.5), stats.binom.pmf(m, b + c, 0.5)
        assert found.p == pytest.approx(min(1, 2 * (below + at / 2)), rel=1e-9)
        # the exact test counts the observed table in full, the mid-p half of it on either side
        assert min(1, found.p + at) == pytest.approx(mcnemar([[a, b], [c, d]], exact=True).pvalue, rel=1e-9)


def test_a_published_example() -> None:
    """Fagerland, Lydersen and Laake (2013), table 2: 1 and 7 discordant pairs, mid-p .039, exact p .070."""
    first, second = outcomes(1, 1, 7, 12)
    assert round(paired_test(first, second, np.arange(21)).p, 3) == 0.039


def test_models_that_never_differ_have_a_p_of_1() -> None:
    same = np.array([1, 0, 1])
    assert paired_test(same, same, np.arange(3)) == PairedTest(0, 0, 1, 1)
    assert paired_test(same, same, np.zeros(3)).lead == 0


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), max_size=9))
def test_by_group_it_is_the_share_of_all_exchanges(leads: list[int]) -> None:
    total = abs(sum(leads))
    totals = [sum(signs) for signs in product(*({lead, -lead} if lead else {0} for lead in leads))]
    more, equal = (
        sum(compared(value) for value in totals) / len(totals)
        for compared in (lambda v: v > total, lambda v: v == total)
    )
    assert exchange_p(np.array(leads, dtype=int)) == pytest.approx(min(1, 2 * (more + equal / 2)))


def test_groups_of_items_that_agree_count_once() -> None:
    first, second = outcomes(0, 60, 10, 0)
    test = paired_test(first, second, np.arange(70) // 10)
    assert test.p < 1e-8
    assert test.p_clusters == pytest.approx(by_hand(6, 1))


def test_in_all_of_several_tests_the_weakest_counts_and_the_lead_must_be_the_same() -> None:
    strong, weak, other = PairedTest(9, 1, 0.01, 0.02), PairedTest(5, 1, 0.1, 0.05), PairedTest(1, 9, 0.01, 0.02)
    assert in_all([strong]) == strong
    assert in_all([strong, weak]) == in_all([weak, strong]) == weak
    assert in_all([strong, PairedTest(8, 2, 0.2, 0.01)]) == PairedTest(9, 1, 0.2, 0.02)
    assert (in_all([strong, other]).p, in_all([strong, other]).p_clusters) == (1, 1)


def _draw(rng: np.random.Generator, shares: list[float], groups: int, size: int, likeness: float) -> np.ndarray:
    """Outcomes (models, groups · size): each group has a difficulty of its own for each model, alike within a group."""
    p = np.array(shares)[:, None]
    if likeness:
        spread = (1 - likeness) / likeness
        p = rng.beta(p * spread, (1 - p) * spread, (len(shares), groups))
    return rng.random((len(shares), groups * size)) < np.repeat(np.broadcast_to(p, (len(shares), groups)), size, axis=1)


def _rejected(likeness: float, groups: int, size: int, draws: int = 2000) -> tuple[float, float]:
    """How often two equal models are told apart at .05, by item and by group."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(groups), size)
    tests = [paired_test(*_draw(rng, [0.7, 0.7], groups, size, likeness), clusters) for _ in range(draws)]
    return float(np.mean([test.p <= 0.05 for test in tests])), float(
        np.mean([test.p_clusters <= 0.05 for test in tests])
    )


@pytest.mark.parametrize("items", [20, 60, 400])
def test_mcnemar_has_its_error_rate_where_items_are_independent(items: int) -> None:
    """Mid-p may exceed the level by little (Fagerland et al. 2013); 2,000 draws have a standard error of .5 points."""
    by_item, by_group = _rejected(0, items, 1)
    assert by_item == by_group
    assert 0.03 <= by_item <= 0.062


@pytest.mark.parametrize(("groups", "size"), [(9, 22), (36, 10)])
def test_where_items_of_a_group_are_alike_only_the_test_by_group_has_its_error_rate(groups: int, size: int) -> None:
    by_item, by_group = _rejected(0.2, groups, size, 1000)
    assert by_item > 0.15
    assert 0.03 <= by_group <= 0.072


def test_the_false_discovery_rate_is_that_which_was_asked_for() -> None:
    """Five models of which three are equal: 3 of the 10 pairs have no difference to discover."""
    rng = np.random.default_rng(2)
    shares, clusters = [0.6, 0.6, 0.6, 0.75, 0.9], np.arange(150)
    pairs = list(combinations(range(5), 2))
    null = np.array([shares[a] == shares[b] for a, b in pairs])
    proportions, found = [], 0
    for _ in range(400):
        drawn = _draw(rng, shares, 150, 1, 0)
        q = np.array(benjamini_hochberg([paired_test(drawn[a], drawn[b], clusters).p for a, b in pairs]))
        proportions.append((null & (q <= 0.05)).sum() / max(1, (q <= 0.05).sum()))
        found += (~null & (q <= 0.05)).sum()
    assert np.mean(proportions) <= 0.05
    assert found / (400 * (~null).sum()) > 0.7  # and what is there is found


def test_ranks_are_those_of_the_means_and_models_that_tie_share_them() -> None:
    columns = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]]).T
    assert [each.rank for each in ranking(columns, np.arange(4))] == [1, 3, 1, 4]
    assert ranking(np.ones((5, 3)), np.arange(5)) == [Rank(1, 1, 3)] * 3


def test_rank_intervals_are_those_of_a_bootstrap_of_whole_groups() -> None:
    rng = np.random.default_rng(4)
    clusters = rng.permutation(np.repeat(np.arange(30), rng.integers(1, 8, 30)))
    columns = rng.random((len(clusters), 4)) < [0.5, 0.55, 0.6, 0.95]
    drawn = []
    for _ in range(4000):
        rows = np.concatenate([np.flatnonzero(clusters == c) for c in rng.integers(0, 30, 30)])
        drawn.append([stats.rankdata(-columns[rows].mean(axis=0), method) for method in ("min", "max")])
    low, high = np.quantile(np.array(drawn)[:, 0], 0.025, axis=0), np.quantile(np.array(drawn)[:, 1], 0.975, axis=0)
    found = ranking(columns, clusters)
    assert [each.rank for each in found] == stats.rankdata(-columns.mean(axis=0), "min").tolist()
    assert [each.low for each in found] == low.tolist()
    assert [each.high for each in found] == high.tolist()
    assert (found[3].low, found[3].high) == (1, 1)
