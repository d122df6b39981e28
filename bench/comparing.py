"""How often `score compare` errs: a simulation of two models with effects of their own (docs/statistics.md).

Scenes of a block of values × objects are in a cluster for each two values and two objects. A model has effects in
logits of bindings, clusters and trainings, and of bindings within each training; both share further effects of
bindings. Every draw has new effects, so a test that speaks of bindings like these must find equal models different in
5% of draws.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations, product
from multiprocessing import get_context

import numpy as np
from scipy.special import expit

from bench.figures import Figure
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.difference import Difference, detectable, model_difference

DRAWS = 400
BASE, SHARED = 0.5, 0.5
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True)
class Study:
    """A block of values × objects, items of each pairing, runs of each model, and blocks; standard deviations of a
    model's own effects in logits.

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
        """The standard deviation of a scene's logit over all that is drawn."""
        trainings = 3 * self.of_trainings**2 if self.runs > 1 else 0
        bindings = 2 * (SHARED**2 + self.of_bindings**2 + 2 * self.of_values**2)
        return float(np.sqrt(bindings + self.of_clusters**2 + trainings))

    @property
    def difference(self) -> float:
        """The true difference of the two models, 0..1, where trainings are drawn."""
        weights = _WEIGHTS / _WEIGHTS.sum()
        first, second = (
            expit(BASE + lead + self.spread * _POINTS) @ weights for lead in (self.lead / 2, -self.lead / 2)
        )
        return float(first - second)


HARD = [
    Study(values, objects, each, runs, 1, effect, 0.3, 0.3)
    for (values, objects, each), runs, effect in product(((3, 3, 22), (4, 4, 6), (4, 7, 3)), (1, 3), (0.3, 0.5, 1.0))
] + [Study(3, 3, 22, runs, blocks, 0.5, 0.3, 0.3) for blocks, runs in product((2, 3, 5), (1, 3))]


def figures() -> list[Figure]:
    """Errors of the first kind, coverage, and power where 80% is printed; over all hard cases (median and range), in
    percent."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        equal = list(pool.map(case, HARD, range(len(HARD))))
        ahead = list(pool.map(shown_at_detectable, HARD, range(len(HARD))))
    found = []
    for name, rows in (("one training", 1), ("three trainings", 3)):
        chosen = [i for i, study in enumerate(HARD) if study.runs == rows]
        found += [
            Figure(f"equal models found different at .05, {name}", "%", tuple(equal[i][0] for i in chosen)),
            Figure(f"the same at .01, {name}", "%", tuple(equal[i][1] for i in chosen)),
            Figure(f"a difference found where 80% is printed, {name}", "%", tuple(ahead[i] for i in chosen)),
        ]
    return found


def case(study: Study, seed: int, draws: int = DRAWS) -> tuple[float, float]:
    """How often two equal models are found different at .05 and at .01, in percent."""
    p = np.array([each.p for each in drawn(study, seed, draws)])
    return 100 * float((p < 0.05).mean()), 100 * float((p < 0.01).mean())


def shown_at_detectable(study: Study, seed: int, draws: int = DRAWS) -> float:
    """How often a model is found ahead that is by as much as equal models are said to detect in the median, in
    percent."""
    least = [detectable(each) for each in drawn(study, seed + 1000, 100)]
    wanted = float(np.median([1.0 if each is None else each for each in least]))
    leads = np.linspace(0, 6, 601)
    differences = [Study(**{**vars(study), "lead": lead}).difference for lead in leads]
    lead = float(np.interp(wanted, differences, leads))
    found = drawn(Study(**{**vars(study), "lead": lead}), seed + 2000, draws)
    return 100 * float(np.mean([each.p < 0.05 and each.value > 0 for each in found]))


def drawn(study: Study, seed: int, draws: int) -> list[Difference]:
    """What is found of two models in each draw."""
    rng = np.random.default_rng(seed)
    pairings, clusters = items_of(study)
    return [
        model_difference([(*outcomes(study, pairings, rng), clusters) for _ in range(study.blocks)])
        for _ in range(draws)
    ]


def items_of(study: Study) -> tuple[np.ndarray, Clusters]:
    """Cluster and two bindings (n, 3) of each item, as numbers, and what the items share."""
    groups = product(combinations(range(study.values), 2), combinations(range(study.objects), 2))
    cells = [
        (code, a[0] * study.objects + x, a[1] * study.objects + y)
        for code, (a, b) in enumerate(groups)
        for x, y in (b, b[::-1])
    ]
    items = np.repeat(np.array(cells), study.each, axis=0)
    return items, Clusters.of(items[:, 0], [f"{one};{other}" for one, other in items[:, 1:]])


def outcomes(study: Study, items: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The outcomes (runs, n) of two models in a block, with new effects."""
    n_clusters, n_bindings = items[:, 0].max() + 1, study.values * study.objects
    shared = rng.normal(0, SHARED, n_bindings)
    found = []
    for lead in (BASE + study.lead / 2, BASE - study.lead / 2):
        of_cluster = rng.normal(0, study.of_clusters, n_clusters)
        of_value, of_object = (rng.normal(0, study.of_values, size) for size in (study.values, study.objects))
        own = shared + rng.normal(0, study.of_bindings, n_bindings) + np.add.outer(of_value, of_object).ravel()
        runs = []
        for _ in range(study.runs):
            spread = study.of_trainings if study.runs > 1 else 0.0
            here = own + rng.normal(0, spread, n_bindings)
            logits = lead + rng.normal(0, spread) + here[items[:, 1:]].sum(axis=1) + of_cluster[items[:, 0]]
            runs.append(rng.random(len(items)) < expit(logits))
        found.append(np.array(runs, dtype=float))
    return found[0], found[1]
