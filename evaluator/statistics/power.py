"""Power of a paired comparison: the smallest difference that a benchmark can tell, and what a wanted difference needs.

The sample size is that of McNemar's test (Connor 1987; Lachin 1992), with Student's t over clusters for the normal
quantiles and the number of items divided by the design effect.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

LEVEL, POWER = 0.05, 0.8
FEWEST_CLUSTERS = 5
"""With fewer the test by cluster cannot reach the level: n clusters that all agree have p = 2⁻ⁿ."""


@dataclass(frozen=True)
class PairedDesign:
    """What decides how small a difference between two models can be told.

    discordance: mean square of the differences between items, which for right and wrong is the share of items that only one
    model has right. cluster_size: mean number of items of the cluster that an item is in. correlation: of the differences
    within a cluster, 0..1.
    """

    items: int
    clusters: int
    cluster_size: float
    correlation: float
    discordance: float

    @property
    def design_effect(self) -> float:
        """How many items of these clusters are worth one independent item (Kish 1965), at least 1."""
        return 1 + (self.cluster_size - 1) * self.correlation

    @property
    def effective_items(self) -> float:
        """How many independent items the items are worth."""
        return self.items / self.design_effect


def paired_design(first: np.ndarray, second: np.ndarray, clusters: np.ndarray) -> PairedDesign:
    """The design of two outcomes (n,) in 0..1 of the same items in clusters (n,), n > 0.

    The correlation is the ANOVA estimate. Where all differences are equal nothing can be estimated, and each cluster counts
    once.
    """
    difference = first.astype(float) - second
    _, code, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    return PairedDesign(
        len(difference), len(sizes), float(np.square(sizes).sum() / len(difference)),
        _correlation(difference, code, sizes), float(np.square(difference).mean()),
    )  # fmt: skip


def _correlation(values: np.ndarray, code: np.ndarray, sizes: np.ndarray) -> float:
    """The intraclass correlation of values (n,) in the clusters of a code (n,), of sizes (g,); within 0..1."""
    n, g = len(values), len(sizes)
    if g == n:
        return 0.0
    means = np.bincount(code, weights=values) / sizes
    between = float((sizes * np.square(means - values.mean())).sum())
    within = float(np.square(values - means[code]).sum()) / (n - g)
    if g == 1 or between + within < 1e-12:
        return 1.0
    between /= g - 1
    size = (n - np.square(sizes).sum() / n) / (g - 1)
    return float(np.clip((between - within) / (between + (size - 1) * within), 0, 1))


def items_for(difference: float, discordance: float, clusters: int) -> float:
    """How many independent items show a difference (0..1) at the level .05, two-sided, in 80% of cases.

    No difference is possible with less discordance, so the discordance is at least the difference. Infinite with fewer than
    five clusters.
    """
    if clusters < FEWEST_CLUSTERS:
        return np.inf
    from scipy.stats import t

    at_level, at_power = t.ppf([1 - LEVEL / 2, POWER], clusters - 1)
    discordance = max(discordance, difference)
    return float((at_level * sqrt(discordance) + at_power * sqrt(discordance - difference**2)) ** 2 / difference**2)


def smallest_difference(design: PairedDesign) -> float | None:
    """The smallest difference (0..1) that a design shows in 80% of cases; None where it shows none.

    A difference of 1 is always shown with five clusters or more.
    """
    from scipy.optimize import brentq

    if design.clusters < FEWEST_CLUSTERS:
        return None

    def lacking(difference: float) -> float:
        return items_for(difference, design.discordance, design.clusters) - design.effective_items

    return float(brentq(lacking, 1e-9, 1)) if lacking(1) <= 0 else 1.0


def block_seeds_for(difference: float, design: PairedDesign) -> int:
    """How many times as many clusters like those of a design show a difference (0..1): block seeds, for a held-out block."""
    # the quantiles of t are above those of the normal distribution, so this many are needed in any case
    seeds = max(1, ceil(items_for(difference, design.discordance, 1_000_000) / design.effective_items))
    while items_for(difference, design.discordance, seeds * design.clusters) > seeds * design.effective_items:
        seeds += 1
    return seeds


def renders_for(difference: float, design: PairedDesign) -> int | None:
    """How many items in the same clusters show a difference (0..1); None where no number of them does."""
    needed = items_for(difference, design.discordance, design.clusters)
    shared = needed * design.cluster_size * design.correlation / design.items
    if np.isinf(needed) or shared >= 1:
        return None
    return max(design.clusters, ceil(needed * (1 - design.correlation) / (1 - shared)))
