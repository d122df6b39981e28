"""Least squares with errors that allow for clusters (skill loads of COMPASS)."""

from typing import Any

import numpy as np


def clustered_least_squares(y: np.ndarray, x: np.ndarray, clusters: np.ndarray) -> Any:
    """Ordinary least squares with cluster-robust errors.

    The covariance is the sandwich of Liang and Zeger (1986) times G/(G−1) · (n−1)/(n−k) for G
    clusters (CR1); t has G − 1 degrees of freedom.

    Args:
        y: (n,) the outcomes.
        x: (n, k) the regressors, with the constant.
        clusters: (n,) the cluster of each outcome.

    Returns:
        statsmodels' RegressionResults.

    Raises:
        ValueError: the data determine no fit; the message is the reason.

    Example:
        >>> x = np.column_stack([np.ones(8), np.arange(8)])
        >>> y = 2 * np.arange(8) + np.array([0, 1, 0, 1, 1, 0, 1, 0])
        >>> clustered_least_squares(y, x, np.arange(8) // 2).params.round(3).tolist()
        [0.5, 2.0]
    """
    names, codes = np.unique(clusters, return_inverse=True)
    # With fewer clusters than coefficients, errors can be 0.
    if min(len(names), len(y)) <= x.shape[1]:
        raise ValueError("too few items")
    if np.ptp(y) == 0:
        raise ValueError("all outcomes are equal")
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise ValueError("the counts depend on one another linearly")
    from statsmodels.regression.linear_model import OLS

    model = OLS(y, x)
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    if fit.ssr <= 1e-16 * np.square(y).sum():
        raise ValueError("the counts explain the outcomes exactly")
    return fit
