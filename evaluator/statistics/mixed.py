"""The mean of a share over combinations like those measured: a logistic mixed model with crossed effects.

Clusters share bindings, and both differ in how hard they are. Each cluster and each binding has an effect in logits, drawn
from a normal distribution. Neither the effects nor their two standard deviations are known, so they are integrated out: the
effects of clusters by adaptive quadrature, those of bindings by Laplace's approximation (Tierney and Kadane 1986), the standard
deviations over a grid with equal weights. The
result is the posterior of the mean over all clusters and bindings of such a population, under a Beta(1/2, 1/2) prior for it.
`python -m bench --only coverage` measures how often its intervals hold (docs/statistics.md).
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit
from threadpoolctl import ThreadpoolController

from evaluator.statistics.clusters import Clusters

_SPREADS = np.array(
    [0.1, 0.7, 1.4, 2.1, 3.0, 4.2]
)  # standard deviations of effects, in logits; at 4.2 nearly all or nothing
_NODES = np.linspace(-4, 4, 11)  # standard deviations from the mode at which the posterior of the constant is evaluated
_NEGLIGIBLE = 5.0  # a point of the grid that is e^5 times less likely than the best changes no digit
_UNLIKELY, _ENOUGH, _REFINEMENTS = (
    0.005,
    3,
    3,
)  # where three standard deviations or fewer are likely, finer ones are tried
_STEPS, _LONGEST, _CONVERGED = 20, 2.5, 1e-3
_SHRINK = 0.346  # E logistic(m + sZ) is close to logistic(m / sqrt(1 + 0.346 s²)) (Zeger, Liang and Albert 1988)
_POINTS, _WEIGHTS = hermegauss(40)
_CLUSTER_POINTS, _CLUSTER_WEIGHTS = hermegauss(7)
_CONSTANTS = np.linspace(-16, 16, 161)
_REPEATED = 1.5  # items a cluster; with fewer, its effect is the chance of the item itself and nothing can tell it
_SMALLEST = 1e-9
SMALLEST_P = 0.0005
"""Smaller p-values are not told apart: the approximation knows little of the far tails."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> Any:
    return _controller().limit(limits=1, user_api="blas")


@dataclass(frozen=True)
class Posterior:
    """A distribution of a share: points in logits, ascending, and the probability below each."""

    points: np.ndarray
    below: np.ndarray

    def interval(self, level: float) -> tuple[float, float]:
        """The equal-tailed interval of a level in 0..1."""
        low, high = expit(np.interp([(1 - level) / 2, (1 + level) / 2], self.below, self.points))
        return float(low), float(high)

    def p_value(self, share: float) -> float:
        """Twice the smaller probability of a mean below, or above, a share in 0..1; at least 0.0005."""
        below = float(np.interp(logit(np.clip(share, _SMALLEST, 1 - _SMALLEST)), self.points, self.below))
        return min(1.0, max(SMALLEST_P, 2 * min(below, 1 - below)))


class MixedLogistic:
    """The model for the items of `clusters`; `posterior` fits it to outcomes."""

    def __init__(self, clusters: Clusters):
        key = clusters.codes.astype(np.int64) * (len(clusters.weights) + 1) + clusters.shown
        cells, self._first, self._cell = np.unique(key, return_index=True, return_inverse=True)
        self._clusters = clusters
        self._sizes = np.bincount(self._cell).astype(float)
        cluster = clusters.codes[self._first]
        self._starts = np.flatnonzero(np.diff(cluster, prepend=-1))  # cells are sorted by cluster
        self._group = np.repeat(np.arange(len(self._starts)), np.diff([*self._starts, len(cells)]))
        shown = clusters.weights[clusters.shown[self._first]]
        self._weights = shown[:, np.ptp(shown, axis=0) > 0]  # an effect that all share is the constant

    @cached_property
    def _spreads(self) -> tuple[np.ndarray, np.ndarray]:
        """The standard deviations of bindings and of clusters that are tried first."""
        clusters_repeat = self._sizes.sum() >= _REPEATED * len(self._starts)
        return (
            _SPREADS if self._weights.shape[1] else _SPREADS[:1],
            _SPREADS if clusters_repeat else _SPREADS[:1],
        )

    def posterior(self, outcomes: np.ndarray) -> "Posterior":
        """What outcomes (n,) in 0..1 say of the mean over clusters and bindings like these."""
        right = np.bincount(self._cell, weights=outcomes)
        effective = self._scene_effect(outcomes, right)
        with _one_thread():  # the matrices are small, and threads that wait for one another cost more than they give
            return self._posterior(right / effective, self._sizes / effective)

    def _scene_effect(self, outcomes: np.ndarray, right: np.ndarray) -> float:
        """How many items of a scene count as one fact, at least 1: their agreement within a cell."""
        residuals = outcomes - (right / self._sizes)[self._cell]
        total = np.square(residuals).sum()
        by_scene = np.square(np.bincount(self._clusters.scenes, weights=residuals)).sum()
        return max(1.0, by_scene / total) if total > 0 else 1.0

    def _posterior(self, right: np.ndarray, sizes: np.ndarray) -> "Posterior":
        fit = _Fit(self, right, sizes)
        spreads = self._spreads
        for _ in range(_REFINEMENTS + 1):
            of_bindings, of_clusters = (each.ravel() for each in np.meshgrid(*spreads, indexing="ij"))
            spread = np.hypot(of_bindings, of_clusters)
            shrink = 1 / np.sqrt(1 + _SHRINK * spread**2)
            start = np.full(len(spread), logit((right.sum() + 0.5) / (sizes.sum() + 1))) / shrink
            mode, effects, density, variance = fit.climb(start, None, of_bindings, of_clusters, shrink)
            mass = density + np.log(shrink) + np.log(variance) / 2
            grid = mass.reshape(len(spreads[0]), -1)
            found = _narrowed(grid, spreads[0], 0), _narrowed(grid, spreads[1], 1)
            if all(np.array_equal(old, new) for old, new in zip(spreads, found, strict=True)):
                break
            spreads = found
        kept = np.flatnonzero(mass > mass.max() - _NEGLIGIBLE)
        deviation = np.sqrt(variance[kept])
        constants = mode[kept, None] + _NODES * deviation[:, None]
        point = np.repeat(kept, len(_NODES))
        start_effects = (effects[0][point], effects[1][point])
        *_, density, _ = fit.climb(
            constants.ravel(), start_effects, of_bindings[point], of_clusters[point], shrink[point], fixed=True
        )
        mass = density.reshape(constants.shape) + np.log(shrink[kept] * deviation)[:, None]
        means = np.stack(
            [
                np.interp(row, _CONSTANTS, _population_mean(_CONSTANTS, spread[k]))
                for row, k in zip(constants, kept, strict=True)
            ]
        )
        order = np.argsort(means, axis=None)
        weight = np.exp(mass - mass.max()).ravel()[order]
        points = logit(np.clip(means.ravel()[order], _SMALLEST, 1 - _SMALLEST))
        return Posterior(points, (np.cumsum(weight) - weight / 2) / weight.sum())


class _Fit:
    """Newton's method for the effects, at many points of the grid at once; effects of clusters are eliminated first."""

    def __init__(self, model: MixedLogistic, right: np.ndarray, sizes: np.ndarray):
        self._right, self._sizes = right, sizes
        self._weights, self._group, self._starts = model._weights, model._group, model._starts

    def climb(
        self,
        constant: np.ndarray,
        effects: tuple[np.ndarray, np.ndarray] | None,
        of_bindings: np.ndarray,
        of_clusters: np.ndarray,
        shrink: np.ndarray,
        fixed: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """The most likely constant (k,) and effects, the log density there with the effects integrated out, and the
        variance of the constant; with `fixed` the constant stays.
        """
        z = self._weights
        k, columns = len(constant), z.shape[1]
        b, g = effects or (np.zeros((k, columns)), np.zeros((k, len(self._starts))))
        tb, tg = 1 / of_bindings[:, None] ** 2, 1 / of_clusters[:, None] ** 2
        free = 0 if fixed else 1
        design = np.column_stack([np.ones(len(z)), z])[:, 1 - free :]
        ridge = np.concatenate([np.zeros((k, free)), np.broadcast_to(tb, (k, columns))], axis=1)
        diagonal = np.arange(design.shape[1])
        for _ in range(_STEPS):
            probability = expit(constant[:, None] + b @ z.T + g[:, self._group])
            residual = self._right - self._sizes * probability
            curvature = self._sizes * probability * (1 - probability) + 1e-9
            weighted = curvature[:, :, None] * design
            by_group = np.add.reduceat(weighted, self._starts, axis=1)
            d = np.add.reduceat(curvature, self._starts, axis=1) + tg
            hessian = np.matmul(design.T, weighted)
            hessian[:, diagonal, diagonal] += ridge
            slope = residual @ design
            slope[:, free:] -= b * tb
            if free:
                q = expit(constant * shrink)
                slope[:, 0] += 0.5 * shrink * (1 - 2 * q)
                hessian[:, 0, 0] += shrink**2 * q * (1 - q)
            slope_g = np.add.reduceat(residual, self._starts, axis=1) - g * tg
            scaled = by_group / d[:, :, None]
            schur = hessian - np.matmul(by_group.transpose(0, 2, 1), scaled)
            step = np.linalg.solve(schur, (slope - np.einsum("kgc,kg->kc", scaled, slope_g))[:, :, None])[:, :, 0]
            step_g = (slope_g - np.einsum("kgc,kc->kg", by_group, step)) / d
            longest = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(step_g).max(axis=1, initial=0))
            shorter = np.maximum(1, longest / _LONGEST)[:, None]
            step, step_g = step / shorter, step_g / shorter
            if free:
                constant = constant + step[:, 0]
            b, g = b + step[:, free:], g + step_g
            if longest.max() < _CONVERGED:
                break
        density = self._of_clusters(constant[:, None] + b @ z.T, g, 1 / np.sqrt(d), of_clusters)
        density -= (np.square(b) * tb).sum(axis=1) / 2
        density -= (np.logaddexp(0, constant * shrink) + np.logaddexp(0, -constant * shrink)) / 2
        determinant = np.linalg.slogdet(schur)[1] if schur.shape[1] else np.zeros(k)
        density -= (determinant - columns * np.log(tb[:, 0])) / 2
        variance = np.linalg.inv(schur)[:, 0, 0] if free else np.ones(k)
        return constant, (b, g), density, variance

    def _of_clusters(self, eta: np.ndarray, modes: np.ndarray, widths: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """The log density (k,) of all outcomes with each cluster's effect integrated out by adaptive quadrature.

        eta (k, cells): logits without the effects. modes, widths (k, clusters): where each effect is likely, and how widely.
        """
        terms = []
        for point, weight in zip(_CLUSTER_POINTS, _CLUSTER_WEIGHTS, strict=True):
            effect = modes + point * widths
            logits = eta + effect[:, self._group]
            cells = self._right * logits - self._sizes * np.logaddexp(0, logits)
            log_density = np.add.reduceat(cells, self._starts, axis=1) - np.square(effect / spread[:, None]) / 2
            terms.append(log_density + np.log(weight) + point**2 / 2)
        total = np.logaddexp.reduce(terms, axis=0) + np.log(widths / spread[:, None])
        return np.asarray(total.sum(axis=1))


def _narrowed(mass: np.ndarray, spreads: np.ndarray, axis: int) -> np.ndarray:
    """Finer standard deviations where few are likely, else the same ones. mass: log weights of the grid (bindings, clusters)."""
    weight = np.exp(mass - mass.max()).sum(axis=1 - axis)
    likely = np.flatnonzero(weight > _UNLIKELY * weight.sum())
    if len(spreads) == 1 or len(likely) > _ENOUGH:
        return spreads
    low, high = spreads[max(likely[0] - 1, 0)], spreads[min(likely[-1] + 1, len(spreads) - 1)]
    return np.linspace(low, high, len(_SPREADS))


def _population_mean(constants: np.ndarray, spread: float) -> np.ndarray:
    """E logistic(constant + spread · Z) for a standard normal Z, for each constant."""
    weights = _WEIGHTS / _WEIGHTS.sum()
    return np.asarray(expit(constants[:, None] + spread * _POINTS) @ weights)
