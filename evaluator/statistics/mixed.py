"""The mean of a share over combinations like those measured: a logistic mixed model with crossed effects.

Clusters share bindings, and both differ in difficulty. Each has an effect in logits, drawn from a normal distribution.
Effects and their standard deviations are unknown and integrated out: cluster effects by quadrature (marginal.py),
binding effects by Laplace's approximation (Tierney and Kadane 1986), standard deviations over a grid. The result is the
posterior of the mean over all clusters and bindings of such a population. `python -m bench --only coverage` measures
the coverage of its intervals (docs/statistics.md).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit
from threadpoolctl import ThreadpoolController

from evaluator.statistics.clusters import ENOUGH, Clusters
from evaluator.statistics.marginal import Cells, Fit, Population

_SPREADS = np.array([0.1, 0.7, 1.4, 2.1, 3.0, 4.2])  # in logits; at 4.2 nearly all shares are near 0 or 1
_MAIN_SPREADS = np.array([0.1, 0.8, 1.6, 2.8])  # of values, and of objects
_HELD = 2.0  # prior spread of held values and objects, so that one without errors has a finite effect
_NEGLIGIBLE = 5.0  # grid points e^5 times less likely than the best change no digit
_UNLIKELY, _ENOUGH, _REFINEMENTS = 0.005, 3, 3  # an axis is refined while at most 3 points are likely
_NODES = np.linspace(
    -4.5, 4.5, 7
)  # standard deviations from the mode at which the posterior of the constant is evaluated
_FINE = np.linspace(-4.5, 4.5, 91)
_SHRINK = 0.346  # E logistic(m + sZ) is close to logistic(m / sqrt(1 + 0.346 s²)) (Zeger, Liang and Albert 1988)
_POINTS, _WEIGHTS = hermegauss(40)
_REPEATED = 1.5  # items per cluster; with fewer, cluster and item effects cannot be separated
_COUNTED = 10  # a cluster counts at most 10 · (number of clusters) items: in few, large clusters with hardly an error,
# effects are so skewed that quadrature fails, and the differences of clusters outweigh the information of more items
_SMALLEST = 1e-9
SMALLEST_P = 0.0005
"""Smaller p-values are reported as this one: the approximation is poor in the far tails."""


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
        """Twice the smaller of the probabilities of a mean below and above `share` (0..1); at least 0.0005."""
        below = float(np.interp(logit(np.clip(share, _SMALLEST, 1 - _SMALLEST)), self.points, self.below))
        return min(1.0, max(SMALLEST_P, 2 * min(below, 1 - below)))


class MixedLogistic:
    """The model for the items of `clusters`; `posterior` fits it to outcomes."""

    def __init__(self, clusters: Clusters, enough: int = ENOUGH):
        """enough: the least number of values, or objects, whose effects are random; effects of fewer are held."""
        key = np.stack([clusters.codes, clusters.shown])
        _, first, cell = np.unique(key, axis=1, return_index=True, return_inverse=True)
        self._cell, self._scenes = cell.reshape(-1), clusters.scenes
        self._sizes = np.bincount(self._cell).astype(float)
        shown = clusters.shown[first]
        bindings = clusters.weights[shown]
        bindings = bindings[:, np.ptp(bindings, axis=0) > 0]  # an effect shared by all is the constant
        drawn, held = (effects[shown] for effects in clusters.main_effects(enough))
        held = held - self._mean(held)
        columns = [np.ones((len(first), 1)), bindings, drawn, held]
        self._kind = np.repeat(np.arange(4), [each.shape[1] for each in columns])
        self._drawn = float(self._mean(np.square(drawn).sum(axis=1)))
        self._cells = Cells(clusters.codes[first], np.column_stack(columns))
        repeat = self._sizes.sum() >= _REPEATED * self._cells.clusters
        self._spreads = [
            _SPREADS if bindings.shape[1] else np.zeros(1),
            _SPREADS if repeat else _SPREADS[:1],
            _MAIN_SPREADS[1:2] if drawn.shape[1] else np.zeros(1),
        ]

    def _mean(self, of_cells: np.ndarray) -> np.ndarray:
        """The mean over items of values per cell (cells, ...)."""
        return np.asarray(np.tensordot(self._sizes / self._sizes.sum(), of_cells, 1))

    def posterior(self, outcomes: np.ndarray) -> Posterior:
        """The posterior of the mean over clusters and bindings like these, given outcomes (n,) in 0..1."""
        right = np.bincount(self._cell, weights=outcomes)
        of_scenes = self._scene_effect(outcomes, right)
        n = self._cells.by_cluster(self._sizes / of_scenes)
        effective = of_scenes / np.minimum(1, _COUNTED * self._cells.clusters / n)[self._cells.group]
        with _one_thread():  # matrices are small: waiting threads would cost more than they save
            return self._posterior(right / effective, self._sizes / effective)

    def _scene_effect(self, outcomes: np.ndarray, right: np.ndarray) -> float:
        """The design effect of scenes, at least 1: how many items of a scene count as one observation, by their
        agreement within cells; items per scene if all items of each cell agree."""
        residuals = outcomes - (right / self._sizes)[self._cell]
        total = np.square(residuals).sum()
        by_scene = np.square(np.bincount(self._scenes, weights=residuals)).sum()
        return max(1.0, by_scene / total if total > 0 else len(outcomes) / len(np.unique(self._scenes)))

    def _posterior(self, right: np.ndarray, sizes: np.ndarray) -> Posterior:
        spreads, weight, fit = self._likely(right, sizes)
        deviation = np.sqrt(fit.covariance[:, 0])
        steps = deviation[:, None] * _NODES
        along = fit.covariance / fit.covariance[:, :1]
        start = fit.effects[:, None] + steps[:, :, None] * along[:, None]
        point = np.repeat(np.arange(len(spreads)), len(_NODES))
        population = self._population(spreads[point])
        nodes = self._cells.fit(right, sizes, population, start.reshape(len(point), -1), fit.modes[point], fixed=1)
        log_density = nodes.density + np.log(population.shrink)
        curves = CubicSpline(_NODES, log_density.reshape(steps.shape), axis=1)(_FINE)
        mass = curves + (weight + np.log(deviation))[:, None]
        constants = fit.effects[:, :1] + deviation[:, None] * _FINE
        means = _population_means(constants, self._spread(spreads, fit))
        order = np.argsort(means, axis=None)
        mass = np.exp(mass - mass.max()).ravel()[order]
        return Posterior(means.ravel()[order], (np.cumsum(mass) - mass / 2) / mass.sum())

    def _likely(self, right: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, Fit]:
        """The likely points of the grid: standard deviations (k, 3) as in `_population`, their log prior weights (k,),
        and the fit at each.
        """
        axes, before = self._spreads, None
        for refinement in range(_REFINEMENTS + 1):
            spreads = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=1)
            prior = np.add.reduce(np.meshgrid(*_log_weights(axes), indexing="ij"), axis=0).ravel()
            population = self._population(spreads)
            if before is None:
                effects, modes = np.zeros((len(spreads), self._cells.design.shape[1])), None
                effects[:, 0] = logit((right.sum() + 0.5) / (sizes.sum() + 1)) / population.shrink
            else:
                near = np.abs(spreads[:, None] - before[0]).sum(axis=2).argmin(axis=1)
                effects, modes = before[1].effects[near], before[1].modes[near]
            fit = self._cells.fit(right, sizes, population, effects, modes)
            mass = fit.density + np.log(population.shrink) + prior
            found = [_narrowed(mass.reshape([len(axis) for axis in axes]), axes[i], i) for i in range(len(axes))]
            if refinement == _REFINEMENTS or all(map(np.array_equal, axes, found)):
                break
            axes, before = found, (spreads, fit)
        kept = np.flatnonzero(mass > mass.max() - _NEGLIGIBLE)
        if self._drawn:
            spreads = np.repeat(spreads[kept], len(_MAIN_SPREADS), axis=0)
            spreads[:, 2] = np.tile(_MAIN_SPREADS, len(kept))
            prior = np.repeat(prior[kept], len(_MAIN_SPREADS)) + np.tile(_log_weights([_MAIN_SPREADS])[0], len(kept))
            population, start = self._population(spreads), fit.take(np.repeat(kept, len(_MAIN_SPREADS)))
            fit = self._cells.fit(right, sizes, population, start.effects, start.modes)
            mass = fit.density + np.log(population.shrink) + prior
            kept = np.flatnonzero(mass > mass.max() - _NEGLIGIBLE)
        return spreads[kept], prior[kept], fit.take(kept)

    def _population(self, spreads: np.ndarray) -> Population:
        """The population with standard deviations (k, 3): of bindings, of clusters, and of values and objects."""
        of_kinds = np.column_stack(
            [np.full(len(spreads), np.inf), spreads[:, 0], spreads[:, 2], np.full(len(spreads), _HELD)]
        )
        shrink = 1 / np.sqrt(1 + _SHRINK * np.square(self._spread(spreads)))
        return Population(of_kinds[:, self._kind], spreads[:, 1], shrink)

    def _spread(self, spreads: np.ndarray, fit: Fit | None = None) -> np.ndarray:
        """The standard deviation (k,) of the logits of cells; with a fit it includes the held effects."""
        found = np.square(spreads) @ np.array([1, 1, self._drawn])
        if fit is not None:
            of_cells = np.where(self._kind == 3, fit.effects, 0) @ self._cells.design.T
            found = found + self._mean(np.square(of_cells).T)
        return np.sqrt(found)


def _log_weights(axes: list[np.ndarray]) -> list[np.ndarray]:
    """The log prior weights of each axis of standard deviations; the prior is flat."""
    return [np.log(np.gradient(axis)) if len(axis) > 1 else np.zeros(1) for axis in axes]


def _narrowed(mass: np.ndarray, spreads: np.ndarray, axis: int) -> np.ndarray:
    """A finer axis of standard deviations if few are likely, else the same axis. mass: log weights of the grid."""
    weight = np.exp(mass - mass.max()).sum(axis=tuple(i for i in range(mass.ndim) if i != axis))
    likely = np.flatnonzero(weight > _UNLIKELY * weight.sum())
    if len(spreads) == 1 or len(likely) > _ENOUGH:
        return spreads
    low, high = spreads[max(likely[0] - 1, 0)], spreads[min(likely[-1] + 1, len(spreads) - 1)]
    return np.linspace(low, high, len(spreads))


def _population_means(constants: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """The logit of E logistic(constant + spread · Z) for a standard normal Z, for constants (k, m) and spreads (k,)."""
    table = np.linspace(constants.min(), constants.max(), 80)
    weights = _WEIGHTS / _WEIGHTS.sum()
    means = expit(table[:, None] + spreads[:, None, None] * _POINTS) @ weights
    means = logit(np.clip(means, _SMALLEST, 1 - _SMALLEST))
    return np.stack([np.interp(row, table, mean) for row, mean in zip(constants, means, strict=True)])
