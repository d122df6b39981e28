"""How often `score compare` errs: a simulation of two models with effects of their own
(docs/statistics.md).

Scenes of a block of values × objects form a cluster for each two values and two objects. Each model
has effects in logits of bindings, clusters and trainings, and of bindings within each training;
both models share further effects of bindings. Every draw has new effects, so a test about bindings
in general must find equal models different in 5% of draws.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations, product
from multiprocessing import get_context

import numpy as np
from scipy import stats
from scipy.special import expit

from bench.figures import Figure
from evaluator.statistics.difference import Difference, detectable, model_difference
from generator.base.clusters import Clusters

DRAWS = 400
"""Draws of each study."""
BASE = 0.5
"""The constant of both models in logits, where they are equally good."""
SHARED = 0.5
"""The standard deviation of the effects of bindings that both models share, in logits."""
# Gauss-Hermite quadrature of a standard normal distribution.
_POINTS, _MASS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True)
class Study:
    """Two models on the unseen scenes of blocks. Sizes of effects are standard deviations of a
    model's own effects in logits."""

    values: int
    """Values of a block."""
    objects: int
    """Objects of a block."""
    items: int
    """Items of each pairing of two values with two objects."""
    runs: int = 1
    """Trainings of each model on each block."""
    blocks: int = 1
    """The number of blocks."""
    of_bindings: float = 0.5
    """The effect of a binding."""
    of_clusters: float = 0.3
    """The effect of a cluster."""
    of_trainings: float = 0.0
    """The effect of a training, and of a binding within it; 0 with one run."""
    of_values: float = 0.0
    """The effect of a value, and of an object."""
    lead: float = 0.0
    """How far the first model is ahead, in logits."""

    @property
    def spread(self) -> float:
        """The standard deviation of a scene's logit over all effects."""
        # Of the training itself, and of its two bindings.
        trainings = 3 * self.of_trainings**2 if self.runs > 1 else 0
        bindings = 2 * (SHARED**2 + self.of_bindings**2 + 2 * self.of_values**2)
        return float(np.sqrt(bindings + self.of_clusters**2 + trainings))

    @property
    def difference(self) -> float:
        """The true difference of the two models (0..1) over new effects."""
        first = _mean_share(np.array([BASE + self.lead / 2]), self.spread)
        second = _mean_share(np.array([BASE - self.lead / 2]), self.spread)
        return float(first[0] - second[0])


_BLOCKS = ((3, 3, 22), (4, 4, 6), (4, 7, 3))
"""Values, objects, and items of each pairing."""
_BLOCKS_WITH_VALUES = ((3, 3, 22, 1), (4, 4, 6, 1), (7, 7, 2, 1), (3, 3, 22, 3))
"""The same, and the number of blocks."""


def _hard_studies() -> list[Study]:
    """Studies with few clusters: without effects of values and objects, then with them."""
    studies = []
    for (values, objects, items), runs, effect in product(_BLOCKS, (1, 3), (0.3, 1.0)):
        study = Study(values, objects, items, runs, of_bindings=effect, of_trainings=0.3)
        studies.append(study)
    for (values, objects, items, blocks), runs in product(_BLOCKS_WITH_VALUES, (1, 3)):
        study = Study(values, objects, items, runs, blocks, of_trainings=0.3, of_values=0.5)
        studies.append(study)
    return studies


HARD = _hard_studies()


def figures() -> list[Figure]:
    """How often an interval misses the true difference, and how often a difference is found where
    80% is printed; over all hard studies (median and range), in percent."""
    seeds = range(len(HARD))
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        missed = list(pool.map(misses, HARD, seeds))
        ahead = list(pool.map(shown_at_detectable, HARD, seeds))
    rows = []
    for name, runs in (("one training", 1), ("three trainings", 3)):
        chosen = [i for i, study in enumerate(HARD) if study.runs == runs]
        for what, values in (
            ("95% intervals that miss the true difference", [missed[i][0] for i in chosen]),
            ("99% intervals that miss it", [missed[i][1] for i in chosen]),
            ("a difference found where 80% is printed", [ahead[i] for i in chosen]),
        ):
            rows.append(Figure(f"{what}, {name}", "%", tuple(values)))
    return rows


def misses(study: Study, seed: int, draws: int = DRAWS) -> tuple[float, float]:
    """Measure how often intervals miss the true difference of two models with equal means.

    Args:
        study: what is simulated.
        seed: of the random numbers.
        draws: how often.

    Returns:
        Percent of 95% intervals, and of 99% intervals. The true difference includes the effects of
        the values and objects.
    """
    t = []
    freedom = []
    for difference, true in simulate(study, seed, draws):
        t.append(abs(difference.value - true) / np.sqrt(difference.variance))
        freedom.append(difference.freedom)
    p = 2 * stats.t.sf(t, freedom)
    return 100 * float((p < 0.05).mean()), 100 * float((p < 0.01).mean())


def shown_at_detectable(study: Study, seed: int, draws: int = DRAWS) -> float:
    """Measure how often a model is found ahead when its true lead is the median detectable
    difference of equal models.

    Args:
        study: what is simulated; without effects of values and objects.
        seed: of the random numbers.
        draws: how often.

    Returns:
        Percent of draws.
    """
    study = replace(study, of_values=0.0)

    # The detectable difference as a share; 1 where none is detectable.
    detectable_shares = []
    for difference, _ in simulate(study, seed + 1000, 100):
        least = detectable(difference)
        detectable_shares.append(1.0 if least is None else least)
    lead_in_shares = float(np.median(detectable_shares))

    # The lead in logits that makes this difference.
    # The difference grows with the lead, so a table of it can be read backwards.
    leads = np.linspace(0, 6, 601)
    differences = [replace(study, lead=lead).difference for lead in leads]
    lead = float(np.interp(lead_in_shares, differences, leads))

    is_ahead = []
    for difference, _ in simulate(replace(study, lead=lead), seed + 2000, draws):
        is_ahead.append(difference.p < 0.05 and difference.value > 0)
    return 100 * float(np.mean(is_ahead))


def simulate(study: Study, seed: int, draws: int) -> list[tuple[Difference, float]]:
    """Draw two models again and again, and compare them.

    Args:
        study: what is simulated.
        seed: of the random numbers.
        draws: how often.

    Returns:
        For each draw, what is found about the models, and their true difference.
    """
    rng = np.random.default_rng(seed)
    items, clusters = items_of(study)
    results = []
    for _ in range(draws):
        blocks = [draw_outcomes(study, items, rng) for _ in range(study.blocks)]
        true = float(np.mean([true_of_block for _, _, true_of_block in blocks]))
        sides = [(first, second) for first, second, _ in blocks]
        results.append((model_difference(sides, clusters), true))
    return results


def items_of(study: Study) -> tuple[np.ndarray, Clusters]:
    """Cluster and two bindings (n, 3) of each item of a block, as numbers, and what the items of
    all blocks share."""
    pairings = []
    groups = product(combinations(range(study.values), 2), combinations(range(study.objects), 2))
    for cluster, ((one_value, other_value), objects) in enumerate(groups):
        for one_object, other_object in (objects, objects[::-1]):
            one = one_value * study.objects + one_object
            other = other_value * study.objects + other_object
            pairings.append((cluster, one, other))
    items = np.repeat(np.array(pairings), study.items, axis=0)

    # Every block has values and objects of its own.
    cluster_names = []
    binding_names = []
    for block in range(study.blocks):
        for cluster, *bindings in items.tolist():
            cluster_names.append(f"{block} {cluster}")
            codes = [divmod(binding, study.objects) for binding in bindings]
            names = [f"{block} {value}:{block} {object_}" for value, object_ in codes]
            binding_names.append(";".join(names))
    return items, Clusters.from_names(cluster_names, binding_names)


def draw_outcomes(
    study: Study, items: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw the outcomes of two models in a block with new effects.

    Args:
        study: what is simulated.
        items: (n, 3) cluster and two bindings of each item.
        rng: the random numbers.

    Returns:
        The outcomes (runs, n) of each model, and their true difference. It includes the effects of
        the block's values and objects: the claim is about this vocabulary.
    """
    cluster_of_item, bindings_of_item = items[:, 0], items[:, 1:]
    n_clusters = cluster_of_item.max() + 1
    n_bindings = study.values * study.objects
    of_shared_bindings = rng.normal(0, SHARED, n_bindings)
    # With one run nothing tells effects of trainings from those of bindings.
    of_trainings = study.of_trainings if study.runs > 1 else 0.0
    spread_of_rest = float(np.sqrt(study.spread**2 - 4 * study.of_values**2))
    outcomes = []
    true_means = []
    for constant in (BASE + study.lead / 2, BASE - study.lead / 2):
        of_cluster = rng.normal(0, study.of_clusters, n_clusters)
        of_value = rng.normal(0, study.of_values, study.values)
        of_object = rng.normal(0, study.of_values, study.objects)
        of_names = np.add.outer(of_value, of_object).ravel()
        of_bindings = of_shared_bindings + rng.normal(0, study.of_bindings, n_bindings) + of_names

        # The answers of each training.
        runs = []
        for _ in range(study.runs):
            in_training = of_bindings + rng.normal(0, of_trainings, n_bindings)
            logits = constant + rng.normal(0, of_trainings)
            logits = logits + in_training[bindings_of_item].sum(axis=1)
            logits = logits + of_cluster[cluster_of_item]
            runs.append(rng.random(len(items)) < expit(logits))
        outcomes.append(np.array(runs, dtype=float))

        # The mean over new effects of all but the names. Many items have the same names, and that
        # mean takes time, so it is computed once for each sum of their effects.
        logits_by_names = constant + of_names[bindings_of_item].sum(axis=1)
        distinct, times = np.unique(logits_by_names, return_counts=True)
        true_means.append(float(times @ _mean_share(distinct, spread_of_rest) / times.sum()))
    return outcomes[0], outcomes[1], true_means[0] - true_means[1]


def _mean_share(logits: np.ndarray, spread: float) -> np.ndarray:
    """The mean share (n,) over normal effects of a spread, around logits (n,)."""
    return np.asarray(expit(logits[:, None] + spread * _POINTS) @ _MASS / _MASS.sum())
