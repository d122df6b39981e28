"""The half-widths that `--power` predicts against the evaluator's half-widths in simulated outcomes
(docs/statistics.md)."""

from itertools import combinations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from bench.figures import Figure
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.intervals import LEVEL, cluster_mean
from evaluator.statistics.pooled import Pooled, pool
from generator.plan.power import ACCURACIES, BINDING_EFFECT, CLUSTER_EFFECT, MAIN_EFFECT, SplitSize, half_width

BLOCKS = ((2, 3, 1), (3, 3, 1), (3, 4, 1), (4, 4, 1), (4, 6, 1), (6, 6, 1), (8, 8, 1), (3, 3, 3), (3, 3, 5), (4, 4, 3))
"""Values, objects, block seeds."""
SCENES = (100, 300, 1000)
DRAWS = 24
_LARGEST = 60_000  # scenes times bindings
_POINTS, _MASS = np.polynomial.hermite_e.hermegauss(60)


class Unseen:
    """The unseen scenes of some blocks of r values with c objects, dealt evenly to clusters and pairings."""

    def __init__(self, r: int, c: int, seeds: int = 1, scenes: int = 300):
        """scenes: those of each block. Blocks share no binding."""
        self._seeds = seeds
        pairings = [
            [
                [(f"{seed} {a} {b}", f"{seed} {a[0]}:{seed} {x}", f"{seed} {a[1]}:{seed} {y}") for x, y in (b, b[::-1])]
                for a in combinations(range(r), 2)
                for b in combinations(range(c), 2)
            ]
            for seed in range(seeds)
        ]
        dealt = []
        for block in pairings:
            mixed = [block[i] for i in np.random.default_rng(0).permutation(len(block))]
            order = [cell for cells in zip(*mixed, strict=True) for cell in cells]
            dealt += [order[i % len(order)] for i in range(scenes)]
        self.clusters = Clusters.of([cell[0] for cell in dealt], [";".join(cell[1:]) for cell in dealt])
        self._bindings = np.unique([cell[1:] for cell in dealt], return_inverse=True)[1].reshape(-1, 2)
        n_clusters, n_bindings = (int(codes.max()) + 1 for codes in (self.clusters.codes, self._bindings))
        self.block = SplitSize("unseen", scenes, n_clusters // seeds, n_bindings // seeds, 2.0, (r, c))
        self.size = self.block.times(seeds)

    def outcomes(self, accuracy: float, rng: np.random.Generator) -> np.ndarray:
        """Outcomes (scenes,) of a model with the assumed effects, drawn anew; its accuracy is the mean over such
        scenes."""
        spread = np.sqrt(2 * MAIN_EFFECT**2 + BINDING_EFFECT**2 + CLUSTER_EFFECT**2)
        constant = brentq(lambda m: float(expit(m + spread * _POINTS) @ _MASS / _MASS.sum()) - accuracy, -10, 10)
        of_binding = rng.normal(0, BINDING_EFFECT / 2**0.5, self.size.bindings)
        of_cluster = rng.normal(0, CLUSTER_EFFECT, self.size.clusters)
        of_factors = [rng.normal(0, MAIN_EFFECT / 2**0.5, codes.max() + 1)[codes] for codes in self.clusters.factors.T]
        of_binding += sum(of_factors)
        logits = constant + of_cluster[self.clusters.codes] + of_binding[self._bindings].sum(axis=1)
        return (rng.random(len(logits)) < expit(logits)).astype(float)

    def median_half_width(self, accuracy: float, draws: int, rng: np.random.Generator) -> float:
        """The median half-width of the evaluator's intervals over simulated models."""
        found = [self._pooled(self.outcomes(accuracy, rng)) for _ in range(draws)]
        return float(np.median([each.high - each.low for each in found])) / 2

    def _pooled(self, outcomes: np.ndarray) -> Pooled:
        """The evaluator's interval of the mean over blocks."""
        blocks = np.split(np.arange(len(outcomes)), self._seeds)
        each = [cluster_mean(outcomes[rows], self.clusters.take(rows)) for rows in blocks]
        names = [str(block) for block in range(self._seeds)]
        if self._seeds == 1:
            return pool([each[0].value], [each[0].low], [each[0].high], names, LEVEL)
        return pool([e.value for e in each], [e.low_drawn for e in each], [e.high_drawn for e in each], names, LEVEL)


def figures() -> list[Figure]:
    """For each accuracy, the formula's half-width in percent of the evaluator's median, over all blocks and numbers
    of scenes."""
    rng = np.random.default_rng(0)
    ratios: dict[float, list[float]] = {accuracy: [] for accuracy in ACCURACIES}
    for r, c, seeds in BLOCKS:
        for scenes in SCENES:
            unseen = Unseen(r, c, seeds, scenes)
            if unseen.size.scenes * unseen.size.bindings <= _LARGEST:
                for accuracy, found in ratios.items():
                    found.append(
                        half_width(unseen.block, accuracy, seeds) / unseen.median_half_width(accuracy, DRAWS, rng)
                    )
    return [
        Figure(
            f"width that --power expects at {accuracy:.0%}, of the evaluator's",
            "%",
            tuple(100 * ratio for ratio in found),
        )
        for accuracy, found in ratios.items()
    ]
