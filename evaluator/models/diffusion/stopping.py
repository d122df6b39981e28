"""When a comparison of two texts is decided: a group-sequential test on paired differences of errors.

The samples of a nested order (samples.py) are a stratified sample of all that there are, so the mean difference of the
first n estimates the difference that all would give. Two things make its error small: it is small where neighbouring
noise levels give like differences, and it vanishes when n reaches the total. The variance is taken from differences of
neighbours, which sees only what varies between neighbours and never less (collapsed strata, Cochran 1977, §5A.12).
Over the looks, the statistic moves as a Brownian motion in time n/(1 − n/total); the critical value is that of Pocock
(1977) for these times: the same at each look, and passed by chance at any of them with the stated probability at most.
"""

from functools import lru_cache

import numpy as np

FIRST_LOOK = 16


def looks(total: int) -> tuple[int, ...]:
    """After how many samples it is asked whether to stop: 16, 24, 32, 48, … and the total.

    >>> looks(200)
    (16, 24, 32, 48, 64, 96, 128, 192, 200)
    """
    found = [n << k for k in range(total.bit_length()) for n in (FIRST_LOOK, FIRST_LOOK * 3 // 2) if n << k < total]
    return (*sorted(found), total)


def advantage(differences: np.ndarray, total: int) -> np.ndarray:
    """How many standard errors the mean difference is from nothing, as a standard normal deviate.

    differences: (…, n), error of the one text minus error of the other, in the order of their noise levels, of `total`
    samples that there are; n ≥ 2. Differences that are all the same decide at once.
    """
    from scipy import stats

    n = differences.shape[-1]
    mean = differences.mean(-1)
    variance = (np.diff(differences, axis=-1) ** 2).mean(-1) / 2
    error = np.sqrt(variance / n * (1 - n / total))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    degrees = 2 * (n - 1) ** 2 / (3 * n - 4)  # of freedom of the variance, when the differences are normal
    deviate: np.ndarray = np.sign(t) * stats.norm.isf(stats.t.sf(np.abs(t), degrees))
    return deviate


@lru_cache
def critical_value(error: float, total: int) -> float:
    """What `advantage` passes at any look before the last with the probability `error`, when there is no difference.

    >>> round(critical_value(0.05, 1024), 2)
    2.46
    """
    from scipy.optimize import brentq

    times = [n / (1 - n / total) for n in looks(total)[:-1]]
    return float(brentq(lambda critical: _passing(critical, times) - error, 0, 10, xtol=1e-3))


def _passing(critical: float, times: list[float], points: int = 201) -> float:
    """The probability that a Brownian motion is above critical·√time at any of the times (Armitage et al. 1969)."""
    from scipy.special import ndtr

    passed, before, held, places = 0.0, 0.0, np.ones(1), np.zeros(1)
    for time in times:
        step, bound = np.sqrt(time - before), critical * np.sqrt(time)
        passed += float(held @ ndtr((places - bound) / step))
        # what has not passed: the probability of each of equal cells, taken to be at its middle
        edges = np.linspace(-7 * np.sqrt(time), bound, points)
        held = np.diff(ndtr((edges[:, None] - places) / step), axis=0) @ held
        before, places = time, (edges[1:] + edges[:-1]) / 2
    return passed
