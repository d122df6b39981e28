"""Metrics of questions with a few candidates: from scores, which questions are correct, and which
are lost only to ties.

Scores are float arrays whose first axis is the question; nan is a missing score and is never
correct.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from evaluator.metrics.comparison import TOLERANCE, beats

Won = tuple[np.ndarray, np.ndarray]
"""Whether each question is correct, and whether it is lost only to ties, bool (n,) each."""


def all_won(pairs: Iterable[tuple[np.ndarray, np.ndarray]], tolerance: float = TOLERANCE) -> Won:
    """Whether the first score (n,) of every pair beats the second (n,). Lost only to ties: not won,
    but in no pair does the second beat the first.

    >>> [each.tolist() for each in all_won([(np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2,
    0.2]))])]
    [[True, False, False], [False, True, False]]
    """
    pairs = list(pairs)
    with np.errstate(invalid="ignore"):
        won = np.all([beats(a, b, tolerance) for a, b in pairs], axis=0)
        lost = np.any([beats(b, a, tolerance) for a, b in pairs], axis=0)
    return won, ~won & ~lost


def text_score(scores: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether both images of a pair prefer their own caption (Winoground, Thrush et al. 2022). By
    chance 1/4.

    scores: (n, 2, 2); [:, i, j] is the score of image i and caption j, and image i belongs to
        caption i.

    >>> text_score(np.array([[[0.9, 0.1], [0.2, 0.3]]]))[0].tolist()
    [True]
    """
    return all_won(
        [(scores[:, 0, 0], scores[:, 0, 1]), (scores[:, 1, 1], scores[:, 1, 0])], tolerance
    )


def image_score(scores: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether both captions of a pair prefer their own image. scores: (n, 2, 2) as in `text_score`.
    By chance 1/4.

    >>> image_score(np.array([[[0.9, 0.4], [0.2, 0.3]]]))[0].tolist()
    [False]
    """
    return text_score(scores.transpose(0, 2, 1), tolerance)


def matching_score(scores: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether the true assignment of two captions to two images scores more than the exchanged one.
    By chance 1/2.

    A preference for one caption or one image is part of both sums, so it cancels. A model that
    reads captions alone, or images alone, ties on every pair.

    Args: scores: (n, 2, 2); [:, i, j] is the score of image i and caption j, and image i belongs to
        caption i. tolerance: how close the two sums tie (`comparison.tied`).

    Returns:
        Which pairs are right, and which are lost only to a tie.

    Example:
        The model prefers caption 0 for both images, yet matches them correctly:

        >>> matching_score(np.array([[[0.9, 0.1], [0.8, 0.3]]]))[0].tolist()
        [True]
    """
    # In double precision: the rounding of float32 sums is as large as the tolerance.
    exact = np.asarray(scores, dtype=np.float64)
    true_assignment = exact[:, 0, 0] + exact[:, 1, 1]
    exchanged_assignment = exact[:, 0, 1] + exact[:, 1, 0]
    return all_won([(true_assignment, exchanged_assignment)], tolerance)


def both_won(first: Won, second: Won) -> Won:
    """Whether both of two questions are correct, such as `text_score` and `image_score` of a pair
    (by chance 1/6). Lost only to ties: neither is lost, but not both are correct.

    >>> yes, no = np.array([True]), np.array([False])
    >>> [each.tolist() for each in both_won((yes, no), (no, yes))]
    [[False], [True]]
    """
    won, kept = first[0] & second[0], (first[0] | first[1]) & (second[0] | second[1])
    return won, kept & ~won


def augmented_accuracy(
    c: np.ndarray, n: np.ndarray, p: np.ndarray, tolerance: float = TOLERANCE
) -> Won:
    """Whether both the caption and its hard positive beat the negative (Kamath et al. 2024, section
    4.1). By chance 1/3.

    c, n, p: scores (n,) of the caption, the hard negative and the hard positive.

    >>> augmented_accuracy(np.array([0.3, 0.3]), np.array([0.2, 0.2]), np.array([0.25,
    0.1]))[0].tolist()
    [True, False]
    """
    return all_won([(c, n), (p, n)], tolerance)


def brittleness(c: np.ndarray, n: np.ndarray, p: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether the negative lies between the caption and its hard positive (Kamath et al. 2024). By
    chance 1/3.

    c, n, p: scores (n,) of the caption, the hard negative and the hard positive.

    >>> brittleness(np.array([0.3, 0.3]), np.array([0.2, 0.2]), np.array([0.25, 0.1]))[0].tolist()
    [False, True]
    """
    above, above_tie = all_won([(c, n), (n, p)], tolerance)
    below, below_tie = all_won([(p, n), (n, c)], tolerance)
    return above | below, (above_tie | below_tie) & ~(above | below)


def decomposed_recall(
    true: np.ndarray, false: np.ndarray, asked: np.ndarray, tolerance: float = TOLERANCE
) -> Won:
    """Whether every caption of a scene's single facts beats its own negative (COMPASS, section 5).
    By chance 1/2 each.

    true, false: scores (n, k) of at most k captions and their negatives. asked: bool (n, k), False
    where padded.

    >>> true, false = np.array([[0.3, 0.4], [0.3, 0.0]]), np.array([[0.1, 0.5], [0.1, 0.0]])
    >>> decomposed_recall(true, false, np.array([[True, True], [True, False]]))[0].tolist()
    [False, True]
    """
    with np.errstate(invalid="ignore"):
        won = (beats(true, false, tolerance) | ~asked).all(axis=1)
        lost = (beats(false, true, tolerance) & asked).any(axis=1)
    return won, ~won & ~lost


def category_weights(categories: Sequence[tuple[str, ...]]) -> np.ndarray:
    """The weight (n,) of each item in the mean over categories; they sum to 1.

    categories: a path for each item, such as (kind, skill). A category's mean is the unweighted
        mean of its
    subcategories; the mean of a complete path is the mean of its items.

    >>> category_weights([("a",), ("a",), ("b", "x"), ("b", "y")]).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    items = Counter(categories)
    below: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in items:
        for depth, name in enumerate((*path, "")):  # "" for the items of a complete path
            below[path[:depth]].add(name)
    weight = {
        path: 1 / n / float(np.prod([len(below[path[:depth]]) for depth in range(len(path) + 1)]))
        for path, n in items.items()
    }
    return np.array([weight[path] for path in categories])
