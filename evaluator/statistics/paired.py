"""Paired tests: which of two models answers the same items better, and how sure a ranking of several is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.statistics.bootstrap import bootstrap_means, cluster_totals

_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class PairedTest:
    """Two models on the same items: how many only the first has right, how many only the second, and two-sided p.

    p: McNemar's test. p_clusters: the same test with whole clusters as units.
    """

    only_first: int
    only_second: int
    p: float
    p_clusters: float

    @property
    def lead(self) -> int:
        """1 when the first model has more items right, −1 when the second has, 0 when they have equally many."""
        return int(np.sign(self.only_first - self.only_second))


def paired_test(first: np.ndarray, second: np.ndarray, clusters: np.ndarray) -> PairedTest:
    """Compare two outcomes (n,) of 0 and 1 of the same items in clusters (n,).

    p is McNemar's exact test with mid-p (Fagerland et al. 2013). It takes items as independent. p_clusters takes clusters as
    independent, whatever their items have in common: see `exchange_p`. The two are equal where each item is a cluster.
    """
    difference = first.astype(int) - second.astype(int)
    totals, _ = cluster_totals(difference, clusters)
    return PairedTest(
        int((difference > 0).sum()), int((difference < 0).sum()), exchange_p(difference), exchange_p(totals)
    )


def exchange_p(leads: np.ndarray) -> float:
    """Two-sided mid-p of the total of leads (n,), whole numbers, when each is as likely to be of either sign.

    With leads of −1, 0 and 1 this is McNemar's mid-p: 2 (P(X < m) + P(X = m) / 2), X binomial over the items that are not
    0, m the smaller of the two counts. The distribution is computed exactly, by convolution.

    >>> round(exchange_p(np.array([1, 1, 1, 1, 1, 0, -1])), 6)
    0.125
    """
    from scipy.stats import binom

    sizes, times = np.unique(np.abs(leads[leads != 0]).astype(int), return_counts=True)
    probability = np.ones(1)  # that the leads of the first model come to 0, 1, 2, …
    for size, n in zip(sizes.tolist(), times.tolist(), strict=True):
        of_size = np.zeros(size * n + 1)
        of_size[::size] = binom.pmf(np.arange(n + 1), n, 0.5)
        probability = np.convolve(probability, of_size)
    positive, negative = int(leads[leads > 0].sum()), int(-leads[leads < 0].sum())
    smaller = min(positive, negative)
    return float(min(1.0, 2 * (probability[:smaller].sum() + probability[smaller] / 2)))


def in_all(tests: Sequence[PairedTest]) -> PairedTest:
    """What holds in each of several tests of the same two models: the one with the largest p_clusters, with the largest p.

    Both p are 1 where the lead is not the same in all. The larger of several p is a valid p for "in all of them" (the
    intersection–union test, Berger 1982).
    """
    weakest = max(tests, key=lambda test: test.p_clusters)
    agree = len({test.lead for test in tests}) == 1
    p, p_clusters = (max(test.p for test in tests), weakest.p_clusters) if agree else (1.0, 1.0)
    return PairedTest(weakest.only_first, weakest.only_second, p, p_clusters)


@dataclass(frozen=True)
class Rank:
    """A place in a ranking, 1 the best, and its 95% interval. Models that are equal share the best of their places."""

    rank: int
    low: int
    high: int


def ranking(outcomes: np.ndarray, clusters: np.ndarray, seed: int = 0) -> list[Rank]:
    """The rank of each of k models by their mean outcomes (n, k) of the same items in clusters (n,).

    Intervals are percentiles over bootstrap draws of whole clusters, the same ones for all models. A model that ties with
    others in a draw takes the best of their places for the lower end and the worst for the upper end.
    """
    sums, sizes = cluster_totals(outcomes, clusters)
    best, _ = _places((sums.sum(axis=0) / sizes.sum())[None])
    first, last = _places(bootstrap_means(sums, sizes, seed))
    low = np.quantile(first, _TAILS[0], axis=0, method="lower")
    high = np.quantile(last, _TAILS[1], axis=0, method="higher")
    return [Rank(int(r), int(a), int(b)) for r, a, b in zip(best[0], low, high, strict=True)]


def _places(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best and the worst place (draws, k) of each model by its mean (draws, k); they differ where models tie."""
    apart = means[:, None, :] - means[:, :, None]  # how far each other model is ahead
    return 1 + (apart > 1e-12).sum(axis=2), (apart >= -1e-12).sum(axis=2)
