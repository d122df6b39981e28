"""The rule by which one score beats another, shared by all metrics, and recall@k by this rule."""

import numpy as np

TOLERANCE = 1e-5
"""Default tolerance."""


def tied(a: np.ndarray, b: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Whether scores differ by no more than tolerance · max(1, |a|, |b|); arrays of one shape.

    >>> tied(np.array([0.5, 0.5]), np.array([0.500001, 0.6])).tolist()
    [True, False]
    """
    return np.abs(a - b) <= tolerance * np.maximum(1, np.maximum(np.abs(a), np.abs(b)))


def beats(a: np.ndarray, b: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Whether a is greater than b by more than the tolerance; a tie is never a win. Arrays of one
    shape.

    >>> beats(np.array([0.6, 0.500001]), np.array([0.5, 0.5])).tolist()
    [True, False]
    """
    return (a > b) & ~tied(a, b, tolerance)


def best_score(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The greatest score (n,) of each row of scores (n, m) inside a mask (n, m); nan for an empty
    mask or a nan in it.

    >>> best_score(np.array([[0.1, 0.9, 0.3]]), np.array([[True, False, True]])).tolist()
    [0.3]
    """
    greatest = np.where(mask, scores, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(mask.any(axis=1), greatest, np.nan)


def wrong_choices(
    scores: np.ndarray, true: np.ndarray, false: np.ndarray, tolerance: float = TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """The false text that each row chooses instead of a true one, and whether a false and a true
    text tie for the best score.

    scores (n, m), masks true and false (n, m); returns shares (n, m) and bool (n,). A row that
    chooses a false text has shares that sum to 1: false texts that tie for the best score share it
    evenly. Other rows have zeros.

    >>> masks = np.array([[True, False, False]]), np.array([[False, True, True]])
    >>> wrong_choices(np.array([[0.1, 0.3, 0.2]]), *masks)[0].tolist()
    [[0.0, 1.0, 0.0]]
    """
    top, truth = best_score(scores, false), best_score(scores, true)
    with np.errstate(invalid="ignore"):
        lost, tie = beats(top, truth, tolerance), tied(top, truth, tolerance)
        winners = false & tied(scores, top[:, None], tolerance) & lost[:, None]
    return winners / np.maximum(winners.sum(axis=1, keepdims=True), 1), tie


def recall_at_k(
    scores: np.ndarray,
    true: np.ndarray,
    false: np.ndarray,
    k: int = 1,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Recall@k per row: fewer than k false texts score at or above the best true one.

    scores (n, m), masks true and false (n, m); returns two bool (n,). The second marks rows lost
    only to ties. Ties among true texts do not matter.

    >>> recall_at_k(np.array([[0.3, 0.1, 0.3]]), np.array([[True, False, False]]), np.array([[False,
    True, True]]))
    (array([False]), array([ True]))
    """
    truth = best_score(scores, true)[:, None]
    with np.errstate(invalid="ignore"):
        at_or_above = (false & ~beats(truth, scores, tolerance)).sum(axis=1)
        above = (false & beats(scores, truth, tolerance)).sum(axis=1)
    return at_or_above < k, (at_or_above >= k) & (above < k)


def chance(n_true: np.ndarray, n_false: np.ndarray, k: int = 1) -> np.ndarray:
    """Recall@k by chance (n,): the probability that fewer than k false texts precede the first true
    one in a random order.

    >>> first, third = chance(np.array([1, 2]), np.array([4, 6])), chance(np.array([1]),
    np.array([4]), 3)
    >>> first.round(6).tolist(), third.round(6).tolist()
    ([0.2, 0.25], [0.6])
    """
    before = np.ones(len(n_true))
    for i in range(k):
        before *= np.maximum(n_false - i, 0) / np.maximum(n_true + n_false - i, 1)
    return 1 - before
