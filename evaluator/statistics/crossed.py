"""The standard error of a weighted mean over items that share clusters and bindings: variance components by moments."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse, stats
from scipy.optimize import nnls

from evaluator.statistics.clusters import ENOUGH, Clusters


@dataclass(frozen=True)
class MeanEstimate:
    """A mean and its variance. parts: the contributions of values and objects, bindings, clusters and scenes, in this
    order; the variance is their sum. freedom: degrees of freedom of the sum.

    Without variance, or with a single scene, `interval` and `p` are nan.
    """

    value: float
    parts: tuple[float, ...]
    freedom: float

    @property
    def variance(self) -> float:
        """The variance of the mean under new draws of the random effects."""
        return sum(self.parts)

    @property
    def known(self) -> bool:
        """Whether the variance and the degrees of freedom are above 0."""
        return self.variance > TINY and self.freedom > 0

    def interval(self, level: float) -> tuple[float, float]:
        """Mean ± t · standard error."""
        if not self.known:
            return np.nan, np.nan
        half = float(stats.t.ppf((1 + level) / 2, self.freedom) * np.sqrt(self.variance))
        return self.value - half, self.value + half

    @property
    def p(self) -> float:
        """The two-sided p against a mean of 0, from the same t: the interval of level 1 − p ends at 0."""
        return float(2 * stats.t.sf(abs(self.value) / np.sqrt(self.variance), self.freedom)) if self.known else np.nan


def satterthwaite(parts: np.ndarray, freedom: np.ndarray) -> float:
    """Degrees of freedom of a sum of independent variances `parts` (k,), with `freedom` (k,) each (Satterthwaite 1946);
    0 if all are 0."""
    used = parts != 0
    return float(parts.sum() ** 2 / (parts[used] ** 2 / freedom[used]).sum()) if used.any() else 0.0


TINY = 1e-20


class CrossedMeans:
    """Weighted means of any outcome, and their variances.

    Values and objects, bindings, clusters and scenes have random effects with unknown variances. The sums of squared
    residuals by each of them have expectations that are linear in the variances (Henderson 1953); these equations are
    solved for variances ≥ 0. If there are few values or objects, their effects are held (`Clusters.main_effects`):
    residuals come from a regression on them, and the mean is about exactly these values and objects.

    Satterthwaite's degrees of freedom (A) take the estimated variances as known. An estimate of 0 then has no
    uncertainty, and intervals cover too rarely. The degrees of freedom of the sums of squares themselves (B) count the
    uncertainty of every effect, and are too few if there is no effect. We use ∛(A · B²), at least 1 because B can be
    near 0 after subtractions (`python -m bench --only comparing` measures coverage).
    """

    def __init__(self, clusters: Clusters, weights: np.ndarray | None = None, enough: int = ENOUGH):
        """weights (n,) of the items, with sum 1; equal by default. enough: the least number of values, or objects,
        whose effects are random; effects of fewer are held."""
        n = len(clusters)
        self._item_weights = np.full(n, 1 / n) if weights is None else weights
        _, first, self._scene = np.unique(clusters.scenes, return_index=True, return_inverse=True)
        self._w = np.bincount(self._scene, weights=self._item_weights)
        shown = clusters.shown[first]
        drawn, held = (effects[shown] for effects in clusters.main_effects(enough))
        bindings = clusters.weights[shown]
        of_clusters, of_scenes = (_indicators(each[first]) for each in (clusters.codes, clusters.scenes))
        if not 1 < of_clusters.shape[1] < len(first):
            of_clusters = of_clusters[:, :0]
        varying = bindings[:, np.ptp(bindings, axis=0) > 0]
        self._effects = [sparse.csr_array(drawn), sparse.csr_array(varying), of_clusters, of_scenes]
        self._held = np.column_stack([np.ones(len(first)), held])
        self._inverse = np.linalg.pinv(self._held.T @ (self._w[:, None] * self._held), 1e-9, hermitian=True)
        self._contrasts = [self._contrasts_of(drawn), *self._effects[1:]]

    def _contrasts_of(self, effect: np.ndarray) -> sparse.csr_array:
        """Contrasts of effects (scenes, k), independent of one another and of the held effects. Unlike the effects
        themselves, each contrast is equally informative about their variance."""
        around = effect - self._held @ (self._inverse @ (self._held.T @ (self._w[:, None] * effect)))
        size, directions = np.linalg.eigh(around.T @ (self._w[:, None] * around))
        kept = size > 1e-9 * size.max(initial=TINY)
        return sparse.csr_array(effect @ (directions[:, kept] / np.sqrt(size[kept])))

    def estimate(self, outcomes: np.ndarray) -> MeanEstimate:
        """The weighted mean of outcomes (n,) and its variance."""
        totals = np.bincount(self._scene, weights=self._item_weights * outcomes)
        mean = float(totals.sum())
        residual = totals - self._w * (self._held @ (self._inverse @ (self._held.T @ totals)))
        squares = np.array([np.square(contrasts.T @ residual).sum() for contrasts in self._contrasts])
        expected, factors, freedom = self._design
        used = np.flatnonzero((freedom > 0) & (np.diag(expected) > 1e-9 * factors**2))
        parts = np.zeros(len(factors))
        if not len(used):
            return MeanEstimate(mean, tuple(parts.tolist()), 0.0)
        expected, freedom = expected[np.ix_(used, used)], freedom[used]
        components, _ = nnls(expected / np.diag(expected)[:, None], squares[used] / np.diag(expected))
        parts[used] = components * factors[used]
        of_squares = np.linalg.lstsq(expected.T, factors[used], rcond=None)[0] * (expected @ components)
        df = np.cbrt(satterthwaite(parts[used], freedom) * satterthwaite(of_squares, freedom) ** 2)
        return MeanEstimate(mean, tuple(parts.tolist()), max(1.0, float(df)))

    def interval(self, outcomes: np.ndarray, level: float) -> tuple[float, float]:
        """Mean ± t · standard error of outcomes (n,); nan if nothing varies."""
        return self.estimate(outcomes).interval(level)

    @cached_property
    def _design(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The expected sums of squares per unit of each variance (e, e), each variance's factor in the variance of the
        mean (e,), and degrees of freedom (e,).
        """
        weighted = [each.multiply(self._w[:, None]).tocsr() for each in self._effects]
        transposed = [each.T.tocsr() for each in self._contrasts]
        held = [each.T @ self._held for each in weighted]
        of_contrasts = [each @ (self._w[:, None] * self._held) for each in transposed]
        expected = np.array(
            [
                [_squared(contrasts @ effect, u, v, self._inverse) for effect, v in zip(weighted, held, strict=True)]
                for contrasts, u in zip(transposed, of_contrasts, strict=True)
            ]
        )
        rank = np.linalg.matrix_rank(self._held)
        mains, *others = (contrasts.shape[1] for contrasts in self._contrasts)
        freedom = np.array([mains, *(max(0, n - rank) for n in others)])
        return expected, np.array([u[:, 0] @ u[:, 0] for u in held]), freedom


def _indicators(names: np.ndarray) -> sparse.csr_array:
    """Indicator matrix (n, distinct names) of names (n,)."""
    codes = np.unique(names, return_inverse=True)[1].reshape(-1)
    return sparse.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)))


def _squared(shared: sparse.csr_array, u: np.ndarray, v: np.ndarray, inverse: np.ndarray) -> float:
    """The sum of squares of shared − u · inverse · vᵀ, with shared (a, b), u (a, p), v (b, p) and inverse (p, p)."""
    across = np.sum(inverse * (u.T @ (shared @ v)))
    return float(np.square(shared.data).sum() - 2 * across + np.sum((inverse @ (u.T @ u) @ inverse) * (v.T @ v)))
