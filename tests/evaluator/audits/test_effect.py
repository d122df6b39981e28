"""Rank-biserial correlation against scipy, and the words for its size."""

import numpy as np
import pytest
from scipy import stats

from evaluator.audits.significance import rank_biserial, share_lower, size_of


def test_r_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        true, false = rng.integers(0, 9, rng.integers(1, 40)), rng.integers(2, 12, rng.integers(1, 40))
        u = stats.mannwhitneyu(true, false).statistic
        assert rank_biserial(true, false) == pytest.approx(1 - 2 * u / (len(true) * len(false)))
    assert np.isnan(rank_biserial(np.array([]), np.array([1.0])))


@pytest.mark.parametrize(
    ("r", "size"),
    [
        (0, "negligible"),
        (-0.0999, "negligible"),
        (0.1, "small"),
        (-0.2999, "small"),
        (0.3, "medium or large"),
        (-1, "medium or large"),
    ],
)
def test_sizes_of_effects(r: float, size: str) -> None:
    assert size_of(r) == size


def test_the_share_of_lower_numbers_counts_ties_half() -> None:
    assert share_lower(np.array([1, 2, 3, 4]), np.array([2, 2, 2, 2])) == 0.375
    assert np.isnan(share_lower(np.array([]), np.array([])))
