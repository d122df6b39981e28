"""Is an accuracy above chance, when several are looked at?"""

from collections.abc import Sequence

import numpy as np

from evaluator.statistics import DRAWS, cluster_totals

LEVEL = 0.025


def p_above(outcomes: np.ndarray, clusters: np.ndarray, chance: float, seed: int = 0) -> float:
    """p of a mean of outcomes above `chance`: how often as much comes out, on either side, when each cluster's excess
    changes its sign at random (10,000 draws, or Hoeffding's bound where that is less). 1 for a mean at or below chance.

    Two-sided, since learners that share most of their pairs all find whatever imbalance chance has left: a one-sided
    test of cross-validated outcomes accuses twice as many clean benchmarks as it should.
    """
    sums, sizes = cluster_totals(outcomes, clusters)
    excess = sums - chance * sizes
    total = excess.sum()
    if total <= 0:
        return 1.0
    rng = np.random.default_rng(seed)
    rows = max(1, 4_000_000 // len(excess))
    reached = 0
    for start in range(0, DRAWS, rows):
        signs = rng.integers(0, 2, (min(rows, DRAWS - start), len(excess)), dtype=np.int8) * 2 - 1
        reached += int((np.abs(signs @ excess) >= total - 1e-9).sum())
    bound = float(2 * np.exp(-(total**2) / (2 * excess @ excess)))  # tells more than draws can where p is tiny
    return min((reached + 1) / (DRAWS + 1), bound)


def holm(p: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which of several p-values are significant together (Holm 1979): the smallest against level/m, the next against
    level/(m − 1), and so on until one fails.

    >>> holm([0.02, 0.005, 0.3], 0.025)
    [False, True, False]
    """
    significant = [False] * len(p)
    for rank, i in enumerate(np.argsort(p, kind="stable").tolist()):
        if p[i] > level / (len(p) - rank):
            break
        significant[i] = True
    return significant
