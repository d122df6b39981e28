"""The marginal likelihood of binomial cells, with cluster effects integrated out, and its maximum.

A cell has a number of right outcomes out of its size, and a logit: a constant plus effects of its cluster and of the
columns of a design. All effects are normal. Cluster effects are integrated out by adaptive quadrature. The likelihood
of the other effects is then log-concave (Prékopa 1973), and Newton's method finds its maximum. The joint maximum over
all effects is no substitute: with many clusters it is many standard errors away (Breslow and Lin 1995).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import logit

_POINTS = np.linspace(-4.55, 4.55, 15)[:, None, None]  # standard deviations from the mode of each cluster's effect
_LOG_WEIGHT = np.log(0.65) - np.log(2 * np.pi) / 2
_STEPS, _LONGEST, _CONVERGED = 30, 2.5, 0.03
_AT_ONCE = 300_000  # size of an array that fits in the CPU cache


@dataclass(frozen=True)
class Population:
    """Standard deviations of effects, in logits, at k points.

    of_columns (k, columns); the first one, of the constant, is infinite. of_clusters (k,). shrink (k,): the prior is
    logistic(constant · shrink) ~ Beta(1/2, 1/2).
    """

    of_columns: np.ndarray
    of_clusters: np.ndarray
    shrink: np.ndarray

    def take(self, rows: np.ndarray | slice) -> "Population":
        """The same for a subset of the points."""
        return Population(self.of_columns[rows], self.of_clusters[rows], self.shrink[rows])


@dataclass(frozen=True)
class Fit:
    """The maximum of the density at k points.

    effects (k, columns): at the maximum. density (k,): log density, integrated over the free effects by Laplace's
    approximation. covariance (k, columns): of the constant with all effects; 0 if the constant was fixed. modes (k,
    clusters): the most likely effects of clusters, given the others.
    """

    effects: np.ndarray
    density: np.ndarray
    covariance: np.ndarray
    modes: np.ndarray

    def take(self, rows: np.ndarray) -> "Fit":
        """The same for a subset of the points."""
        return Fit(self.effects[rows], self.density[rows], self.covariance[rows], self.modes[rows])


class Cells:
    """Cells sorted by `cluster` (cells,), and their design (cells, columns), whose first column is 1. group (cells,):
    the index of each cell's cluster."""

    def __init__(self, cluster: np.ndarray, design: np.ndarray):
        self.design = design
        self._starts = np.flatnonzero(np.diff(cluster, prepend=-1))
        ends = np.append(self._starts[1:], len(cluster))
        self.group = np.repeat(np.arange(len(ends)), ends - self._starts)
        each = ends[self.group] - np.arange(len(cluster))  # cells of the same cluster, from this cell on
        self._one = np.repeat(np.arange(len(cluster)), each)
        self._other = self._one + np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        self._same = np.flatnonzero(self._one == self._other)
        self._products = _products(design, self._one, self._other)

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(self._starts)

    def fit(
        self,
        right: np.ndarray,
        sizes: np.ndarray,
        population: Population,
        effects: np.ndarray,
        modes: np.ndarray | None = None,
        fixed: int = 0,
    ) -> Fit:
        """Maximise the density, starting at effects (k, columns) and modes (k, clusters). The first `fixed` effects do
        not change."""
        k, columns = effects.shape
        if modes is None:
            modes = self._first_modes(right, sizes, population, effects[:, :1])
        found = Fit(effects.copy(), np.empty(k), np.zeros((k, columns)), modes.copy())
        rows = max(1, _AT_ONCE // max(len(_POINTS) * len(sizes), columns**2))
        for start in range(0, k, rows):
            self._climb(right, sizes, population, found, np.arange(start, min(k, start + rows)), fixed)
        return found

    def _first_modes(
        self, right: np.ndarray, sizes: np.ndarray, population: Population, constant: np.ndarray
    ) -> np.ndarray:
        n = self.by_cluster(sizes)
        share = (self.by_cluster(right) + 0.5) / (n + 1)
        known = n * share * (1 - share)
        return np.asarray((logit(share) - constant) * known / (known + population.of_clusters[:, None] ** -2))

    def _climb(
        self, right: np.ndarray, sizes: np.ndarray, population: Population, found: Fit, live: np.ndarray, fixed: int
    ) -> None:
        """Newton's method at the points `live`, each until it converges; writes to `found`."""
        free = slice(fixed, None)
        for step_number in range(_STEPS):
            at = population.take(live)
            effects = found.effects[live]
            modes, widths = self._modes(
                right, sizes, effects @ self.design.T, found.modes[live], at.of_clusters, 2 if step_number else 5
            )
            density, slope, curvature, safe = self._expanded(right, sizes, effects, modes, widths, at)
            doubtful = ~_positive(curvature[:, free, free])
            if (
                doubtful.any()
            ):  # quadrature is too coarse there; dropping the part that it gets wrong only makes steps shorter
                curvature[doubtful] = self._matrices(safe[doubtful]) + _diagonal(at.take(doubtful), effects[doubtful])
            wanted = np.zeros((*effects.shape, 2))
            wanted[:, :, 0], wanted[:, 0, 1] = slope, 1
            solved = np.zeros_like(wanted)
            solved[:, free] = np.linalg.solve(curvature[:, free, free], wanted[:, free])
            step, found.covariance[live] = solved[:, :, 0], solved[:, :, 1]
            longest = np.abs(step).max(axis=1)
            gain = (step * slope).sum(axis=1) / 2
            step /= np.maximum(1, longest / _LONGEST)[:, None]
            found.effects[live] = effects + step
            done = longest <= (_CONVERGED if step_number + 1 < _STEPS else np.inf)
            volume = np.linalg.slogdet(curvature[done][:, free, free])[1] / 2
            found.density[live[done]] = (density + gain)[done] - volume
            shift = self.by_cluster((step @ self.design.T) * sizes) / self.by_cluster(sizes)
            found.modes[live] = modes - shift * (1 - (widths / at.of_clusters[:, None]) ** 2)
            live = live[~done]
            if not len(live):
                break

    def _modes(
        self,
        right: np.ndarray,
        sizes: np.ndarray,
        logits: np.ndarray,
        modes: np.ndarray,
        spread: np.ndarray,
        steps: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The most likely effect of each cluster (k, clusters) given logits (k, cells), and its standard deviation."""
        precision = spread[:, None] ** -2
        for _ in range(steps):
            p = 1 / (1 + np.exp(-(logits + modes[:, self.group])))
            curvature = self.by_cluster(sizes * p * (1 - p)) + precision
            modes = modes + np.clip((self.by_cluster(right - sizes * p) - modes * precision) / curvature, -2, 2)
        return modes, 1 / np.sqrt(curvature)

    def _expanded(
        self,
        right: np.ndarray,
        sizes: np.ndarray,
        effects: np.ndarray,
        modes: np.ndarray,
        widths: np.ndarray,
        at: Population,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The log density (k,), its gradient (k, columns), its negative Hessian (k, columns, columns), and the part of
        the latter that is always positive (k, pairs). Louis (1982) has the derivatives.
        """
        spread = at.of_clusters[:, None]
        of_cluster = modes + _POINTS * widths
        logits = (effects @ self.design.T) + of_cluster[:, :, self.group]
        small = np.exp(-np.abs(logits))
        larger = 1 / (1 + small)  # the larger of the probabilities of right and wrong
        cells = right * logits - sizes * (np.maximum(logits, 0) - np.log(larger))
        log_weight = self.by_cluster(cells) - np.square(of_cluster / spread) / 2 + _LOG_WEIGHT
        largest = log_weight.max(axis=0)
        weight = np.exp(log_weight - largest)
        total = weight.sum(axis=0)
        weight = (weight / total)[:, :, self.group]
        residual = right - sizes * np.where(logits > 0, larger, 1 - larger)
        weighted = weight * residual
        mean = weighted.sum(axis=0)
        within = sizes * (weight * small * np.square(larger)).sum(axis=0)
        pairs = mean[:, self._one] * mean[:, self._other]
        pairs -= np.einsum("qkp,qkp->kp", weighted[:, :, self._one], residual[:, :, self._other])
        safe = np.zeros_like(pairs)
        safe[:, self._same] = within
        q = 1 / (1 + np.exp(-effects[:, 0] * at.shrink))
        precision = at.of_columns**-2.0
        density = (np.log(total * widths / spread) + largest).sum(axis=1) + np.log(q * (1 - q) + 1e-300) / 2
        density -= (np.square(effects) * precision).sum(axis=1) / 2 + np.log(at.of_columns[:, 1:]).sum(axis=1)
        slope = mean @ self.design - effects * precision
        slope[:, 0] += at.shrink * (0.5 - q)
        return density, slope, self._matrices(pairs + safe) + _diagonal(at, effects), safe

    def _matrices(self, pairs: np.ndarray) -> np.ndarray:
        """The sum of pairs (k, pairs) times the products of their designs (k, columns, columns)."""
        columns = self.design.shape[1]
        return np.ascontiguousarray((self._products @ pairs.T).T).reshape(-1, columns, columns)

    def by_cluster(self, cells: np.ndarray) -> np.ndarray:
        """The sum over the cells (..., cells) of each cluster, (..., clusters)."""
        return np.add.reduceat(cells, self._starts, axis=-1)


def _diagonal(at: Population, effects: np.ndarray) -> np.ndarray:
    """The negative Hessian of the log prior (k, columns, columns)."""
    diagonal = at.of_columns**-2.0
    q = 1 / (1 + np.exp(-effects[:, 0] * at.shrink))
    diagonal[:, 0] += at.shrink**2 * q * (1 - q) + 1e-6
    return np.asarray(diagonal[:, :, None] * np.eye(diagonal.shape[1]))


def _positive(matrices: np.ndarray) -> np.ndarray:
    """Whether symmetric matrices (k, n, n) are positive definite, (k,)."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.eigvalsh(matrices).min(axis=1, initial=np.inf) > 0)
    return np.ones(len(matrices), dtype=bool)


def _products(design: np.ndarray, one: np.ndarray, other: np.ndarray) -> sparse.csr_array:
    """The outer product of the designs of each pair of cells (columns², pairs); for distinct cells the sum of both
    orders."""
    columns = design.shape[1]
    most = int((design != 0).sum(axis=1).max())
    where = np.argsort(design == 0, axis=1, kind="stable")[:, :most]
    value = np.take_along_axis(design, where, axis=1)
    rows, values = [], []
    for a, b, factor in ((one, other, np.ones(len(one))), (other, one, one != other)):
        rows.append(where[a][:, :, None] * columns + where[b][:, None, :])
        values.append(value[a][:, :, None] * value[b][:, None, :] * np.reshape(factor, (-1, 1, 1)))
    pairs = np.broadcast_to(np.arange(len(one))[:, None, None], rows[0].shape)
    entries = np.ravel(values), (np.ravel(rows), np.ravel([pairs, pairs]))
    return sparse.csr_array(entries, shape=(columns**2, len(one)))
