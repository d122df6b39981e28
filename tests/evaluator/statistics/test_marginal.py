"""The likelihood with effects of clusters integrated out, against brute force."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit
from statsmodels.tools.numdiff import approx_hess

from evaluator.statistics.marginal import Cells, Population

CLUSTER = np.array([0, 0, 1, 2, 2, 2])
DESIGN = np.array([[1, 1, 0], [1, 0, 1], [1, 0.6, 0.8], [1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=float)
RIGHT, SIZES = np.array([9, 4, 11, 0, 3, 2.0]), np.array([11, 11, 11, 5, 11, 7.0])
POINTS = [(0.7, 0.3), (1.5, 2.0), (0.2, 4.0)]


def population(points: list[tuple[float, float]]) -> Population:
    of_columns, of_clusters = np.array(points).T
    return Population(
        np.column_stack([np.full(len(points), np.inf), of_columns, of_columns]), of_clusters, np.full(len(points), 0.8)
    )


def log_density(effects: np.ndarray, of_columns: float, of_clusters: float) -> float:
    """By a sum over a fine grid of each cluster's effect; without the constants of the binomial distribution."""
    z = np.linspace(-9, 9, 4_001)
    logits = (DESIGN @ effects)[:, None] + of_clusters * z
    cells = RIGHT[:, None] * logits - SIZES[:, None] * np.logaddexp(0, logits)
    total = sum(np.log(np.exp(cells[c == CLUSTER].sum(axis=0)) @ stats.norm.pdf(z) * (z[1] - z[0])) for c in range(3))
    share = expit(0.8 * effects[0])
    prior = np.log(share * (1 - share)) / 2 - np.square(effects[1:] / of_columns).sum() / 2 - 2 * np.log(of_columns)
    return float(total + prior)


@pytest.mark.parametrize("point", POINTS)
def test_the_maximum_is_that_of_a_general_optimiser(point: tuple[float, float]) -> None:
    found = Cells(CLUSTER, DESIGN).fit(RIGHT, SIZES, population([point]), np.zeros((1, 3)))
    best = optimize.minimize(lambda effects: -log_density(effects, *point), np.zeros(3))
    matrix = -approx_hess(best.x, log_density, epsilon=1e-2, args=point)
    covariance = np.linalg.inv(matrix)
    errors = np.sqrt(np.diag(covariance))
    assert (found.effects[0] - best.x) / errors == pytest.approx(np.zeros(3), abs=0.03)
    assert found.covariance[0] == pytest.approx(covariance[0], abs=0.04 * covariance[0, 0])
    assert found.density[0] == pytest.approx(-best.fun - np.linalg.slogdet(matrix)[1] / 2, abs=0.03)


def test_points_are_fitted_as_if_alone_and_fixed_effects_stay() -> None:
    cells, start = Cells(CLUSTER, DESIGN), np.tile([-0.5, 0, 0], (3, 1))
    found = cells.fit(RIGHT, SIZES, population(POINTS), start, fixed=1)
    for i, point in enumerate(POINTS):
        alone = cells.fit(RIGHT, SIZES, population([point]), start[:1], fixed=1)
        assert found.effects[i] == pytest.approx(alone.effects[0], abs=1e-9)
        assert found.density[i] == pytest.approx(alone.density[0])
        best = optimize.minimize(lambda free, p=point: -log_density(np.array([-0.5, *free]), *p), np.zeros(2))
        assert found.effects[i] == pytest.approx([-0.5, *best.x], abs=0.03)


def test_without_columns_the_constant_alone_is_fitted() -> None:
    cells = Cells(CLUSTER, np.ones((6, 1)))
    one = Population(np.full((1, 1), np.inf), np.ones(1), np.ones(1))
    free = cells.fit(RIGHT, SIZES, one, np.zeros((1, 1)))
    fixed = cells.fit(RIGHT, SIZES, one, free.effects, fixed=1)
    assert fixed.effects == pytest.approx(free.effects)
    assert fixed.density == pytest.approx(free.density - np.log(free.covariance[:, 0]) / 2, abs=1e-3)
    assert fixed.covariance == 0


@pytest.mark.parametrize("start", [-8.0, 12.0])
def test_a_bad_start_ends_at_the_same_maximum(start: float) -> None:
    """Cells of one cluster that contradict each other, and effects so large that quadrature is coarse."""
    right, sizes = np.array([11, 0, 11, 10, 5, 11.0]), np.full(6, 11.0)
    cells, at = Cells(CLUSTER, DESIGN), population([(5.0, 6.0)])
    usual = cells.fit(right, sizes, at, np.zeros((1, 3)))
    far = cells.fit(right, sizes, at, np.array([[start, 0, 0]]))
    assert far.effects == pytest.approx(usual.effects, abs=0.05)
    assert far.covariance[0, 0] > 0
