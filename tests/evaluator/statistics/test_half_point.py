"""The half point of a ladder, against SciPy's isotonic regression and a logistic regression of
statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import isotonic_regression

from evaluator.statistics.half_point import crossings, half_point, non_increasing

PLACES = np.arange(6.0)
TRUE_PLACE, SLOPE = 2.6, 2.0


def ladders(n: int, seed: int) -> np.ndarray:
    """The right answers of two items at each step, float (n, 6), by a logistic curve from 100% to
    50%."""
    shares = 0.5 + 0.5 / (1 + np.exp(SLOPE * (PLACES - TRUE_PLACE)))
    rng = np.random.default_rng(seed)
    return rng.binomial(2, np.broadcast_to(shares, (n, 6))).astype(float)


def test_the_monotone_curve_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        total = rng.integers(1, 9, size=6).astype(float)
        right = rng.binomial(total.astype(int), 0.7).astype(float)
        expected = isotonic_regression(right / total, weights=total, increasing=False).x
        fitted = non_increasing(right[None], total[None])[0]
        np.testing.assert_allclose(fitted, expected)


def test_the_half_point_agrees_with_a_logistic_regression() -> None:
    right = ladders(400, seed=1)
    estimate = half_point(right, np.full(right.shape, 2.0), PLACES, half=0.75, level=0.95)
    # Of the share above chance, 2p - 1, half is where a logit link is 0.
    above_chance = np.clip(2 * right.mean(axis=0) / 2 - 1, 1e-6, 1 - 1e-6)
    weights = np.full(6, len(right))
    fit = sm.GLM(
        np.column_stack([above_chance * weights, (1 - above_chance) * weights]),
        sm.add_constant(PLACES),
        family=sm.families.Binomial(),
    ).fit()
    intercept, slope = fit.params
    assert estimate.value == pytest.approx(-intercept / slope, abs=0.1)
    assert estimate.low < TRUE_PLACE < estimate.high


def test_the_interval_covers_the_true_place_as_often_as_it_says() -> None:
    n_covered = 0
    for seed in range(120):
        right = ladders(60, seed)
        estimate = half_point(right, np.full(right.shape, 2.0), PLACES, half=0.75, level=0.9)
        n_covered += estimate.low <= TRUE_PLACE <= estimate.high
    # 0.9 within three standard errors.
    assert 0.81 <= n_covered / 120 <= 0.98


def test_curves_that_do_not_cross_half_have_infinite_places() -> None:
    total = np.full((2, 3), 10.0)
    right = np.array([[10.0, 10.0, 9.0], [7.0, 6.0, 5.0]])
    assert crossings(right, total, places=np.arange(3.0), half=0.75).tolist() == [np.inf, -np.inf]


def test_one_ladder_has_no_interval_and_equal_items_equal_intervals() -> None:
    right = ladders(40, seed=3)
    total = np.full(right.shape, 2.0)
    assert np.isnan(half_point(right[:1], total[:1], PLACES, half=0.75, level=0.95).low)
    first, second = (half_point(right, total, PLACES, half=0.75, level=0.95) for _ in range(2))
    assert first == second
