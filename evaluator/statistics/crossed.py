"""The standard error of a weighted mean over items that share clusters and bindings: variance components by moments."""

from functools import cached_property

import numpy as np
from scipy import stats
from scipy.optimize import nnls

from evaluator.statistics.clusters import Clusters


class CrossedMeans:
    """Weighted means of any outcome, and their intervals.

    Bindings, clusters and scenes have effects with unknown variances. Three sums of squared residuals, by binding, cluster
    and scene, have expectations that are linear in them (Henderson 1953); solved without negative variances.
    """

    def __init__(self, clusters: Clusters, weights: np.ndarray | None = None):
        """weights (n,) of the items, which add up to 1; by default all are equal."""
        n = len(clusters)
        self._item_weights = np.full(n, 1 / n) if weights is None else weights
        _, first, self._scene = np.unique(clusters.scenes, return_index=True, return_inverse=True)
        self._w = np.bincount(self._scene, weights=self._item_weights)
        shown = clusters.weights[clusters.shown[first]]
        self._bindings = shown[:, np.ptp(shown, axis=0) > 0]
        _, self._cluster = np.unique(clusters.codes[first], return_inverse=True)

    def interval(self, outcomes: np.ndarray, level: float) -> tuple[float, float]:
        """Mean ± t · standard error of outcomes (n,), with Satterthwaite's degrees of freedom; nan where nothing varies."""
        mean, variance, df = self._moments(outcomes)
        if not variance > 1e-20 or not df > 0:
            return np.nan, np.nan
        half = float(stats.t.ppf((1 + level) / 2, df) * np.sqrt(variance))
        return mean - half, mean + half

    def _moments(self, outcomes: np.ndarray) -> tuple[float, float, float]:
        """The mean, its variance, and the degrees of freedom of that."""
        w = self._w
        totals = np.bincount(self._scene, weights=self._item_weights * outcomes)
        mean = float(totals.sum())
        residual = totals - w * mean
        squares = np.array(
            [
                np.square(self._bindings.T @ residual).sum(),
                np.square(np.bincount(self._cluster, weights=residual)).sum(),
                np.square(residual).sum(),
            ]
        )
        expected, factors, freedom = self._design
        used = np.flatnonzero((freedom > 0) & (np.diag(expected) > 0))
        if not len(used):
            return mean, 0.0, 0.0
        scale = np.diag(expected)[used]
        components, _ = nnls(expected[np.ix_(used, used)] / scale[:, None], squares[used] / scale)
        parts = components * factors[used]
        variance = float(parts.sum())
        df = variance**2 / float((parts**2 / freedom[used]).sum()) if variance > 0 else 0.0
        return mean, variance, df

    @cached_property
    def _design(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the sums of squares are expected to be for each variance (3, 3), its factor in the variance of the mean (3,),
        and degrees of freedom (3,).
        """
        w, z = self._w, self._bindings
        clusters = int(self._cluster.max()) + 1
        of_z, of_clusters = z.T @ w, np.bincount(self._cluster, weights=w)
        z_by_cluster = np.zeros((clusters, z.shape[1]))
        np.add.at(z_by_cluster, self._cluster, w[:, None] * z)
        by_cluster_squared = np.bincount(self._cluster, weights=w**2)
        e = np.zeros((3, 3))
        e[0, 0] = np.square((w[:, None] * z).T @ z - np.outer(of_z, of_z)).sum()
        e[1, 1] = np.square(of_clusters).sum() - 2 * (of_clusters**3).sum() + np.square(of_clusters).sum() ** 2
        e[0, 1] = e[1, 0] = np.square(z_by_cluster - np.outer(of_clusters, of_z)).sum()
        e[2, 2] = np.square(w).sum() - 2 * (w**3).sum() + np.square(w).sum() ** 2
        e[0, 2] = e[2, 0] = np.square(w[:, None] * (z - of_z)).sum()
        e[1, 2] = e[2, 1] = (
            by_cluster_squared.sum()
            - 2 * (of_clusters * by_cluster_squared).sum()
            + (np.square(of_clusters).sum() * np.square(w).sum())
        )
        factors = np.array([np.square(of_z).sum(), np.square(of_clusters).sum(), np.square(w).sum()])
        freedom = np.array([max(0, z.shape[1] - 1), clusters - 1 if clusters < len(w) else 0, len(w) - 1])
        return e, factors, freedom
