"""How often the intervals of shares hold: a simulation of unseen splits (docs/statistics.md).

Scenes of a block of r values and c objects are in a cluster for each two values and two objects. Clusters and bindings
have effects in logits, normal with a standard deviation of 0, 1 or 2, and so have several blocks, with .5; the mean
over the population is known. Each draw has new effects, so that an interval that speaks of bindings like these must
hold that mean.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from multiprocessing import get_context

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from bench.figures import Figure
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.intervals import LEVEL, Estimate, cluster_mean
from evaluator.statistics.pooled import pool

MEANS = (0.5, 0.8, 0.9, 0.97, 0.99)
EACH = 11  # items of each pairing, 22 of a cluster
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True)
class Study:
    """Blocks of values x objects, of each of which some clusters are used, and the number of draws for each mean and
    effect.

    pooled: how many blocks are pooled; of a draw of the most, consecutive ones make several of fewer. of_blocks: the
    standard deviation of the effects of blocks, in logits. effects: those of clusters and bindings.
    """

    values: int
    objects: int
    clusters: int
    draws: int
    pooled: tuple[int, ...] = (1,)
    of_blocks: float = 0
    effects: tuple[tuple[int, int], ...] = tuple(product((0, 1, 2), (0, 1, 2)))

    @property
    def blocks(self) -> int:
        """How many blocks a draw has."""
        return max(self.pooled)


SOME = ((0, 0), (0, 1), (1, 0), (2, 2))
STUDIES = (
    Study(3, 3, 9, 400),
    Study(3, 4, 18, 400),
    Study(4, 4, 36, 400),
    Study(4, 7, 126, 200),
    Study(6, 8, 405, 100),
    Study(3, 3, 9, 100, (2, 3, 5, 10), 0, SOME),
    Study(3, 3, 9, 100, (2, 3, 5, 10), 0.5, SOME),
)


@dataclass(frozen=True)
class Covered:
    """Of one mean, one pair of effects and one number of blocks: the share of intervals that hold the mean, and their
    mean width, of ours and of the percentile bootstrap over clusters; all in percent."""

    mean: float
    effects: tuple[int, int]
    blocks: int
    ours: float
    our_width: float
    bootstrap: float
    bootstrap_width: float


def figures() -> list[Figure]:
    """Coverage over all means and effects (median and range), and the width beside the bootstrap's."""
    found = []
    for study, blocks in ((each, blocks) for each in STUDIES for blocks in each.pooled):
        rows = [row for row in covered(study) if row.blocks == blocks]
        name = f"{blocks} x {study.clusters} clusters, {blocks * study.values * study.objects} bindings"
        name += f", blocks {study.of_blocks}" * (blocks > 1) + f", {study.draws * (study.blocks // blocks)} draws each"
        found += [
            Figure(f"coverage of 95% intervals, {name}", "%", tuple(row.ours for row in rows)),
            Figure("the same, cluster bootstrap", "%", tuple(row.bootstrap for row in rows)),
            Figure("width", "points", tuple(row.our_width for row in rows)),
            Figure("the same, cluster bootstrap", "points", tuple(row.bootstrap_width for row in rows)),
        ]
    return found


@cache
def covered(study: Study) -> list[Covered]:
    """Every mean, pair of effects and number of blocks of a study, in several processes."""
    cases = [
        (study, mean, effects, seed)
        for seed, (mean, effects) in enumerate((m, e) for m in MEANS for e in study.effects)
    ]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return [row for rows in pool.map(case, *zip(*cases, strict=True)) for row in rows]


def case(study: Study, mean: float, effects: tuple[int, int], seed: int) -> list[Covered]:
    """One mean and pair of effects, a row for each number of blocks that are pooled."""
    rng = np.random.default_rng(seed)
    cells, clusters = cells_of(study)
    parts = np.split(np.arange(len(clusters.codes)), study.blocks)
    ours: dict[int, list[tuple[float, float]]] = {blocks: [] for blocks in study.pooled}
    others: dict[int, list[tuple[float, float]]] = {blocks: [] for blocks in study.pooled}
    for _ in range(study.draws):
        right = drawn(study, cells, mean, effects, rng)
        outcomes = (np.arange(EACH) < right[:, None]).astype(float).ravel()
        each = [cluster_mean(outcomes[rows], clusters.take(rows)) for rows in parts]
        for blocks in study.pooled:
            for first in range(0, study.blocks - blocks + 1, blocks):
                ours[blocks].append(_pooled(each[first : first + blocks]))
                rows = np.concatenate(parts[first : first + blocks])
                others[blocks].append(bootstrap(outcomes[rows], clusters.codes[rows], seed))
    return [
        Covered(
            mean, effects, blocks, *_summary(np.array(ours[blocks]), mean), *_summary(np.array(others[blocks]), mean)
        )
        for blocks in study.pooled
    ]


def bootstrap(outcomes: np.ndarray, codes: np.ndarray, seed: int) -> tuple[float, float]:
    """The percentile interval over 10,000 draws of whole clusters."""
    code = np.unique(codes, return_inverse=True)[1]
    sums, sizes = np.bincount(code, weights=outcomes), np.bincount(code)
    drawn = np.random.default_rng(seed).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), 10_000)
    low, high = np.quantile((drawn @ sums) / (drawn @ sizes), [0.025, 0.975])
    return float(low), float(high)


def _pooled(each: list[Estimate]) -> tuple[float, float]:
    """The evaluator's interval of the mean over some blocks."""
    names = [str(block) for block in range(len(each))]
    found = pool([e.value for e in each], [e.low for e in each], [e.high for e in each], names, LEVEL)
    return found.low, found.high


def _summary(found: np.ndarray, mean: float) -> tuple[float, float]:
    inside = (found[:, 0] <= mean + 1e-9) & (mean - 1e-9 <= found[:, 1])
    return 100 * float(inside.mean()), 100 * float((found[:, 1] - found[:, 0]).mean())


def cells_of(study: Study) -> tuple[np.ndarray, Clusters]:
    """Cluster, two bindings and block (cells, 4) of each pairing, and the clusters of all items in the same order."""
    groups = [(a, b) for a in combinations(range(study.values), 2) for b in combinations(range(study.objects), 2)]
    chosen = np.sort(np.random.default_rng(0).permutation(len(groups))[: study.clusters])
    bindings = study.values * study.objects
    cells = []
    for block, (code, place) in product(range(study.blocks), enumerate(chosen)):
        (a, b), (c, d) = groups[place]
        for pairs in (((a, c), (b, d)), ((a, d), (b, c))):
            shown = [block * bindings + value * study.objects + thing for value, thing in pairs]
            cells.append((block * study.clusters + code, *shown, block))
    table = np.array(cells)
    items = np.repeat(table, EACH, axis=0)
    shown = [f"{one};{other}" for one, other in items[:, 1:3]]
    return table, Clusters.of(items[:, 0], shown)


def drawn(
    study: Study, cells: np.ndarray, mean: float, effects: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """How many of the items of each cell are right, for new effects of clusters, bindings and blocks."""
    of_cluster, of_binding = effects
    spread = float(np.sqrt(of_cluster**2 + 2 * of_binding**2 + study.of_blocks**2))
    weights = _WEIGHTS / _WEIGHTS.sum()
    constant = brentq(lambda m: float(expit(m + spread * _POINTS) @ weights) - mean, -10, 40)
    clusters = rng.normal(0, 1, cells[:, 0].max() + 1) * of_cluster
    bindings = rng.normal(0, 1, cells[:, 1:3].max() + 1) * of_binding
    blocks = rng.normal(0, 1, study.blocks) * study.of_blocks
    logits = constant + clusters[cells[:, 0]] + bindings[cells[:, 1:3]].sum(axis=1) + blocks[cells[:, 3]]
    return rng.binomial(EACH, expit(logits))
