"""When one score beats another: the rule that all protocols share."""

import numpy as np

TOLERANCE = 1e-5


def tied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether scores differ by no more than 1e-5 · max(1, |a|, |b|); arrays of one shape."""
    return np.abs(a - b) <= TOLERANCE * np.maximum(1, np.maximum(np.abs(a), np.abs(b)))


def beats(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether a is greater than b by more than the tolerance; a tie is never a win."""
    return (a > b) & ~tied(a, b)


def best_score(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The greatest score (n,) of each row of scores (n, m) inside a mask (n, m); nan where it is empty or holds a nan."""
    greatest = np.where(mask, scores, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(mask.any(axis=1), greatest, np.nan)


def recall_at_k(scores: np.ndarray, true: np.ndarray, false: np.ndarray, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Recall@k per row: fewer than k false texts score at or above the best true one.

    scores (n, m), masks true and false (n, m); returns two bool (n,). The second one marks rows lost only to ties. Ties
    among true texts do not matter.

    >>> recall_at_k(np.array([[0.3, 0.1, 0.3]]), np.array([[True, False, False]]), np.array([[False, True, True]]))
    (array([False]), array([ True]))
    """
    truth = best_score(scores, true)[:, None]
    with np.errstate(invalid="ignore"):
        at_or_above = (false & ~beats(truth, scores)).sum(axis=1)
        above = (false & beats(scores, truth)).sum(axis=1)
    return at_or_above < k, (at_or_above >= k) & (above < k)


def chance(n_true: np.ndarray, n_false: np.ndarray, k: int = 1) -> np.ndarray:
    """Recall@k by chance (n,): the probability that fewer than k false texts precede the first true one in a random order.

    >>> chance(np.array([1, 2]), np.array([4, 6])).round(6).tolist(), chance(np.array([1]), np.array([4]), 3).round(6).tolist()
    ([0.2, 0.25], [0.6])
    """
    before = np.ones(len(n_true))
    for i in range(k):
        before *= np.maximum(n_false - i, 0) / np.maximum(n_true + n_false - i, 1)
    return 1 - before
