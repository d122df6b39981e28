"""Rank-biserial correlation: how far two groups of numbers are apart."""

import numpy as np


def rank_biserial(true: np.ndarray, false: np.ndarray) -> float:
    """r = 1 − 2U/(n₁n₂), U = #(true > false) + ½ ties over all n₁·n₂ pairs; −1..1, above 0 where the true are lower.

    COMPASS, appendix B.3. nan where a group is empty.

    >>> rank_biserial(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.75
    """
    if not (len(true) and len(false)):
        return float("nan")
    ordered = np.sort(false)
    below = np.searchsorted(ordered, true, "left") + np.searchsorted(ordered, true, "right")
    return float(1 - below.sum() / (len(true) * len(false)))


def size_of(r: float) -> str:
    """COMPASS' name for the size of an effect: |r| below .1 is negligible, below .3 small, else medium or large.

    >>> size_of(-0.05), size_of(0.1), size_of(-0.3)
    ('negligible', 'small', 'medium or large')
    """
    return "negligible" if abs(r) < 0.1 else "small" if abs(r) < 0.3 else "medium or large"


def share_lower(true: np.ndarray, false: np.ndarray) -> float:
    """Share of pairs (true[i], false[i]) in which the true number is lower; ties count half. nan without pairs."""
    return float(np.mean((true < false) + 0.5 * (true == false))) if len(true) else float("nan")
