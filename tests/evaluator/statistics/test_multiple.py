"""Corrected p-values against scipy and statsmodels."""

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
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1] if p_values else []
    assert holm(p_values) == pytest.approx(expected)
