"""How often the intervals of shares hold: a simulation of unseen splits (docs/statistics.md).

Scenes of a block of values × objects form a cluster for each two values and two objects. Values, objects, bindings and
clusters have effects in logits, new ones in every draw. An interval must contain the mean of its population: scenes
with the values and objects of the block where these are few, otherwise with other values and objects.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from multiprocessing import get_context

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from bench.figures import Figure
from evaluator.statistics.clusters import ENOUGH, Clusters
from evaluator.statistics.intervals import LEVEL, cluster_mean
from evaluator.statistics.pooled import pool

MEANS = (0.5, 0.8, 0.95)
EACH = 11  # items of each pairing, 22 of a cluster
SAMPLES = 4000  # of effects, of which the mean of a population is computed


@dataclass(frozen=True)
class Study:
    """A block of values × objects of which some clusters are used, and the number of pooled blocks.

    of_mains, of_bindings, of_clusters: standard deviations, in logits, of the effects of a scene's values (and of its
    objects), of its bindings, and of its cluster. shape: `normal`, `tails` (Student's t with 3 degrees of freedom) or
    `failing` (a fifth of the bindings fail altogether).
    """

    name: str
    values: int
    objects: int
    clusters: int
    of_mains: float = 0.0
    of_bindings: float = 1.0
    of_clusters: float = 0.5
    shape: str = "normal"
    blocks: int = 1
    draws: int = 100

    @property
    def held(self) -> tuple[bool, bool]:
        """Whether the interval holds the values, and the objects, of the block."""
        return self.blocks == 1 and self.values < ENOUGH, self.blocks == 1 and self.objects < ENOUGH


STUDIES = (
    Study("nothing varies, 9 clusters", 3, 3, 9, 0, 0, 0),
    Study("bindings, 9 clusters", 3, 3, 9),
    Study("values and objects too, 9 clusters", 3, 3, 9, 1),
    Study("values and objects alone, 9 clusters", 3, 3, 9, 1, 0, 0),
    Study("heavy tails, 9 clusters", 3, 3, 9, 0.5, shape="tails"),
    Study("a fifth of bindings fails, 9 clusters", 3, 3, 9, 0, 0, 0.5, "failing"),
    Study("values and objects too, 36 clusters", 4, 4, 36, 1),
    Study("values and objects too, 126 clusters", 4, 7, 126, 1, draws=40),
    Study("values and objects too, 147 clusters of 7 x 7", 7, 7, 147, 1, draws=40),
    Study("values and objects too, 300 clusters of 8 x 12", 8, 12, 300, 1, draws=40),
    Study("two blocks, bindings", 3, 3, 9, blocks=2),
    Study("two blocks, values and objects too", 3, 3, 9, 0.5, blocks=2),
    Study("three blocks, bindings", 3, 3, 9, blocks=3),
    Study("three blocks, values and objects too", 3, 3, 9, 0.5, blocks=3),
    Study("five blocks, values and objects too", 3, 3, 9, 0.5, blocks=5),
)


def figures() -> list[Figure]:
    """For each study the coverage of 95% intervals, over all means (median and range), and their mean width."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as executor:
        found = list(executor.map(covered, STUDIES))
    return [
        Figure(f"{study.name}: {of} of 95% intervals", unit, numbers)
        for study, (shares, widths) in zip(STUDIES, found, strict=True)
        for of, unit, numbers in (("coverage", "%", shares), ("width", "points", widths))
    ]


def covered(study: Study) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For each mean, the percentage of intervals that contain it, and their mean width in points."""
    cells, clusters = cells_of(study)
    shares, widths = [], []
    for mean in MEANS:
        rng = np.random.default_rng(round(100 * mean))
        constant = _constant(study, mean)
        held = []
        for _ in range(study.draws):
            each, true = zip(*(drawn(study, cells, constant, rng) for _ in range(study.blocks)), strict=True)
            low, high = _interval(study, [np.ravel(np.arange(EACH) < right[:, None]) for right in each], clusters)
            held.append((low <= np.mean(true) + 1e-9 and np.mean(true) - 1e-9 <= high, high - low))
        share, width = np.mean(held, axis=0)
        shares.append(100 * float(share))
        widths.append(100 * float(width))
    return tuple(shares), tuple(widths)


def _interval(study: Study, outcomes: list[np.ndarray], clusters: Clusters) -> tuple[float, float]:
    found = [cluster_mean(each.astype(float), clusters) for each in outcomes]
    if study.blocks == 1:
        return found[0].low, found[0].high
    values, lows, highs = ([getattr(e, name) for e in found] for name in ("value", "low_drawn", "high_drawn"))
    pooled = pool(values, lows, highs, [str(i) for i in range(study.blocks)], LEVEL)
    return pooled.low, pooled.high


def cells_of(study: Study) -> tuple[np.ndarray, Clusters]:
    """Cluster, two values and two objects (cells, 5) of each pairing, and what the items share."""
    groups = [(a, b) for a in combinations(range(study.values), 2) for b in combinations(range(study.objects), 2)]
    chosen = np.sort(np.random.default_rng(0).permutation(len(groups))[: study.clusters])
    cells = np.array([(code, *groups[i][0], *pair) for code, i in enumerate(chosen) for pair in _both(groups[i][1])])
    items = np.repeat(cells, EACH, axis=0)
    return cells, Clusters.of(items[:, 0], [f"{a}:{c};{b}:{d}" for _, a, b, c, d in items])


def _both(pair: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    return pair, (pair[1], pair[0])


def drawn(study: Study, cells: np.ndarray, constant: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """The number of right items of each cell, with new effects, and the mean of the interval's population."""
    cluster, values, objects = cells[:, 0], cells[:, 1:3], cells[:, 3:5]
    of_values, of_objects = (_effects(study, study.of_mains, n, rng) for n in (study.values, study.objects))
    of_bindings = _of_bindings(study, study.values * study.objects, rng)
    shown = values * study.objects + objects
    mains = [of_values[values].sum(axis=1), of_objects[objects].sum(axis=1)]
    rest = of_bindings[shown].sum(axis=1) + rng.normal(0, study.of_clusters, cluster.max() + 1)[cluster]
    right = rng.binomial(EACH, expit(constant + sum(mains) + rest))
    known = sum(each for each, held in zip(mains, study.held, strict=True) if held) + np.zeros(len(cells))
    return right, float(expit(constant + known[:, None] + _others(study)).mean())


def _effects(study: Study, of_scene: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Effects of n values, or objects; the two of a scene have the standard deviation `of_scene` together."""
    unit = rng.standard_t(3, n) / 3**0.5 if study.shape == "tails" else rng.standard_normal(n)
    return np.asarray(unit * of_scene / 2**0.5)


def _of_bindings(study: Study, n: int, rng: np.random.Generator) -> np.ndarray:
    if study.shape == "failing":
        return np.where(rng.random(n) < 0.2, -20.0, 0.0)
    return _effects(study, study.of_bindings, n, rng)


def _others(study: Study) -> np.ndarray:
    """Sums (SAMPLES,) of the effects of a scene that the interval does not hold fixed."""
    rng = np.random.default_rng(7)
    total = rng.normal(0, study.of_clusters, SAMPLES) + _of_bindings(study, 2 * SAMPLES, rng).reshape(2, -1).sum(axis=0)
    for held in study.held:
        if not held:
            total += _effects(study, study.of_mains, 2 * SAMPLES, rng).reshape(2, -1).sum(axis=0)
    return total


def _constant(study: Study, mean: float) -> float:
    """The constant at which the mean over all effects is `mean`; if bindings fail, the mean over the other bindings."""
    rng = np.random.default_rng(8)
    others = rng.normal(0, study.of_clusters, SAMPLES)
    for of_scene in (study.of_mains, study.of_mains, 0 if study.shape == "failing" else study.of_bindings):
        others += _effects(study, of_scene, 2 * SAMPLES, rng).reshape(2, -1).sum(axis=0)
    return float(brentq(lambda constant: expit(constant + others).mean() - mean, -20, 20))
