"""Tests whether two forms of a world are equivalent: two one-sided tests (TOST) of the difference
of means.

Method (Schuirmann 1987): the hypothesis that the means differ by a margin or more is rejected at
the level α if a t test rejects both "difference ≤ −margin" and "difference ≥ margin". That is so
if the interval of level 1 − 2α lies within the margin. Variances may differ (Welch 1947). The
margin is a number of standard deviations, so that it means the same for each factor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.stats import t as student_t

ALPHA = 0.05
"""Level of each one-sided test."""
MARGIN = 0.2
"""Default margin, standard deviations: a small effect by the usual rule (Cohen 1988)."""


@dataclass(frozen=True)
class Equivalence:
    """The comparison of a factor between two forms."""

    first: float
    """Mean of the first form."""
    second: float
    """Mean of the second form."""
    difference: float
    """Second mean less the first, in standard deviations."""
    low: float
    """Lower end of the 90% interval of the difference, standard deviations."""
    high: float
    """Upper end of the 90% interval."""
    margin: float
    """The margin, standard deviations."""
    p: float
    """The larger p of the two one-sided tests; 0 if no value varies."""

    @property
    def verdict(self) -> str:
        """`equivalent`; `different` if the interval lies beyond the margin; else `not shown`."""
        if self.p < ALPHA:
            return "equivalent"
        is_beyond = self.low > self.margin or self.high < -self.margin
        return "different" if is_beyond else "not shown"


def compare_means(first: np.ndarray, second: np.ndarray, margin: float = MARGIN) -> Equivalence:
    """Test whether two samples have equivalent means.

    Args:
        first: (n,) values of independent units, at least two.
        second: (m,) values of other units, at least two.
        margin: Standard deviations within which means count as equivalent; the standard deviation
            is that of both samples, pooled.

    Returns:
        The comparison.

    Example:
        >>> compare_means(np.array([1.0, 2.0] * 500), np.array([2.0, 1.0] * 500)).verdict
        'equivalent'
    """
    means = float(first.mean()), float(second.mean())
    n, m = len(first), len(second)
    first_variance = float(first.var(ddof=1))
    second_variance = float(second.var(ddof=1))
    sum_of_squares = (n - 1) * first_variance + (m - 1) * second_variance
    pooled_variance = sum_of_squares / (n + m - 2)
    # The margin is in units of this deviation.
    deviation = sqrt(pooled_variance)
    if deviation == 0:
        # Nothing varies, so there is nothing to test: the means are the same or not.
        is_same = means[0] == means[1]
        difference = 0.0 if is_same else float(np.copysign(np.inf, means[1] - means[0]))
        return Equivalence(
            *means, difference, difference, difference, margin, 0.0 if is_same else 1.0
        )

    # Welch's standard error and degrees of freedom.
    first_part, second_part = first_variance / n, second_variance / m
    error = sqrt(first_part + second_part)
    by_sample = first_part**2 / (n - 1) + second_part**2 / (m - 1)
    freedom = (first_part + second_part) ** 2 / by_sample

    difference = means[1] - means[0]
    reach = float(student_t.ppf(1 - ALPHA, freedom)) * error
    p_low = student_t.sf((difference + margin * deviation) / error, freedom)
    p_high = student_t.cdf((difference - margin * deviation) / error, freedom)
    return Equivalence(
        *means,
        difference / deviation,
        (difference - reach) / deviation,
        (difference + reach) / deviation,
        margin,
        float(max(p_low, p_high)),
    )


def compare_factors(
    first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], margin: float = MARGIN
) -> dict[str, Equivalence]:
    """Compare all factors of two forms.

    Args:
        first: Values by factor (`factors.scene_factors`).
        second: Values of the other form.
        margin: As of `compare_means`.

    Returns:
        The comparison of each factor.
    """
    return {name: compare_means(values, second[name], margin) for name, values in first.items()}
