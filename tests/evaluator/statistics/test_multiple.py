"""Corrected p-values against scipy and statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evaluator.statistics.multiple import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1) | st.sampled_from([0.001, 0.01, 0.04]), max_size=30)


@given(P_VALUES)
def test_benjamini_and_hochberg_are_those_of_scipy(p_values: list[float]) -> None:
    expected = stats.false_discovery_control(p_values, method="bh") if p_values else []
    assert benjamini_hochberg(p_values) == pytest.approx(expected)


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


def test_holm_is_that_of_statsmodels() -> None:
    """Once: each call of statsmodels collects the garbage of the whole process."""
    p_values = np.round(np.random.default_rng(0).uniform(0, 1, 60) ** 4, 3).tolist()  # some are equal
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
