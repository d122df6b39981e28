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
BASE, SHARED = 0.5, 0.5
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True)
class Study:
    """A block of values × objects, items of each pairing, runs of each model, and blocks; standard
    deviations of a model's own effects in logits.

    lead: how far the first model is ahead, in logits.
    """

    values: int
    objects: int
    each: int
    runs: int = 1
    blocks: int = 1
    of_bindings: float = 0.5
    of_clusters: float = 0.3
    of_trainings: float = 0.0
    of_values: float = 0.0
    lead: float = 0.0

    @property
    def spread(self) -> float:
        """The standard deviation of a scene's logit over all drawn effects."""
        trainings = 3 * self.of_trainings**2 if self.runs > 1 else 0
        bindings = 2 * (SHARED**2 + self.of_bindings**2 + 2 * self.of_values**2)
        return float(np.sqrt(bindings + self.of_clusters**2 + trainings))

    @property
    def difference(self) -> float:
        """The true difference of the two models, 0..1, where trainings are drawn."""
        weights = _WEIGHTS / _WEIGHTS.sum()
        first, second = (
            expit(BASE + lead + self.spread * _POINTS) @ weights
            for lead in (self.lead / 2, -self.lead / 2)
        )
        return float(first - second)


_WITH_VALUES = ((3, 3, 22, 1), (4, 4, 6, 1), (7, 7, 2, 1), (3, 3, 22, 3))
HARD = [
    Study(values, objects, each, runs, 1, effect, 0.3, 0.3)
    for (values, objects, each), runs, effect in product(
        ((3, 3, 22), (4, 4, 6), (4, 7, 3)), (1, 3), (0.3, 1.0)
    )
] + [
    Study(values, objects, each, runs, blocks, 0.5, 0.3, 0.3, of_values=0.5)
    for (values, objects, each, blocks), runs in product(_WITH_VALUES, (1, 3))
]


def figures() -> list[Figure]:
    """How often an interval misses the true difference, and how often a difference is found where
    80% is printed; over all hard cases (median and range), in percent."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        missed = list(pool.map(misses, HARD, range(len(HARD))))
        ahead = list(pool.map(shown_at_detectable, HARD, range(len(HARD))))
    found = []
    for name, runs in (("one training", 1), ("three trainings", 3)):
        chosen = [i for i, study in enumerate(HARD) if study.runs == runs]
        found += [
            Figure(
                f"95% intervals that miss the true difference, {name}",
                "%",
                tuple(missed[i][0] for i in chosen),
            ),
            Figure(f"99% intervals that miss it, {name}", "%", tuple(missed[i][1] for i in chosen)),
            Figure(
                f"a difference found where 80% is printed, {name}",
                "%",
                tuple(ahead[i] for i in chosen),
            ),
        ]
    return found


def misses(study: Study, seed: int, draws: int = DRAWS) -> tuple[float, float]:
    """How often, in percent, the 95% and the 99% interval of two models with equal means miss their
    true difference. The true difference includes the effects of the values and objects."""
    found = drawn(study, seed, draws)
    t = np.array([abs(each.value - true) / np.sqrt(each.variance) for each, true in found])
    p = 2 * stats.t.sf(t, [each.freedom for each, _ in found])
    return 100 * float((p < 0.05).mean()), 100 * float((p < 0.01).mean())


def shown_at_detectable(study: Study, seed: int, draws: int = DRAWS) -> float:
    """How often, in percent, a model is found ahead when its true lead is the median detectable
    difference of equal models."""
    study = replace(study, of_values=0.0)
    least = [detectable(each) for each, _ in drawn(study, seed + 1000, 100)]
    wanted = float(np.median([1.0 if each is None else each for each in least]))
    leads = np.linspace(0, 6, 601)
    differences = [replace(study, lead=lead).difference for lead in leads]
    lead = float(np.interp(wanted, differences, leads))
    found = drawn(replace(study, lead=lead), seed + 2000, draws)
    return 100 * float(np.mean([each.p < 0.05 and each.value > 0 for each, _ in found]))


def drawn(study: Study, seed: int, draws: int) -> list[tuple[Difference, float]]:
    """The findings about two models in each draw, and their true difference."""
    rng = np.random.default_rng(seed)
    pairings, clusters = items_of(study)
    found = []
    for _ in range(draws):
        blocks = [outcomes(study, pairings, rng) for _ in range(study.blocks)]
        true = float(np.mean([each[2] for each in blocks]))
        found.append((model_difference([each[:2] for each in blocks], clusters), true))
    return found


def items_of(study: Study) -> tuple[np.ndarray, Clusters]:
    """Cluster and two bindings (n, 3) of each item of a block, as numbers, and what the items of
    all blocks share."""
    groups = product(combinations(range(study.values), 2), combinations(range(study.objects), 2))
    cells = [
        (code, a[0] * study.objects + x, a[1] * study.objects + y)
        for code, (a, b) in enumerate(groups)
        for x, y in (b, b[::-1])
    ]
    items = np.repeat(np.array(cells), study.each, axis=0)
    shown = [
        ";".join(
            f"{block} {code // study.objects}:{block} {code % study.objects}" for code in codes
        )
        for block, codes in product(range(study.blocks), items[:, 1:].tolist())
    ]
    return items, Clusters.of(
        [f"{block} {code}" for block, code in product(range(study.blocks), items[:, 0])], shown
    )


def outcomes(
    study: Study, items: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """The outcomes (runs, n) of two models in a block with new effects, and their true difference.
    It includes the effects of the block's values and objects: the claim is about this
    vocabulary."""
    n_clusters, n_bindings = items[:, 0].max() + 1, study.values * study.objects
    shared = rng.normal(0, SHARED, n_bindings)
    of_rest = np.sqrt(study.spread**2 - 4 * study.of_values**2)
    found, true = [], []
    for lead in (BASE + study.lead / 2, BASE - study.lead / 2):
        of_cluster = rng.normal(0, study.of_clusters, n_clusters)
        of_value, of_object = (
            rng.normal(0, study.of_values, size) for size in (study.values, study.objects)
        )
        mains = np.add.outer(of_value, of_object).ravel()
        own = shared + rng.normal(0, study.of_bindings, n_bindings) + mains
        runs = []
        for _ in range(study.runs):
            spread = study.of_trainings if study.runs > 1 else 0.0
            here = own + rng.normal(0, spread, n_bindings)
            logits = (
                lead
                + rng.normal(0, spread)
                + here[items[:, 1:]].sum(axis=1)
                + of_cluster[items[:, 0]]
            )
            runs.append(rng.random(len(items)) < expit(logits))
        found.append(np.array(runs, dtype=float))
        known = mains
        at, times = np.unique(lead + known[items[:, 1:]].sum(axis=1), return_counts=True)
        true.append(
            float(
                times
                @ (expit(at[:, None] + of_rest * _POINTS) @ _WEIGHTS / _WEIGHTS.sum())
                / times.sum()
            )
        )
    return found[0], found[1], true[0] - true[1]
