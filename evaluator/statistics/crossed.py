"""The standard error of a weighted mean over items that share clusters and bindings: variance components by moments."""

from functools import cached_property

import numpy as np
from scipy import sparse, stats
from scipy.optimize import nnls

from evaluator.statistics.clusters import Clusters


class CrossedMeans:
    """Weighted means of any outcome, and their intervals.

    Bindings, clusters and scenes have effects with unknown variances. The sums of squared residuals by binding, cluster and
    scene have expectations that are linear in them (Henderson 1953); solved without negative variances.
    """

    def __init__(self, clusters: Clusters, weights: np.ndarray | None = None):
        """weights (n,) of the items, which add up to 1; by default all are equal."""
        n = len(clusters)
        self._item_weights = np.full(n, 1 / n) if weights is None else weights
        _, first, self._scene = np.unique(clusters.scenes, return_index=True, return_inverse=True)
        self._w = np.bincount(self._scene, weights=self._item_weights)
        bindings = clusters.weights[clusters.shown[first]]
        of_clusters, of_scenes = (_indicators(each[first]) for each in (clusters.codes, clusters.scenes))
        self._effects = [
            sparse.csr_array(bindings[:, np.ptp(bindings, axis=0) > 0]),
            *([of_clusters] if 1 < of_clusters.shape[1] < len(first) else []),
            of_scenes,
        ]

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
        squares = np.array([np.square(effect.T @ residual).sum() for effect in self._effects])
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
        """What the sums of squares are expected to be for each variance (e, e), its factor in the variance of the mean (e,),
        and degrees of freedom (e,).
        """
        sums = [effect.T @ self._w for effect in self._effects]
        weighted = [sparse.diags_array(self._w) @ effect for effect in self._effects]
        expected = np.array(
            [
                [_squared(a.T @ b, u, v) for b, v in zip(weighted, sums, strict=True)]
                for a, u in zip(self._effects, sums, strict=True)
            ]
        )
        freedom = np.array([max(0, effect.shape[1] - 1) for effect in self._effects])
        return expected, np.array([u @ u for u in sums]), freedom


def _indicators(names: np.ndarray) -> sparse.csr_array:
    """Which of the different names (n, names) each of n is."""
    codes = np.unique(names, return_inverse=True)[1].reshape(-1)
    return sparse.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)))


def _squared(shared: sparse.csr_array, u: np.ndarray, v: np.ndarray) -> float:
    """The sum of the squares of shared − u v'."""
    return float(shared.power(2).sum() - 2 * u @ (shared @ v) + (u @ u) * (v @ v))
