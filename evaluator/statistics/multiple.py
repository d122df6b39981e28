"""p-values of many tests at once, corrected for their number."""

from collections.abc import Sequence

import numpy as np


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """p-values after Benjamini and Hochberg (1995): those that are at most q have a false discovery rate of at most q.

    >>> [round(q, 6) for q in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    if not p_values:
        return []
    from statsmodels.stats.multitest import fdrcorrection

    return [float(q) for q in fdrcorrection(p_values)[1]]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values after Holm (1979): the chance that any true null hypothesis has one of at most α is at most α.

    This holds however the tests depend on one another.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)  # not statsmodels' multipletests, which collects garbage in each call: 0.15 s
    rising = np.maximum.accumulate(np.arange(len(order), 0, -1) * np.take(p_values, order))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(rising, 1)
    return [float(p) for p in corrected]
