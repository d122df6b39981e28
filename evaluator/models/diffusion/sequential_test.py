"""When a comparison of two texts is decided: a group-sequential test on paired differences of errors.

The first n samples of a nested order (samples.py) are a stratified sample of all samples, so their mean difference
estimates the mean over all of them. Its error is small where neighbouring noise levels give similar differences, and zero
when n reaches the total. The variance is estimated from differences of neighbours, which counts only what varies between
neighbours and never underestimates that (collapsed strata; Cochran 1977, section 5A.12).

Over the looks, the statistic moves as a Brownian motion in time n/(1 − n/total). The critical value is that of Pocock
(1977) for these times: the same at each look, and exceeded by chance at any of them with the given probability at most.
"""

from functools import lru_cache

import numpy as np

FIRST_LOOK = 16


def looks(total: int) -> tuple[int, ...]:
    """The numbers of samples after which the test may stop: 16, 24, 32, 48, … and the total.

    >>> looks(200)
    (16, 24, 32, 48, 64, 96, 128, 192, 200)
    """
    found = [n << k for k in range(total.bit_length()) for n in (FIRST_LOOK, FIRST_LOOK * 3 // 2) if n << k < total]
    return (*sorted(found), total)


def z_score(differences: np.ndarray, total: int) -> np.ndarray:
    """The mean difference in standard errors, converted from Student's t to a standard normal deviate, float64 (…).

    differences: (…, n) errors of one text minus those of another, ordered by noise level, of n ≥ 2 of `total` samples.
    Where all differences are equal, the result is infinite, or 0 if they are 0.
    """
    from scipy import stats

    n = differences.shape[-1]
    mean = differences.mean(-1)
    variance = (np.diff(differences, axis=-1) ** 2).mean(-1) / 2
    error = np.sqrt(variance / n * (1 - n / total))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    freedom = 2 * (n - 1) ** 2 / (3 * n - 4)  # of this variance estimate, for normal differences
    deviate: np.ndarray = np.sign(t) * stats.norm.isf(stats.t.sf(np.abs(t), freedom))
    return deviate


@lru_cache
def critical_value(error: float, total: int) -> float:
    """The value that `z_score` exceeds at any look before the last with probability `error`, if there is no difference.

    >>> round(critical_value(0.05, 1024), 2)
    2.46
    """
    from scipy.optimize import brentq

    times = [n / (1 - n / total) for n in looks(total)[:-1]]
    return float(brentq(lambda critical: _passing(critical, times) - error, 0, 10, xtol=1e-3))


def _passing(critical: float, times: list[float], points: int = 201) -> float:
    """Probability that a Brownian motion exceeds critical·√time at any of the times (Armitage et al. 1969)."""
    from scipy.special import ndtr

    passed, before, mass, places = 0.0, 0.0, np.ones(1), np.zeros(1)
    for time in times:
        step, bound = np.sqrt(time - before), critical * np.sqrt(time)
        passed += float(mass @ ndtr((places - bound) / step))
        # the mass that has not passed, in equal cells and as if at their middles
        edges = np.linspace(-7 * np.sqrt(time), bound, points)
        mass = np.diff(ndtr((edges[:, None] - places) / step), axis=0) @ mass
        before, places = time, (edges[1:] + edges[:-1]) / 2
    return passed
