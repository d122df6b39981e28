"""Corrected p-values against scipy, statsmodels and the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evaluator.statistics.multiple import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


@given(P_VALUES)
def test_benjamini_and_hochberg_are_those_of_scipy_and_of_the_step_up_rule(p_values: list[float]) -> None:
    found = benjamini_hochberg(p_values)
    assert len(found) == len(p_values)
    if p_values:
        assert found == pytest.approx(stats.false_discovery_control(p_values, method="bh"))
        m = len(p_values)  # the step-up rule itself: the largest k with p(k) ≤ k q / m, and all that are smaller
        passed = [k for k, p in enumerate(sorted(p_values), 1) if p <= k * 0.05 / m * (1 - 1e-9)]
        assert sum(q <= 0.05 for q in found) >= max(passed, default=0)


@given(P_VALUES)
def test_holm_is_the_step_down_rule(p_values: list[float]) -> None:
    found, m = holm(p_values), len(p_values)
    assert len(found) == m
    for alpha in (0.005, 0.05, 0.5):
        rejected = [False] * m
        for k, i in enumerate(sorted(range(m), key=lambda i: p_values[i])):
            if p_values[i] * (m - k) > alpha:
                break
            rejected[i] = True
        assert [p <= alpha for p in found] == rejected


@pytest.mark.parametrize("m", [1, 2, 7, 60, 400])
def test_both_are_those_of_statsmodels(m: int) -> None:
    p_values = np.round(np.random.default_rng(m).uniform(0, 1, m) ** 4, 3).tolist()  # some are equal
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert benjamini_hochberg(p_values) == pytest.approx(multipletests(p_values, method="fdr_bh")[1])


def test_holm_keeps_the_chance_of_any_false_finding() -> None:
    """20 true null hypotheses whose tests depend on one another."""
    rng, any_found = np.random.default_rng(0), []
    for _ in range(2000):
        z = 0.7 * rng.normal() + 0.71 * rng.normal(size=20)
        any_found.append(min(holm((2 * stats.norm.sf(abs(z))).tolist())) <= 0.05)
    assert np.mean(any_found) <= 0.06
