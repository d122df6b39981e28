"""Least squares with errors that allow for clusters (skill loads of COMPASS)."""

from typing import Any

import numpy as np


def clustered_least_squares(y: np.ndarray, x: np.ndarray, clusters: np.ndarray) -> Any:
    """Ordinary least squares of y (n,) on x (n, k), whose columns include the constant, with
    cluster-robust errors.

    Returns statsmodels' RegressionResults. The covariance is the sandwich of Liang and Zeger (1986)
    times G/(G−1) · (n−1)/(n−k) for G clusters (CR1); t has G − 1 degrees of freedom. Raises
    ValueError with the reason if the data determine no fit.
    """
    names, codes = np.unique(clusters, return_inverse=True)
    if (
        min(len(names), len(y)) <= x.shape[1]
    ):  # with fewer clusters than coefficients errors can be 0
        raise ValueError("too few items")
    if np.ptp(y) == 0:
        raise ValueError("all outcomes are equal")
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise ValueError("the counts depend on one another linearly")
    from statsmodels.regression.linear_model import OLS

    fit = OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    if fit.ssr <= 1e-16 * np.square(y).sum():
        raise ValueError("the counts explain the outcomes exactly")
    return fit
