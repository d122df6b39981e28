"""What can be said where one of two sides is right everywhere and the other nowhere: the exact sign
test over groups of items that share nothing.

No variance can be estimated from such outcomes, so intervals of the linear model rest on its prior
guesses. The sign test needs none. Under the null hypothesis the effects of a group favour either
side with probability 1/2, and groups that share no cluster and no binding have independent effects;
so G groups all favour one side with probability 2 / 2^G.
"""

from dataclasses import replace

import numpy as np

from evaluator.statistics.intervals import SMALLEST_P, Estimate
from generator.base.clusters import Clusters


def independent_groups(clusters: Clusters) -> int:
    """The number of groups of items of which no two share a cluster or a binding.

    Scenes are taken one after the other, those with rare bindings first, if nothing that they show
    is taken. This does not always give the largest number, but it does not depend on outcomes, and
    any number of independent groups makes a valid test.

    Args:
        clusters: what the items share.

    Returns:
        The number of groups; that of clusters if no bindings are known.

    Example:
        >>> independent_groups(Clusters.of(["c", "d"], ["red:cube", "red:cube"]))
        1
    """
    combinations = np.unique(np.stack([clusters.codes, clusters.weight_rows]), axis=1).T
    shows = clusters.weights > 0
    frequency = shows[combinations[:, 1]].sum(axis=0)
    commonness = [int(frequency[shows[row]].sum()) for _, row in combinations]
    used_clusters: set[int] = set()
    used_bindings = np.zeros(shows.shape[1], dtype=bool)
    for cluster, row in combinations[np.argsort(commonness, kind="stable")].tolist():
        if cluster in used_clusters or (used_bindings & shows[row]).any():
            continue
        used_clusters.add(cluster)
        used_bindings |= shows[row]
    return len(used_clusters)


def sharpen(estimate: Estimate, clusters: Clusters, level: float) -> Estimate:
    """A difference of 1 or -1 with the exact interval and p, where these say more.

    If G groups all favour one side, the probability q that a group does is at least
    ((1 - level) / 2)^(1/G) (Clopper and Pearson 1934), and the difference at least 2 q - 1. This
    interval ends at 0 exactly where the sign test has p = 1 - level.

    Args:
        estimate: the difference of two means in 0..1, from the linear model.
        clusters: what its items share.
        level: of the intervals, in 0..1.

    Returns:
        The estimate, unchanged unless its value is 1 or -1. The claim about values and objects like
        these stays as it is.

    Example:
        >>> wide = Estimate(1.0, -0.1, 1.0, 8, 8, p=0.2)
        >>> sharp = sharpen(wide, Clusters.of(list("abcdefgh")), 0.95)
        >>> round(sharp.low, 3), sharp.high, sharp.p
        (0.261, 1.0, 0.0078125)
    """
    if abs(estimate.value) < 1:
        return estimate
    groups = independent_groups(clusters)
    probability = ((1 - level) / 2) ** (1 / groups)
    nearest = 2 * probability - 1
    p = max(SMALLEST_P, 2.0 ** (1 - groups))
    p = float(np.fmin(p, estimate.p))
    if estimate.value > 0:
        return replace(estimate, low=float(np.fmax(estimate.low, nearest)), high=1.0, p=p)
    return replace(estimate, low=-1.0, high=float(np.fmin(estimate.high, -nearest)), p=p)
