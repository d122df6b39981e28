"""Least squares by cluster against its definition in NumPy, and the data that determine no fit."""

import numpy as np
import pytest
from scipy import stats

from evaluator.statistics.regression import clustered_least_squares


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_by_cluster_are_the_sandwich_of_liang_and_zeger(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(30, 400)), rng.integers(4, 60)
    labels = rng.integers(0, groups, n)
    x = np.column_stack([rng.integers(1, 9, n), rng.integers(0, 5, n), np.ones(n)]).astype(float)
    y = 100.0 * (rng.random(n) < 0.8 - 0.05 * x[:, 0] + 0.1 * rng.normal(size=groups)[labels])
    fit = clustered_least_squares(y, x, np.array([f"c{label}" for label in labels]))
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    bread, g, k = np.linalg.inv(x.T @ x), len(set(labels)), x.shape[1]
    scores = np.array(
        [(x * (y - x @ beta)[:, None])[labels == label].sum(axis=0) for label in set(labels)]
    )
    covariance = g / (g - 1) * (n - 1) / (n - k) * bread @ scores.T @ scores @ bread
    errors = np.sqrt(np.diag(covariance))
    reach = stats.t.ppf(0.975, g - 1) * errors
    assert fit.conf_int() == pytest.approx(np.stack([beta - reach, beta + reach], axis=1), rel=1e-9)


@pytest.mark.parametrize(
    ("y", "x", "clusters", "reason"),
    [
        ([0, 1, 0, 1], [[1], [1], [1], [1]], [0, 0, 0, 0], "too few items"),
        ([0, 1], [[1, 1], [2, 1]], [0, 1], "too few items"),
        ([0, 1, 0, 0, 1, 1], [[1, 1]] * 3 + [[2, 1]] * 3, [0, 0, 0, 1, 1, 1], "too few items"),
        ([1, 1, 1], [[1, 1], [2, 1], [3, 1]], [0, 1, 2], "all outcomes are equal"),
        ([0, 1, 0, 1], [[1, 2, 1], [2, 4, 1], [3, 6, 1], [4, 8, 1]], [0, 1, 2, 3], "linearly"),
        ([0, 0, 1, 1], [[0, 1], [0, 1], [1, 1], [1, 1]], [0, 1, 2, 3], "exactly"),
    ],
)
def test_data_that_determine_no_fit_are_refused_with_the_reason(
    y: list[int], x: list[list[int]], clusters: list[int], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        clustered_least_squares(
            np.array(y, dtype=float), np.array(x, dtype=float), np.array(clusters)
        )
