"""The mean of outcomes that share names, combinations, clusters, images and trainings: an interval
for each of two claims.

The model is the linear random-effects model with crossed factors (Searle, Casella and McCulloch
1992, chapters 5 and 11): an outcome is a constant plus an effect of each value, object, binding,
cluster, scene and training, plus noise. The method has three steps.

1. Variance components by moments. The sum of squares of the residuals by each factor has an
   expectation that is linear in the variances (Henderson 1953, method 1). The equations are solved
   by weighted least squares for variances >= 0; an equation weighs as much as its sum of squares is
   precise (minimum-variance quadratic estimation, Swallow and Searle 1978).
2. Moderation. Three values tell little about the variance of values. Each variance therefore has a
   prior guess that counts as some degrees of freedom (`Prior`), as in the moderated t of Smyth
   (2004, section 3).
3. The variance of the mean is a weighted sum of the components. Its degrees of freedom are
   Satterthwaite's (1946), 2 V^2 / Var(V), and the interval is Student's t. Shares have their
   interval on the logit scale (delta method).

The two claims differ in step 3 only. About *this vocabulary*, a name or binding varies only as far
as the items show less of the vocabulary than all of it (finite-population correction, Cochran 1977,
section 2.6). About *values and objects like these*, all of them vary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse, stats
from scipy.special import expit, logit

from generator.base.clusters import Clusters

NAMES, BINDINGS, CLUSTERS, SCENES, TRAININGS, TRAINED_BINDINGS, NOISE = (
    "values and objects",
    "bindings",
    "clusters",
    "scenes",
    "trainings",
    "bindings within a training",
    "noise",
)


@dataclass(frozen=True)
class Prior:
    """Prior guesses of the variances of effects, for one kind of outcome.

    Chosen by simulation (`python -m bench --only designs`).
    """

    spreads: Mapping[str, float]
    """For each factor but noise, the standard deviation of its effect on a scene, in logits."""
    freedom: Mapping[str, float]
    """For each factor, how many degrees of freedom the guess counts as."""

    def weakened(self, factor: float) -> "Prior":
        """The same guesses, which count `factor` (0..1) times as many degrees of freedom. Near 0
        the estimates are those of moments alone, as in textbooks."""
        return replace(
            self, freedom={name: factor * freedom for name, freedom in self.freedom.items()}
        )


# With 1 degree of freedom, intervals of a 3x3 block are a quarter wider than they need to be. With
# 3, they miss effects of names and bindings that are far larger than the guess.
_FREEDOM = {
    NAMES: 2.0,
    BINDINGS: 2.0,
    CLUSTERS: 3.0,
    SCENES: 3.0,
    TRAININGS: 3.0,
    TRAINED_BINDINGS: 3.0,
    NOISE: 0.01,
}
OF_SHARES = Prior(
    spreads={
        NAMES: 0.5,
        BINDINGS: 1.0,
        CLUSTERS: 0.5,
        SCENES: 0.5,
        TRAININGS: 0.2,
        TRAINED_BINDINGS: 0.5,
    },
    freedom=_FREEDOM,
)
"""For the share of right answers of a model."""
OF_CROSSOVERS = Prior(
    spreads={
        NAMES: 0.15,
        BINDINGS: 0.6,
        CLUSTERS: 0.4,
        SCENES: 0.3,
        TRAININGS: 0.1,
        TRAINED_BINDINGS: 0.5,
    },
    freedom=_FREEDOM,
)
"""For the same images unseen against seen. What a name, a cluster or a training adds to both sides
cancels but for the ceiling of shares. What a binding adds only where it is unseen remains."""
OF_COMPARISONS = OF_SHARES.weakened(0.3)
"""For the difference of two models. Their effects may be alike or independent, so the guess counts
less (`python -m bench --only comparing`)."""
TINY = 1e-20
_MOST_ROUNDS = (
    500  # of reweighting; most fits settle in 20, perfect agreement within clusters needs 60
)
# relative change of every component in a round at which a fit ends: no digit that is shown
_SETTLED = 1e-7
_EXACT = (
    500  # levels of a factor up to which the variance of its sum of squares is computed exactly
)
_PER_CLUSTER = 10  # items of a cluster that can count for the centre of a share
# E logistic(m + sZ) is close to logistic(m / sqrt(1 + 0.346 s^2)) (Zeger, Liang and Albert 1988)
_SHRINK = 0.346
# p (1 - p) of a share near 75%: turns logits into a part of the variance of outcomes that are no
# shares
_BERNOULLI = 0.2


@dataclass(frozen=True)
class MeanEstimate:
    """A mean and its variance for one claim.

    Without variance, or without degrees of freedom, `interval` and `p` are nan.
    """

    value: float
    """The weighted mean."""
    parts: dict[str, float]
    """The contribution of each factor to the variance of the mean; 0 where the claim holds the
    factor fixed."""
    freedom: float
    """Degrees of freedom of the variance (Satterthwaite 1946)."""
    centre: float
    """For a share, the mean in 0..1, exclusive, around which logits are taken; nan for other
    outcomes."""

    @property
    def variance(self) -> float:
        """The variance of the mean under new draws of the random effects."""
        return sum(self.parts.values())

    @property
    def known(self) -> bool:
        """Whether the variance and the degrees of freedom are above 0."""
        return self.variance > TINY and self.freedom > 0

    def interval(self, level: float) -> tuple[float, float]:
        """The interval of `level` (0..1): t standard errors to both sides, of a share in logits."""
        if not self.known:
            return np.nan, np.nan
        reach = float(stats.t.ppf((1 + level) / 2, self.freedom) * np.sqrt(self.variance))
        if np.isnan(self.centre):
            return self.value - reach, self.value + reach
        in_logits = reach / (self.centre * (1 - self.centre))
        low, high = expit(logit(self.centre) + np.array([-in_logits, in_logits]))
        return min(float(low), self.value), max(float(high), self.value)

    def p(self, null: float = 0.0) -> float:
        """The two-sided p against a mean of `null`: the interval of level 1 - p ends there."""
        if not self.known:
            return np.nan
        if np.isnan(self.centre):
            distance = self.value - null
        else:
            null = float(np.clip(null, 1e-9, 1 - 1e-9))
            distance = (logit(self.centre) - logit(null)) * self.centre * (1 - self.centre)
        return float(2 * stats.t.sf(abs(distance) / np.sqrt(self.variance), self.freedom))


@dataclass(frozen=True)
class Estimates:
    """The estimates of one mean for the two claims."""

    vocabulary: MeanEstimate
    """About this vocabulary."""
    like_these: MeanEstimate
    """About values and objects like these."""
    components: dict[str, float]
    """The estimated variance of each factor's effect on a scene, on the scale of the outcomes."""


@dataclass(frozen=True)
class _Factor:
    """A factor with random effects."""

    name: str
    design: sparse.csr_array
    """How much each level counts in each cell (cells, levels)."""
    nuisance: np.ndarray
    """Columns (cells, p) whose effects are removed before the factor's sum of squares is taken."""
    population: np.ndarray
    """For each level, the number of levels of its kind in the vocabulary; inf without an end."""
    kind: np.ndarray
    """The kind of each level (levels,): 0 for values, 1 for objects; else 0."""


class CrossedMeans:
    """Weighted means of outcomes on the same items, and their variances. A fit costs little; the
    design is computed once."""

    def __init__(
        self,
        clusters: Clusters,
        weights: np.ndarray | None = None,
        finite_bindings: bool = False,
        prior: Prior = OF_SHARES,
    ):
        """Prepare the means of the items of `clusters`.

        Args:
            clusters: what the items share.
            weights: (n,) with sum 1; equal by default.
            finite_bindings: whether the claim about this vocabulary may take bindings as a part of
                the vocabulary's bindings. That is sound only if the effects of bindings within a
                training can be told from those of
                bindings: with two trainings of each turn, or for a model that was not trained here.
            prior: the guesses for this kind of outcome.
        """
        n = len(clusters)
        self._prior = prior
        self._item_weights = np.full(n, 1 / n) if weights is None else weights
        # A cell is a scene in a training: the finest unit. Items of a cell count by their sum.
        cell_codes = np.stack([clusters.scenes, clusters.trainings])
        _, first, cell = np.unique(cell_codes, axis=1, return_index=True, return_inverse=True)
        self._cell = cell.reshape(-1)
        self._w = np.bincount(self._cell, weights=self._item_weights)
        of_clusters = np.bincount(clusters.codes, weights=self._item_weights)
        self._effective_clusters = 1 / np.square(of_clusters).sum()
        self._factors = _factors(clusters, first, finite_bindings)
        self._u = [factor.design.T @ self._w for factor in self._factors]

    def estimate(self, outcomes: np.ndarray, share: bool = False) -> Estimates:
        """The weighted mean of outcomes (n,) and its variance for both claims.

        share: the outcomes are in 0..1, and the interval is in logits.
        """
        totals = np.bincount(self._cell, weights=self._item_weights * outcomes)
        mean = round(
            float(totals.sum()), 12
        )  # weights add up to 1 but for rounding: all right is 1
        centre, spread, scale = self._scales(totals, mean, share)
        if spread <= TINY:
            nothing = MeanEstimate(mean, {}, 0.0, centre)
            return Estimates(nothing, nothing, {})
        squares = np.array([self._sum_of_squares(i, totals) for i in range(len(self._factors))])
        if share:
            # The noise of the half cells that `_scales` adds: without it a share of 1 had none.
            squares[-1] += 0.5 * float(np.square(self._w).mean())
        prior = np.array(
            [
                spread
                if factor.name == NOISE
                else self._prior.spreads[factor.name] ** 2 * spread * scale
                for factor in self._factors
            ]
        )
        components, covariance = self._solve(squares, prior)
        claims = []
        for finite in (True, False):
            factors = self._variance_factors(finite)
            variance = float(factors @ components)
            uncertainty = float(factors @ covariance @ factors)
            freedom = 2 * variance**2 / uncertainty if uncertainty > 0 else 0.0
            parts = {
                f.name: float(v) for f, v in zip(self._factors, factors * components, strict=True)
            }
            claims.append(MeanEstimate(mean, parts, freedom, centre))
        named = {factor.name: float(v) for factor, v in zip(self._factors, components, strict=True)}
        return Estimates(claims[0], claims[1], named)

    def _scales(self, totals: np.ndarray, mean: float, share: bool) -> tuple[float, float, float]:
        """The centre of a share; the variance of a single outcome; and the factor by which squared
        logits become a part of that variance."""
        if share:
            # Half a cell more of each outcome keeps a share of 0 or 1 off the ends (Agresti 2013,
            # section 3.1.4). Few clusters without an error tell little, however many items they
            # have.
            effective = min(1 / np.square(self._w).sum(), _PER_CLUSTER * self._effective_clusters)
            centre = float((np.clip(mean, 0, 1) * effective + 0.5) / (effective + 1))
            return centre, centre * (1 - centre), centre * (1 - centre) * _flattening()
        residual = totals - self._w * mean
        known = self._w > 0
        spread = float((np.square(residual[known]) / self._w[known]).sum())
        return np.nan, spread, _BERNOULLI * _flattening()

    def _sum_of_squares(self, i: int, totals: np.ndarray) -> float:
        factor = self._factors[i]
        nuisance = factor.nuisance
        fitted = nuisance @ (self._inverses[i] @ (nuisance.T @ totals))
        return float(np.square(factor.design.T @ (totals - self._w * fitted)).sum())

    @cached_property
    def _inverses(self) -> list[np.ndarray]:
        """For each factor, the inverse of its nuisance columns' weighted products."""
        found: list[np.ndarray] = []
        for i, factor in enumerate(self._factors):
            if i and factor.nuisance is self._factors[i - 1].nuisance:
                found.append(found[-1])
                continue
            products = factor.nuisance.T @ (self._w[:, None] * factor.nuisance)
            found.append(np.linalg.pinv(products, 1e-9, hermitian=True))
        return found

    @cached_property
    def _expected(self) -> tuple[np.ndarray, list[np.ndarray | None], np.ndarray]:
        """For each factor (row): the expected sum of squares per unit of each variance (f, f); the
        inner products (f, f) of the covariance matrices of its totals per unit of each variance,
        None for factors of many levels; and the degrees of freedom (f,).

        With variances v, the covariance of the totals is C = sum of v_j C_j, and the sum of squares
        has the variance 2 tr(C C) = 2 v' P v, where P holds the inner products tr(C_j C_k)."""
        count = len(self._factors)
        expected = np.zeros((count, count))
        products: list[np.ndarray | None] = []
        freedom = np.zeros(count)
        weighted = [factor.design.multiply(self._w[:, None]).tocsr() for factor in self._factors]
        for i, factor in enumerate(self._factors):
            levels = factor.design.shape[1]
            exact = levels <= _EXACT
            matrices = np.zeros((count, levels, levels)) if exact else None
            inverse = self._inverses[i]
            own = factor.design.T @ (self._w[:, None] * factor.nuisance)
            for j in range(count):
                shared = (factor.design.T @ weighted[j]).tocsr()
                other = weighted[j].T @ factor.nuisance
                removed = own @ inverse
                if matrices is not None:
                    cross = shared @ (other @ removed.T)
                    fitted = removed @ (other.T @ other) @ removed.T
                    matrices[j] = (shared @ shared.T).toarray() - cross - cross.T + fitted
                    expected[i, j] = np.trace(matrices[j])
                else:
                    across = np.sum(removed * (shared @ other))
                    fitted_trace = np.sum((removed.T @ removed) * (other.T @ other))
                    expected[i, j] = np.square(shared.data).sum() - 2 * across + fitted_trace
            if matrices is None:
                products.append(None)
            else:
                flat = matrices.reshape(count, -1)
                products.append(flat @ flat.T)
            freedom[i] = max(0, levels - np.linalg.matrix_rank(factor.nuisance))
        return expected, products, freedom

    def _solve(self, squares: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The variance components (f,) and their covariance (f, f), by reweighted, moderated
        moments."""
        expected, products, freedom = self._expected
        prior_freedom = np.array([self._prior.freedom[factor.name] for factor in self._factors])
        prior_freedom = np.maximum(prior_freedom, 1e-6)
        least = prior * 1e-3
        components = prior
        for _ in range(_MOST_ROUNDS):
            rows = np.zeros(len(squares))
            for i, of_factor in enumerate(products):
                if of_factor is None:
                    precise = freedom[i]
                    rows[i] = np.sqrt(precise / 2) / (expected[i] @ components) if precise else 0.0
                else:
                    spread = np.sqrt(max(0.0, 2 * components @ of_factor @ components))
                    rows[i] = 1 / spread if spread > 0 else 0.0
            of_prior = np.sqrt(prior_freedom / 2) / np.maximum(components, least)
            system = np.vstack([rows[:, None] * expected, np.diag(of_prior)])
            target = np.concatenate([rows * squares, of_prior * prior])
            found = _nonnegative(system, target)
            # Half steps: weights and components depend on one another, and full steps can
            # oscillate.
            before, components = components, np.maximum((components + found) / 2, least)
            if np.all(np.abs(components - before) <= _SETTLED * components):
                break
        covariance = np.linalg.inv(system.T @ system)
        return components, covariance

    def _variance_factors(self, finite: bool) -> np.ndarray:
        """How much each component counts in the variance of the mean (f,).

        A mean with weights u over some of N levels, as an estimate of c/N times the sum of all N
        effects (c: the sum of u), errs with variance (sum of u^2 - c^2/N) times that of an effect.
        """
        found = []
        for factor, u in zip(self._factors, self._u, strict=True):
            total = float(np.square(u).sum())
            if finite:
                for kind in np.unique(factor.kind):
                    inside = factor.kind == kind
                    total -= float(u[inside].sum()) ** 2 / factor.population[inside][0]
            found.append(max(0.0, total))
        return np.array(found)


def _flattening() -> float:
    """How much smaller squared effects are on a mean share than on the share of one scene, for
    effects of the prior sizes."""
    of_scene = sum(spread**2 for spread in OF_SHARES.spreads.values())
    of_scene += OF_SHARES.spreads[NAMES] ** 2  # values, and objects
    return 1 / (1 + _SHRINK * of_scene)


def satterthwaite(parts: np.ndarray, freedom: np.ndarray) -> float:
    """Degrees of freedom of a sum of independent variances `parts` (k,), with `freedom` (k,) each
    (Satterthwaite 1946); 0 if all are 0."""
    used = parts != 0
    return float(parts.sum() ** 2 / (parts[used] ** 2 / freedom[used]).sum()) if used.any() else 0.0


def _factors(clusters: Clusters, first: np.ndarray, finite_bindings: bool) -> list[_Factor]:
    """The factors of the cells whose first items are `first`; factors that nothing distinguishes
    are left out."""
    constant = np.ones((len(first), 1))
    values, objects = (effects[clusters.shown[first]] for effects in clusters.main_effects())
    names = np.column_stack([values, objects])
    kind = np.repeat([0, 1], [values.shape[1], objects.shape[1]])
    population = np.array(clusters.vocabulary, dtype=float)[kind]
    bindings = clusters.weights[clusters.shown[first]]
    bindings = bindings[:, bindings.any(axis=0)]
    beside_names = np.column_stack([constant, names]) if names.shape[1] else constant
    all_bindings = (
        float(np.prod(clusters.vocabulary)) if finite_bindings and names.shape[1] else np.inf
    )
    trainings = clusters.trainings[first]
    several = len(np.unique(trainings)) > 1
    found = []

    def add(
        name: str, design: np.ndarray | sparse.csr_array, nuisance: np.ndarray, size: float = np.inf
    ) -> None:
        levels = design.shape[1]
        found.append(
            _Factor(
                name,
                sparse.csr_array(design),
                nuisance,
                np.full(levels, size),
                np.zeros(levels, dtype=int),
            )
        )

    if np.ptp(names, axis=0).any():
        found.append(_Factor(NAMES, sparse.csr_array(names), constant, population, kind))
    if np.ptp(bindings, axis=0).any():
        add(BINDINGS, bindings, beside_names, all_bindings)
    if 1 < len(np.unique(clusters.codes[first])) < len(first):
        add(CLUSTERS, _indicators(clusters.codes[first]), beside_names)
    scenes = len(np.unique(clusters.scenes[first]))
    if several:
        add(TRAININGS, _indicators(trainings), beside_names)
        within = sparse.hstack(
            [
                sparse.csr_array(bindings * (trainings == each)[:, None])
                for each in np.unique(trainings)
            ]
        ).tocsr()
        within = within[:, np.flatnonzero(abs(within).sum(axis=0))]
        # If every binding is in one training, its effect and that within the training are the same.
        if within.shape[1] > bindings.shape[1]:
            add(TRAINED_BINDINGS, within, beside_names)
        if 1 < scenes < len(first):
            add(SCENES, _indicators(clusters.scenes[first]), beside_names)
    add(NOISE, sparse.csr_array(sparse.eye_array(len(first))), beside_names)
    return found


def _indicators(codes: np.ndarray) -> sparse.csr_array:
    """Indicator matrix (n, distinct codes)."""
    column = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return sparse.csr_array((np.ones(len(column)), (np.arange(len(column)), column)))


def _nonnegative(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Least squares with components >= 0. Columns are scaled, because components differ by orders
    of magnitude."""
    from scipy.optimize import nnls

    size = np.linalg.norm(system, axis=0)
    solution, _ = nnls(system / size, target)
    return np.asarray(solution / size)
