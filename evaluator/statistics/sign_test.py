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
        >>> independent_groups(Clusters.from_names(["c", "d"], ["red:cube", "red:cube"]))
        1
    """
    # A scene is a cluster and the set of bindings that it shows, a row of `shows`.
    scenes = np.unique(np.stack([clusters.codes, clusters.weight_rows]), axis=1).T
    shows = clusters.weights > 0

    # A scene with rare bindings excludes few others, so it goes first.
    frequency = shows[scenes[:, 1]].sum(axis=0)
    commonness = []
    for _, row in scenes:
        commonness.append(int(frequency[shows[row]].sum()))
    rarest_first = scenes[np.argsort(commonness, kind="stable")]

    used_clusters: set[int] = set()
    used_bindings = np.zeros(shows.shape[1], dtype=bool)
    for cluster, row in rarest_first.tolist():
        shares_binding = (used_bindings & shows[row]).any()
        if cluster in used_clusters or shares_binding:
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
        >>> sharp = sharpen(wide, Clusters.from_names(list("abcdefgh")), 0.95)
        >>> round(sharp.low, 3), sharp.high, sharp.p
        (0.261, 1.0, 0.0078125)
    """
    if abs(estimate.value) < 1:
        return estimate
    groups = independent_groups(clusters)
    probability = ((1 - level) / 2) ** (1 / groups)
    nearest = 2 * probability - 1
    sign_test_p = max(SMALLEST_P, 2.0 ** (1 - groups))

    # The sharper of both; fmin and fmax ignore nan, where the linear model has no interval or p.
    p = float(np.fmin(sign_test_p, estimate.p))
    if estimate.value > 0:
        low = float(np.fmax(estimate.low, nearest))
        return replace(estimate, low=low, high=1.0, p=p)
    high = float(np.fmin(estimate.high, -nearest))
    return replace(estimate, low=-1.0, high=high, p=p)
