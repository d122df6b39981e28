"""A test whether an accuracy is above chance."""

import numpy as np

LEVEL = 0.025
DRAWS = 10_000


def p_above(outcomes: np.ndarray, clusters: np.ndarray, chance: float, seed: int = 0) -> float:
    """p of a mean of outcomes (n,) above `chance`, by a sign-flip test over clusters (n,). 1 for a mean at or below
    chance.

    The sign of each cluster's excess is flipped at random in 10,000 draws; p is the share of draws with at least the
    observed total on either side, or Hoeffding's bound where that is smaller. The test is two-sided because the
    learners of a cross-validation share most of their pairs and all find the same chance imbalance: a one-sided test
    would accuse twice as many clean benchmarks as its level allows.
    """
    excess = np.bincount(np.unique(clusters, return_inverse=True)[1].reshape(-1), weights=outcomes - chance)
    total = excess.sum()
    if total <= 0:
        return 1.0
    rng = np.random.default_rng(seed)
    rows = max(1, 4_000_000 // len(excess))
    reached = 0
    for start in range(0, DRAWS, rows):
        signs = rng.integers(0, 2, (min(rows, DRAWS - start), len(excess)), dtype=np.int8) * 2 - 1
        reached += int((np.abs(signs @ excess) >= total - 1e-9).sum())
    bound = float(2 * np.exp(-(total**2) / (2 * excess @ excess)))  # below what 10,000 draws can show
    return min((reached + 1) / (DRAWS + 1), bound)


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
