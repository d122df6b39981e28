"""Corrected p-values against scipy and statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evaluator.statistics.difference import benjamini_hochberg, holm


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.001, 0.01, 0.04]), max_size=30))
def test_benjamini_and_hochberg_are_those_of_scipy(p_values: list[float]) -> None:
    expected = stats.false_discovery_control(p_values, method="bh") if p_values else []
    assert benjamini_hochberg(p_values) == pytest.approx(expected)


@pytest.mark.parametrize("n", [0, 1, 60])
def test_holm_is_that_of_statsmodels(n: int) -> None:
    """Few examples: each call of statsmodels collects the garbage of the whole process."""
    p_values = np.round(
        np.random.default_rng(0).uniform(0, 1, n) ** 4, 3
    ).tolist()  # some are equal
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1] if n else [])
