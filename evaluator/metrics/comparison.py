"""The rule by which one score beats another, shared by all metrics; ranks, recall@k and reciprocal
ranks by this rule."""

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-5
"""Default tolerance: float32 scores of one pair differ by up to this much between batches."""


def tied(a: np.ndarray, b: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Whether scores differ by no more than tolerance · max(1, |a|, |b|).

    Args:
        a: scores of any shape.
        b: scores of the same shape.
        tolerance: how close scores tie.

    Returns:
        bool of this shape; False for nan.

    Example:
        >>> tied(np.array([0.5, 0.5]), np.array([0.500001, 0.6])).tolist()
        [True, False]
    """
    distance = np.abs(a - b)
    # Relative for logits, whose rounding grows with them; absolute for cosines, which stay below 1.
    scale = np.maximum(1, np.maximum(np.abs(a), np.abs(b)))
    return distance <= tolerance * scale


def beats(a: np.ndarray, b: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Whether a is greater than b by more than the tolerance. A tie is never a win.

    Args:
        a: scores of any shape.
        b: scores of the same shape.
        tolerance: as in `tied`.

    Returns:
        bool of this shape; False for nan.

    Example:
        >>> beats(np.array([0.6, 0.500001]), np.array([0.5, 0.5])).tolist()
        [True, False]
    """
    return (a > b) & ~tied(a, b, tolerance)


def best_score(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The greatest score of each row inside a mask.

    Args:
        scores: (n, m).
        mask: bool (n, m).

    Returns:
        (n,); nan for an empty mask or a nan in it.

    Example:
        >>> best_score(np.array([[0.1, 0.9, 0.3]]), np.array([[True, False, True]])).tolist()
        [0.3]
    """
    greatest = np.where(mask, scores, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(mask.any(axis=1), greatest, np.nan)


@dataclass(frozen=True)
class Ranks:
    """For each of n queries, how many false candidates come before its best true candidate.

    Both counts are −1 for a query without a true candidate or with a score that is not finite.
    """

    at_or_above: np.ndarray
    """int64 (n,): false candidates that score at or above it; a tie counts."""
    above: np.ndarray
    """int64 (n,): false candidates that score above it; a tie does not count."""

    def recall(self, k: int) -> np.ndarray:
        """Whether fewer than k false candidates score at or above the best true one.

        Args:
            k: at least 1.

        Returns:
            bool (n,); False for a query without ranks.

        Example:
            >>> Ranks(np.array([0, 3, -1]), np.array([0, 1, -1])).recall(2).tolist()
            [True, False, False]
        """
        return (self.at_or_above >= 0) & (self.at_or_above < k)

    def lost_to_ties(self, k: int) -> np.ndarray:
        """Whether a query misses recall@k only because of ties.

        Args:
            k: at least 1.

        Returns:
            bool (n,).

        Example:
            >>> Ranks(np.array([0, 3, -1]), np.array([0, 1, -1])).lost_to_ties(2).tolist()
            [False, True, False]
        """
        return (self.at_or_above >= k) & (self.above < k)

    def reciprocal(self) -> np.ndarray:
        """The reciprocal of the rank of the best true candidate; false ones that tie come first.

        Returns:
            float64 (n,) in 0..1; 0 for a query without ranks.

        Example:
            >>> Ranks(np.array([0, 3, -1]), np.array([0, 1, -1])).reciprocal().tolist()
            [1.0, 0.25, 0.0]
        """
        rank = self.at_or_above + 1
        return np.where(rank > 0, 1 / np.maximum(rank, 1), 0.0)


def wrong_choices(
    scores: np.ndarray, true: np.ndarray, false: np.ndarray, tolerance: float = TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """The false text that each row chooses instead of a true one.

    Args:
        scores: (n, m) of n images with m texts.
        true: bool (n, m) the true texts.
        false: bool (n, m) the false texts.
        tolerance: as in `tied`.

    Returns:
        Shares (n, m): a row that chooses a false text has shares that sum to 1, and false texts
        that tie for the best score share it evenly; other rows have zeros. And bool (n,): whether a
        false and a true text tie for the best score.

    Example:
        >>> masks = np.array([[True, False, False]]), np.array([[False, True, True]])
        >>> wrong_choices(np.array([[0.1, 0.3, 0.2]]), *masks)[0].tolist()
        [[0.0, 1.0, 0.0]]
    """
    best_false = best_score(scores, false)
    best_true = best_score(scores, true)
    with np.errstate(invalid="ignore"):
        is_lost = beats(best_false, best_true, tolerance)
        is_tie = tied(best_false, best_true, tolerance)
        ties_for_best = tied(scores, best_false[:, None], tolerance)
    chosen = false & ties_for_best & is_lost[:, None]
    n_chosen = chosen.sum(axis=1, keepdims=True)
    shares = chosen / np.maximum(n_chosen, 1)
    return shares, is_tie


def ranks_of_rows(
    scores: np.ndarray, true: np.ndarray, false: np.ndarray, tolerance: float = TOLERANCE
) -> Ranks:
    """The ranks of the best true text of each row.

    Args:
        scores: (n, m) of n images with m texts.
        true: bool (n, m) the true texts.
        false: bool (n, m) the false texts.
        tolerance: as in `tied`.

    Returns:
        The ranks. A row without a true score, or with nan for one, comes after all its false texts.

    Example:
        >>> true, false = np.array([[True, False, False]]), np.array([[False, True, True]])
        >>> ranks = ranks_of_rows(np.array([[0.3, 0.1, 0.3]]), true, false)
        >>> ranks.at_or_above.tolist(), ranks.above.tolist()
        ([1], [0])
    """
    best_true = best_score(scores, true)[:, None]
    with np.errstate(invalid="ignore"):
        is_below = beats(best_true, scores, tolerance)
        is_above = beats(scores, best_true, tolerance)
    # A row without a true score has nan there, which beats nothing: all false texts count.
    at_or_above = (false & ~is_below).sum(axis=1)
    above = (false & is_above).sum(axis=1)
    return Ranks(at_or_above, above)


def recall_at_k(
    scores: np.ndarray,
    true: np.ndarray,
    false: np.ndarray,
    k: int = 1,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Recall@k of each row: fewer than k false texts score at or above the best true one.

    Ties among true texts do not matter.

    Args:
        scores: (n, m) of n images with m texts.
        true: bool (n, m) the true texts.
        false: bool (n, m) the false texts.
        k: at least 1.
        tolerance: as in `tied`.

    Returns:
        Two bool (n,): which rows are right, and which are lost only to ties.

    Example:
        >>> true, false = np.array([[True, False, False]]), np.array([[False, True, True]])
        >>> recall_at_k(np.array([[0.3, 0.1, 0.3]]), true, false)
        (array([False]), array([ True]))
    """
    ranks = ranks_of_rows(scores, true, false, tolerance)
    return ranks.recall(k), ranks.lost_to_ties(k)


def chance(n_true: np.ndarray, n_false: np.ndarray, k: int = 1) -> np.ndarray:
    """Recall@k by chance: the probability that fewer than k false texts precede the first true one
    in a random order.

    Args:
        n_true: (n,) the number of true texts.
        n_false: (n,) the number of false texts.
        k: at least 1.

    Returns:
        (n,) in 0..1.

    Example:
        >>> chance(np.array([1, 2]), np.array([4, 6])).round(6).tolist()
        [0.2, 0.25]
        >>> chance(np.array([1]), np.array([4]), k=3).round(6).tolist()
        [0.6]
    """
    # The probability that the first k texts of the order are all false.
    all_false = np.ones(len(n_true))
    for place in range(k):
        false_left = np.maximum(n_false - place, 0)
        texts_left = np.maximum(n_true + n_false - place, 1)
        all_false *= false_left / texts_left
    return 1 - all_false


def reciprocal_chance(n_true: np.ndarray, n_false: np.ndarray) -> np.ndarray:
    """The reciprocal rank by chance: its mean over random orders of the texts.

    Args:
        n_true: (n,) the number of true texts.
        n_false: (n,) the number of false texts.

    Returns:
        (n,) in 0..1; 0 without a true text.

    Example:
        >>> reciprocal_chance(np.array([1, 0]), np.array([2, 2])).round(6).tolist()
        [0.611111, 0.0]
    """
    # Most rows have the same numbers, so each pair of numbers is computed once.
    counts, row = np.unique(np.stack([n_true, n_false], axis=1), axis=0, return_inverse=True)
    means = np.array([_mean_reciprocal(int(true), int(false)) for true, false in counts])
    return means.reshape(-1)[row.reshape(-1)]


def _mean_reciprocal(n_true: int, n_false: int) -> float:
    """The mean of 1 / rank of the first true text, over random orders."""
    if not n_true:
        return 0.0
    n_texts = n_true + n_false
    # The probability that false texts alone stand before a rank, for ranks 1, 2, …, n_false + 1.
    places = np.arange(n_false)
    is_still_false = np.cumprod((n_false - places) / (n_texts - places))
    before = np.concatenate([[1.0], is_still_false])
    ranks = np.arange(1, n_false + 2)
    is_first = before * n_true / (n_texts - ranks + 1)
    return float((is_first / ranks).sum())
