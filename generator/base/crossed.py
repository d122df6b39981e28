"""Mean outcomes of items that share names, combinations, images and trainings, with an interval
for each of two claims. docs/statistics.md derives the method.

The model is the linear model with crossed random effects (Searle, Casella and McCulloch 1992,
chapters 5 and 11): an outcome is a constant plus an effect of each value, object, binding, cluster,
scene and training, plus noise. The estimator has three steps.

1. Variance components by moments (Henderson 1953, method 1): the sum of squares of the residuals by
   each factor has an expectation that is linear in the variances. The equations are solved by
   weighted least squares for variances >= 0. An equation weighs as much as its sum of squares is
   precise (Swallow and Searle 1978).
2. Moderation (Smyth 2004, section 3): three values tell little about the variance of values, so
   each variance has a prior guess that counts as some degrees of freedom (`Prior`).
3. The variance of the mean is a weighted sum of the components, with Satterthwaite's (1946) degrees
   of freedom. The interval is Student's t; that of a share is made in logits (delta method).

The two claims differ in step 3 only. About *this vocabulary*, a name or binding varies only as far
as the items show less of the vocabulary than all of it (finite-population correction, Cochran 1977,
section 2.6). About *values and objects like these*, all of them vary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse, special
from scipy.special import expit, logit

from generator.base.clusters import Clusters

NAMES = "values and objects"
BINDINGS = "bindings"
CLUSTERS = "clusters"
SCENES = "scenes"
TRAININGS = "trainings"
TRAINED_BINDINGS = "bindings within a training"
NOISE = "noise"

TINY = 1e-20
"""Variances up to here are rounding errors."""
_ROUNDING = 1e-9
"""An expected sum of squares up to this share of that without nuisance columns is a rounding
error."""
_FREEDOM_OF_NOISE = 3.0
"""Where names leave the noise fewer degrees of freedom, its guess counts for those that are
missing. The guess is the variance of all outcomes, so it is not too small."""
_MOST_ROUNDS = 500
"""Rounds of reweighting. Most fits settle in 30; perfect agreement within clusters needs 60."""
SETTLED = 1e-7
"""A fit ends when no component changes by more than this share of itself: no printed digit then
changes any more."""
_MOST_ENTRIES_DENSE = 40_000
"""Up to so many entries (cells times levels) of every design, dense products are faster."""
_MOST_LEVELS_EXACT = 500
"""Up to so many levels of a factor, the variance of its sum of squares is computed exactly. With
more levels the products of matrices would take seconds, and chi-square is close."""
_COUNTED_PER_CLUSTER = 10
"""Items of a cluster that can count for the centre of a share."""
_SHRINK = 0.346
"""E logistic(m + sZ) is close to logistic(m / sqrt(1 + 0.346 s^2)) (Zeger, Liang and Albert
1988)."""
_USUAL_VARIANCE = 0.2
"""p (1 - p) of a share near 75%. It turns squared logits into a part of the variance of outcomes
for which nobody says how right the models are."""


@dataclass(frozen=True)
class Prior:
    """Prior guesses of the variances of effects, for one kind of outcome.

    They were chosen by simulation (`python -m bench --only designs`).
    """

    spreads: Mapping[str, float]
    """For each factor but noise, the standard deviation of its effect on a scene, in logits."""
    freedom: Mapping[str, float]
    """For each factor, how many degrees of freedom the guess counts as."""

    def weakened(self, factor: float) -> "Prior":
        """The same guesses with less weight.

        Args:
            factor: what to multiply the degrees of freedom by, 0..1. Near 0, estimates are those
                of moments alone, as in textbooks.

        Returns:
            A new prior.

        Example:
            >>> OF_SHARES.weakened(0.5).freedom["values and objects"]
            1.0
        """
        freedom = {name: factor * of_factor for name, of_factor in self.freedom.items()}
        return replace(self, freedom=freedom)


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
        # What a name or a cluster adds to both sides cancels, but for the ceiling of shares.
        NAMES: 0.18,
        CLUSTERS: 0.25,
        # What a binding adds only where it is unseen remains.
        BINDINGS: 0.6,
        TRAINED_BINDINGS: 0.5,
        # The seen side of an image is one mean for all trainings, so they share its noise.
        SCENES: 0.8,
        # What a training adds to both sides is subtracted (difference in differences).
        TRAININGS: 0.07,
    },
    # A rotation shows many images and all bindings in several trainings, so the data tell more of
    # these than in one block, and effects on R@1 are larger than the guess.
    freedom={**_FREEDOM, SCENES: 1.0, TRAINED_BINDINGS: 1.0},
)
"""For the same images unseen against seen."""
OF_COMPARISONS = OF_SHARES.weakened(0.3)
"""For the difference of two models. Their effects may be alike or independent, so the guess counts
less (`python -m bench --only comparing`)."""


@dataclass(frozen=True)
class MeanEstimate:
    """A mean and its variance for one claim."""

    value: float
    """The weighted mean."""
    parts: dict[str, float]
    """The contribution of each factor to the variance of the mean; 0 where the claim holds the
    factor fixed."""
    freedom: float
    """Degrees of freedom of the variance (Satterthwaite 1946); 0 where nothing varies."""
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
        """The interval: t standard errors to both sides, of a share in logits.

        Args:
            level: the share of intervals that shall hold the true mean, 0..1.

        Returns:
            Its ends, nan if `known` is false.

        Example:
            >>> estimate = MeanEstimate(0.5, {"noise": 0.01}, 1e9, float("nan"))
            >>> [round(end, 3) for end in estimate.interval(0.95)]
            [0.304, 0.696]
        """
        if not self.known:
            return np.nan, np.nan
        quantile = special.stdtrit(self.freedom, (1 + level) / 2)
        reach = float(quantile * np.sqrt(self.variance))
        if np.isnan(self.centre):
            return self.value - reach, self.value + reach
        # The delta method: the derivative of the logit is 1 / (p (1 - p)).
        in_logits = reach / (self.centre * (1 - self.centre))
        low, high = expit(logit(self.centre) + np.array([-in_logits, in_logits]))
        # The centre is drawn towards 1/2, so the mean itself can lie outside.
        return min(float(low), self.value), max(float(high), self.value)

    def p(self, null: float = 0.0) -> float:
        """The two-sided p: the interval of level 1 - p ends at `null`.

        Args:
            null: the mean under the null hypothesis, of a share in 0..1.

        Returns:
            p in 0..1; nan if `known` is false.

        Example:
            >>> round(MeanEstimate(0.5, {"noise": 0.01}, 1e9, float("nan")).p(0.304), 3)
            0.05
        """
        if not self.known:
            return np.nan
        if np.isnan(self.centre):
            distance = self.value - null
        else:
            # A chance level of 0 or 1 has no logit.
            null = float(np.clip(null, 1e-9, 1 - 1e-9))
            in_logits = logit(self.centre) - logit(null)
            distance = in_logits * self.centre * (1 - self.centre)
        t = abs(distance) / np.sqrt(self.variance)
        return float(2 * special.stdtr(self.freedom, -t))


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
class _Scale:
    """What turns prior guesses in logits into variances of outcomes."""

    outcome_variance: float
    """The variance of a single outcome."""
    of_squared_logits: float
    """The part of that variance that is due to an effect of one logit, squared."""
    centre: float = np.nan
    """As in MeanEstimate."""


@dataclass(frozen=True)
class _Factor:
    """A factor with random effects."""

    name: str
    """NAMES, BINDINGS, ..."""
    design: sparse.csr_array
    """How much each level counts in each cell (cells, levels)."""
    nuisance: np.ndarray
    """Columns (cells, p) whose effects are removed before the factor's sum of squares is taken."""
    population: float | np.ndarray = np.inf
    """For each level, the number of levels of its kind in the vocabulary; inf without an end."""
    kind: int | np.ndarray = 0
    """The kind of each level (levels,): 0 for values, 1 for objects; else 0."""
    levels_by_cell: sparse.csr_array = field(init=False, repr=False)
    """The design transposed (levels, cells); kept because each estimate uses it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels_by_cell", self.design.T.tocsr())


@dataclass(frozen=True)
class _Moments:
    """What the design says about the sums of squares of f factors.

    With variances v, the covariance of the totals of a factor's levels is C = sum of v_j C_j. The
    sum of squares has the expectation tr C = sum of v_j tr C_j, and for normal effects the variance
    2 tr(C C) = 2 v' P v, where P holds the inner products tr(C_j C_k).
    """

    expected: np.ndarray
    """(f, f): the expected sum of squares of each factor (row) per unit of each variance."""
    products: list[np.ndarray | None]
    """For each factor the matrix P (f, f); None for factors of many levels."""
    freedom: np.ndarray
    """(f,) the degrees of freedom of each sum of squares."""


class CrossedMeans:
    """Weighted means of outcomes on the same items, and their variances.

    What depends on the items alone is computed once, so that further outcomes cost little.
    """

    def __init__(
        self,
        clusters: Clusters,
        weights: np.ndarray | None = None,
        *,
        finite_bindings: bool = False,
        prior: Prior = OF_SHARES,
        settled: float = SETTLED,
    ):
        """Prepare the means of the items of `clusters`.

        Args:
            clusters: what the items share.
            weights: (n,) with sum 1; equal by default.
            finite_bindings: whether the claim about this vocabulary may take bindings as a part of
                the vocabulary's bindings. That is sound only if the effects of bindings within a
                training can be told from those of bindings: with two trainings of each turn, or for
                a model that was not trained here.
            prior: the guesses for this kind of outcome.
            settled: the relative change of components at which a fit ends.
        """
        n = len(clusters)
        self._prior = prior
        self._settled = settled
        self._item_weights = np.full(n, 1 / n) if weights is None else weights
        # A cell is a scene in a training: the finest unit. Items of a cell count by their sum.
        cell_codes = np.stack([clusters.scenes, clusters.trainings])
        _, first, cell = np.unique(cell_codes, axis=1, return_index=True, return_inverse=True)
        self._cell = cell.reshape(-1)
        self._cell_weights = np.bincount(self._cell, weights=self._item_weights)
        cluster_weights = np.bincount(clusters.codes, weights=self._item_weights)
        effective_clusters = 1 / np.square(cluster_weights).sum()
        effective_cells = 1 / np.square(self._cell_weights).sum()
        # Few clusters without an error tell little, however many items they have.
        self._effective_items = min(effective_cells, _COUNTED_PER_CLUSTER * effective_clusters)
        self._factors = _factors(clusters, first, finite_bindings)
        self._level_weights = [f.levels_by_cell @ self._cell_weights for f in self._factors]

    def estimate(
        self, outcomes: np.ndarray, *, share: bool = False, variance: float = _USUAL_VARIANCE
    ) -> Estimates:
        """The weighted mean of outcomes and its variance for both claims.

        Args:
            outcomes: (n,) of the items.
            share: whether the outcomes are in 0..1 and the interval is made in logits.
            variance: p (1 - p) of the shares whose difference the outcomes are: the variance that
                an effect of one logit adds, squared. Not for `share`.

        Returns:
            The estimates; without variance and freedom where nothing varies.

        Example:
            >>> means = CrossedMeans(Clusters.from_names(["a", "a", "b", "b"]))
            >>> means.estimate(np.array([1.0, 0.0, 1.0, 1.0]), share=True).vocabulary.value
            0.75
        """
        totals = np.bincount(self._cell, weights=self._item_weights * outcomes)
        # Weights add up to 1 but for rounding, and all right is exactly 1.
        mean = round(float(totals.sum()), 12)
        scale = self._scale_of_share(mean) if share else self._scale(totals, mean, variance)
        if scale.outcome_variance <= TINY:
            nothing = MeanEstimate(mean, {}, 0.0, scale.centre)
            return Estimates(nothing, nothing, {})

        # Step 1: sums of squares. Step 2: components, moderated by the guesses. Step 3: the claims.
        squares = np.array([self._sum_of_squares(i, totals) for i in range(len(self._factors))])
        if share:
            # The noise of the half cells of `shrunk_share`: without it a share of 1 had none.
            squares[-1] += 0.5 * float(np.square(self._cell_weights).mean())
        components, covariance = self._solve(squares, self._guesses(scale))
        component_of = {}
        for factor, component in zip(self._factors, components, strict=True):
            component_of[factor.name] = float(component)
        return Estimates(
            self._mean_estimate(
                mean,
                scale,
                components=components,
                covariance=covariance,
                coefficients=self._vocabulary_coefficients,
            ),
            self._mean_estimate(
                mean,
                scale,
                components=components,
                covariance=covariance,
                coefficients=self._wider_coefficients,
            ),
            component_of,
        )

    def anticipate(
        self, components: Mapping[str, float], *, variance: float
    ) -> tuple[float, MeanEstimate]:
        """What `estimate` typically gives for outcomes that are not shares.

        Args:
            components: the true variance of each factor's effect on a scene.
            variance: as in `estimate`.

        Returns:
            The true variance of the mean about this vocabulary, and the estimate that sums of
            squares at their expectation give. It differs because of the prior guesses.
        """
        true = np.array([components[factor.name] for factor in self._factors])
        scale = _Scale(float(self._effects_per_cell @ true), variance * _flattening())
        estimated, covariance = self._solve(self._moments.expected @ true, self._guesses(scale))
        coefficients = self._vocabulary_coefficients
        estimate = self._mean_estimate(
            0.0, scale, components=estimated, covariance=covariance, coefficients=coefficients
        )
        return float(coefficients @ true), estimate

    def shrunk_share(self, share: float) -> float:
        """A share with half an item more on each side, which keeps 0 and 1 off the ends (Agresti
        2013, section 3.1.4).

        Args:
            share: 0..1, of these items.

        Returns:
            A share in 0..1, exclusive.

        Example:
            >>> round(CrossedMeans(Clusters.from_names(["a", "b", "c", "d"])).shrunk_share(1.0), 12)
            0.9
        """
        items = self._effective_items
        right_items = np.clip(share, 0, 1) * items + 0.5
        return float(right_items / (items + 1))

    def _scale_of_share(self, mean: float) -> _Scale:
        centre = self.shrunk_share(mean)
        variance = centre * (1 - centre)
        return _Scale(variance, variance * _flattening(), centre)

    def _scale(self, totals: np.ndarray, mean: float, variance: float) -> _Scale:
        residuals = totals - self._cell_weights * mean
        # Pooled items of weight 0 would divide by zero.
        used = self._cell_weights > 0
        squared_by_cell = np.square(residuals[used]) / self._cell_weights[used]
        return _Scale(float(squared_by_cell.sum()), variance * _flattening())

    def _guesses(self, scale: _Scale) -> np.ndarray:
        """The prior guess of each factor's variance (f,), on the scale of the outcomes."""
        guesses = []
        for factor in self._factors:
            if factor.name == NOISE:
                guesses.append(scale.outcome_variance)
            else:
                squared_logits = self._prior.spreads[factor.name] ** 2
                guesses.append(squared_logits * scale.outcome_variance * scale.of_squared_logits)
        return np.array(guesses)

    def _sum_of_squares(self, i: int, totals: np.ndarray) -> float:
        """The sum of squares by factor i of the residuals from its nuisance columns."""
        factor = self._factors[i]
        nuisance = factor.nuisance
        fitted = nuisance @ (self._inverses[i] @ (nuisance.T @ totals))
        residuals = totals - self._cell_weights * fitted
        return float(np.square(factor.levels_by_cell @ residuals).sum())

    @cached_property
    def _effects_per_cell(self) -> np.ndarray:
        """How often the variance of each factor is part of that of an outcome (f,): names twice,
        once for values and once for objects."""
        squares = [f.design.power(2).sum(axis=1) for f in self._factors]
        return np.array(squares) @ self._cell_weights

    @cached_property
    def _inverses(self) -> list[np.ndarray]:
        """For each factor, the inverse of its nuisance columns' weighted products."""
        inverses: list[np.ndarray] = []
        for i, factor in enumerate(self._factors):
            if i and factor.nuisance is self._factors[i - 1].nuisance:
                inverses.append(inverses[-1])
                continue
            products = factor.nuisance.T @ (self._cell_weights[:, None] * factor.nuisance)
            # Values and objects add up to the same constant, so the products are singular.
            inverses.append(np.linalg.pinv(products, 1e-9, hermitian=True))
        return inverses

    @cached_property
    def _moments(self) -> _Moments:
        """What the design says about the sums of squares of all factors."""
        count = len(self._factors)
        designs = self._designs_for_products()
        weighted_designs = [_rows_times(design, self._cell_weights) for design in designs]
        expected = np.zeros((count, count))
        products: list[np.ndarray | None] = []
        freedom = np.zeros(count)
        for i, factor in enumerate(self._factors):
            # The totals of the factor's levels are M y with M = D'W - R N'W: designs D, weights W,
            # nuisance N, and R = D'W N (N'W N)^-1. Unit variance of factor j has C_j = A_j A_j'
            # with A_j = M D_j = D'W D_j - R (N'W D_j).
            levels = factor.design.shape[1]
            levels_by_cell = designs[i].T
            nuisance_totals = levels_by_cell @ (self._cell_weights[:, None] * factor.nuisance)
            removed = nuisance_totals @ self._inverses[i]
            is_exact = levels <= _MOST_LEVELS_EXACT
            matrices = []
            for j, weighted in enumerate(weighted_designs):
                shared = levels_by_cell @ weighted
                of_nuisance = weighted.T @ factor.nuisance
                if is_exact:
                    matrix = _covariance_of_totals(shared, of_nuisance, removed)
                    expected[i, j] = np.trace(matrix)
                    matrices.append(matrix)
                else:
                    expected[i, j] = _trace_of_totals(shared, of_nuisance, removed)
            freedom[i] = max(0, levels - np.linalg.matrix_rank(factor.nuisance))

            own_squares = _sum_of_squares(levels_by_cell @ weighted_designs[i])
            if expected[i, i] <= _ROUNDING * own_squares:
                # Names take up all that this factor could say: few scenes of many names.
                expected[i] = 0
                freedom[i] = 0
                products.append(np.zeros((count, count)))
            elif is_exact:
                # tr(C_j C_k) of symmetric matrices is the sum of the products of their entries.
                flat = np.stack(matrices).reshape(count, -1)
                products.append(flat @ flat.T)
            else:
                products.append(None)
        return _Moments(expected, products, freedom)

    def _designs_for_products(self) -> Sequence[sparse.csr_array | np.ndarray]:
        """The design of each factor, dense where that makes products faster."""
        designs = [factor.design for factor in self._factors]
        most_entries = max(design.shape[0] * design.shape[1] for design in designs)
        if most_entries <= _MOST_ENTRIES_DENSE:
            # A sparse product of few entries takes longer to prepare than to compute.
            return [design.toarray() for design in designs]
        return designs

    def _solve(self, squares: np.ndarray, guesses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The variance components (f,) and their covariance (f, f), by moderated moments.

        Each sum of squares is an equation E v = s, and each guess g another, v = g. Both are
        divided by their standard deviation, which depends on v; so least squares are repeated with
        new weights until v settles. A guess of d degrees of freedom has the standard deviation
        v sqrt(2 / d), as an estimate of variance from d normal observations has.

        Args:
            squares: (f,) the sum of squares of each factor.
            guesses: (f,) the prior guesses.
        """
        moments = self._moments
        prior_freedom = np.array([self._prior.freedom[factor.name] for factor in self._factors])
        # Above 0, so that a guess that counts as nothing still makes the system solvable.
        prior_freedom = np.maximum(prior_freedom, 1e-6)
        prior_freedom[-1] = max(prior_freedom[-1], _FREEDOM_OF_NOISE - moments.freedom[-1])
        # No component becomes 0, because an equation would then weigh without end.
        least = guesses * 1e-3
        components = guesses
        for _ in range(_MOST_ROUNDS):
            precision = _precision_of_squares(moments, components)
            prior_precision = np.sqrt(prior_freedom / 2) / np.maximum(components, least)
            system = np.vstack([precision[:, None] * moments.expected, np.diag(prior_precision)])
            target = np.concatenate([precision * squares, prior_precision * guesses])
            solution = _nonnegative_solution(system, target)
            # Half steps, because weights depend on components and full steps can oscillate.
            before = components
            components = np.maximum((components + solution) / 2, least)
            if np.all(np.abs(components - before) <= self._settled * components):
                break
        covariance = np.linalg.inv(system.T @ system)
        return components, covariance

    def _mean_estimate(
        self,
        mean: float,
        scale: _Scale,
        *,
        components: np.ndarray,
        covariance: np.ndarray,
        coefficients: np.ndarray,
    ) -> MeanEstimate:
        """The estimate for one claim from variance components (f,), their covariance (f, f), and
        how much they count in the variance of the mean (f,)."""
        variance = float(coefficients @ components)
        variance_of_variance = float(coefficients @ covariance @ coefficients)
        freedom = 2 * variance**2 / variance_of_variance if variance_of_variance > 0 else 0.0
        parts = {}
        for factor, part in zip(self._factors, coefficients * components, strict=True):
            parts[factor.name] = float(part)
        return MeanEstimate(mean, parts, freedom, scale.centre)

    @cached_property
    def _wider_coefficients(self) -> np.ndarray:
        """How much each component counts in the variance of the mean (f,), where all factors vary:
        the sum of u^2, for a mean with the weights u over the factor's levels."""
        return np.array([float(np.square(u).sum()) for u in self._level_weights])

    @cached_property
    def _vocabulary_coefficients(self) -> np.ndarray:
        """How much each component counts in the variance of the mean (f,) about this vocabulary.

        A mean with weights u over some of N levels, as an estimate of c/N times the sum of all N
        effects (c: the sum of u), errs with variance (sum of u^2 - c^2/N) times that of an effect.
        """
        coefficients = []
        for factor, u, all_vary in zip(
            self._factors, self._level_weights, self._wider_coefficients, strict=True
        ):
            kind = np.broadcast_to(factor.kind, u.shape)
            population = np.broadcast_to(factor.population, u.shape)
            coefficient = float(all_vary)
            for code in np.unique(kind):
                of_kind = kind == code
                sum_of_kind = float(u[of_kind].sum())
                coefficient -= sum_of_kind**2 / population[of_kind][0]
            coefficients.append(max(0.0, coefficient))
        return np.array(coefficients)


def satterthwaite(parts: np.ndarray, freedom: np.ndarray) -> float:
    """Degrees of freedom of a sum of independent variances (Satterthwaite 1946).

    Args:
        parts: (k,) the variances.
        freedom: (k,) the degrees of freedom of each.

    Returns:
        The degrees of freedom of their sum; 0 if all variances are 0.

    Example:
        >>> satterthwaite(np.array([1.0, 1.0]), np.array([4.0, 4.0]))
        8.0
    """
    used = parts != 0
    if not used.any():
        return 0.0
    by_part = parts[used] ** 2 / freedom[used]
    return float(parts.sum() ** 2 / by_part.sum())


def variance_of_difference(first: float, second: float) -> float:
    """The `variance` of `CrossedMeans.estimate` for the difference of two shares whose effects are
    independent.

    Squared effects of one logit add (p (1 - p))^2 for each share, and outcomes vary by
    p (1 - p) for each; the result is their ratio.

    Args:
        first: a share in 0..1, exclusive.
        second: the other.

    Returns:
        A variance in 0..1/4.

    Example:
        >>> round(variance_of_difference(0.5, 0.5), 12)
        0.25
    """
    one, other = first * (1 - first), second * (1 - second)
    return (one**2 + other**2) / (one + other)


def _flattening() -> float:
    """How much smaller squared effects are on a mean share than on the share of one scene, for
    effects of the prior sizes."""
    of_scene = sum(spread**2 for spread in OF_SHARES.spreads.values())
    of_scene += OF_SHARES.spreads[NAMES] ** 2  # once for values, once for objects
    return 1 / (1 + _SHRINK * of_scene)


def _rows_times(
    matrix: sparse.csr_array | np.ndarray, weights: np.ndarray
) -> sparse.csr_array | np.ndarray:
    """A matrix (n, k) with its rows multiplied by weights (n,)."""
    if isinstance(matrix, np.ndarray):
        return weights[:, None] * matrix
    return matrix.multiply(weights[:, None]).tocsr()


def _as_dense(matrix: sparse.csr_array | np.ndarray) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _covariance_of_totals(
    shared: sparse.csr_array | np.ndarray, of_nuisance: np.ndarray, removed: np.ndarray
) -> np.ndarray:
    """C_j = A_j A_j' of `_moments`, multiplied out so that A_j itself is never made dense.

    Args:
        shared: (levels, levels of j) D'W D_j.
        of_nuisance: (levels of j, p) the transpose of N'W D_j.
        removed: (levels, p) R.
    """
    cross = shared @ (of_nuisance @ removed.T)
    fitted = removed @ (of_nuisance.T @ of_nuisance) @ removed.T
    return np.asarray(_as_dense(shared @ shared.T) - cross - cross.T + fitted)


def _trace_of_totals(
    shared: sparse.csr_array | np.ndarray, of_nuisance: np.ndarray, removed: np.ndarray
) -> float:
    """The trace of `_covariance_of_totals`, without the matrix itself."""
    cross = np.sum(removed * (shared @ of_nuisance))
    fitted = np.sum((removed.T @ removed) * (of_nuisance.T @ of_nuisance))
    return float(_sum_of_squares(shared) - 2 * cross + fitted)


def _sum_of_squares(matrix: sparse.csr_array | np.ndarray) -> float:
    """The sum of the squared entries of a matrix."""
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.tocsr().data
    return float(np.square(entries).sum())


def _precision_of_squares(moments: _Moments, components: np.ndarray) -> np.ndarray:
    """One over the standard deviation of each sum of squares (f,), with variances `components`;
    0 for a sum without degrees of freedom."""
    precision = np.zeros(len(components))
    for i, products in enumerate(moments.products):
        if products is not None:
            deviation = np.sqrt(max(0.0, 2 * components @ products @ components))
            precision[i] = 1 / deviation if deviation > 0 else 0.0
        elif moments.freedom[i]:
            expected = moments.expected[i] @ components
            precision[i] = np.sqrt(moments.freedom[i] / 2) / expected
    return precision


def _nonnegative_solution(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Least squares with components >= 0. Columns are scaled, because components differ by orders
    of magnitude."""
    # scipy.optimize takes long to import, and commands that estimate nothing need not wait for it.
    from scipy.optimize import nnls

    size = np.linalg.norm(system, axis=0)
    solution, _ = nnls(system / size, target)
    return np.asarray(solution / size)


def _factors(clusters: Clusters, first: np.ndarray, finite_bindings: bool) -> list[_Factor]:
    """The factors of the cells whose first items are `first`, noise last. Factors that nothing
    distinguishes are left out."""
    weight_rows = clusters.weight_rows[first]
    values, objects = (effects[weight_rows] for effects in clusters.main_effects())
    names = np.column_stack([values, objects])
    has_names = names.shape[1] > 0
    bindings = clusters.weights[weight_rows]
    bindings = bindings[:, bindings.any(axis=0)]
    trainings = clusters.trainings[first]
    scene_count = len(np.unique(clusters.scenes[first]))
    cluster_count = len(np.unique(clusters.codes[first]))

    constant = np.ones((len(first), 1))
    # Names are removed from the other factors' sums of squares, so that these do not take in what
    # the few values and objects add.
    nuisance = np.column_stack([constant, names]) if has_names else constant

    factors = []
    if np.ptp(names, axis=0).any():
        n_values, n_objects = values.shape[1], objects.shape[1]
        kind = np.repeat([0, 1], [n_values, n_objects])
        population = np.array(clusters.vocabulary, dtype=float)[kind]
        factors.append(_Factor(NAMES, sparse.csr_array(names), constant, population, kind))
    if np.ptp(bindings, axis=0).any():
        size = float(np.prod(clusters.vocabulary)) if finite_bindings and has_names else np.inf
        factors.append(_Factor(BINDINGS, sparse.csr_array(bindings), nuisance, size))
    if 1 < cluster_count < len(first):
        factors.append(_Factor(CLUSTERS, _indicators(clusters.codes[first]), nuisance))
    if len(np.unique(trainings)) > 1:
        factors.append(_Factor(TRAININGS, _indicators(trainings), nuisance))
        within = _bindings_within(bindings, trainings)
        # If every binding is in one training, its effect and that within the training are the same.
        if within.shape[1] > bindings.shape[1]:
            factors.append(_Factor(TRAINED_BINDINGS, within, nuisance))
        if 1 < scene_count < len(first):
            factors.append(_Factor(SCENES, _indicators(clusters.scenes[first]), nuisance))
    each_cell = sparse.csr_array(sparse.eye_array(len(first)))
    factors.append(_Factor(NOISE, each_cell, nuisance))
    return factors


def _bindings_within(bindings: np.ndarray, trainings: np.ndarray) -> sparse.csr_array:
    """How much each binding of each training counts (cells, pairs that occur)."""
    of_trainings = []
    for training in np.unique(trainings):
        of_trainings.append(sparse.csr_array(bindings * (trainings == training)[:, None]))
    within = sparse.hstack(of_trainings).tocsr()
    return within[:, np.flatnonzero(abs(within).sum(axis=0))]


def _indicators(codes: np.ndarray) -> sparse.csr_array:
    """Indicator matrix (n, distinct codes)."""
    _, columns = np.unique(codes, return_inverse=True)
    columns = columns.reshape(-1)
    rows = np.arange(len(columns))
    return sparse.csr_array((np.ones(len(columns)), (rows, columns)))
