"""Metrics of questions with a few candidates: from scores, which questions are correct, and which
are lost only to ties.

Scores are float arrays whose first axis is the question; nan is a missing score and is never
correct. `tolerance` is how close scores tie (`comparison.tied`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from evaluator.metrics.comparison import TOLERANCE, beats

Won = tuple[np.ndarray, np.ndarray]
"""Whether each question is correct, and whether it is lost only to ties, bool (n,) each."""


def all_won(pairs: Iterable[tuple[np.ndarray, np.ndarray]], tolerance: float = TOLERANCE) -> Won:
    """Whether the first score of every pair beats the second.

    Args:
        pairs: scores (n,) and (n,) each.
        tolerance: how close scores tie.

    Returns:
        Which questions are correct, and which are lost only to ties: they are not correct, but in
        no pair does the second score beat the first.

    Example:
        >>> first, second = np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.2])
        >>> [of_questions.tolist() for of_questions in all_won([(first, second)])]
        [[True, False, False], [False, True, False]]
    """
    first_beats = []
    second_beats = []
    # A missing score is nan: comparisons with it are False, and need no warning.
    with np.errstate(invalid="ignore"):
        for first, second in pairs:
            first_beats.append(beats(first, second, tolerance))
            second_beats.append(beats(second, first, tolerance))
    won = np.all(first_beats, axis=0)
    lost = np.any(second_beats, axis=0)
    return won, ~won & ~lost


def text_score(scores: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether both images of a pair prefer their own caption (Winoground, Thrush et al. 2022,
    section 4). By chance 1/4.

    Args:
        scores: (n, 2, 2); [:, i, j] is the score of image i and caption j, and image i belongs to
            caption i.
        tolerance: how close scores tie.

    Returns:
        Which pairs are right, and which are lost only to ties.

    Example:
        >>> text_score(np.array([[[0.9, 0.1], [0.2, 0.3]]]))[0].tolist()
        [True]
    """
    of_first_image = scores[:, 0, 0], scores[:, 0, 1]
    of_second_image = scores[:, 1, 1], scores[:, 1, 0]
    return all_won([of_first_image, of_second_image], tolerance)


def image_score(scores: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether both captions of a pair prefer their own image (Thrush et al. 2022, section 4). By
    chance 1/4.

    Args:
        scores: (n, 2, 2) as in `text_score`.
        tolerance: how close scores tie.

    Returns:
        Which pairs are right, and which are lost only to ties.

    Example:
        >>> image_score(np.array([[[0.9, 0.4], [0.2, 0.3]]]))[0].tolist()
        [False]
    """
    return text_score(scores.transpose(0, 2, 1), tolerance)


def matching_score(scores: np.ndarray, tolerance: float = TOLERANCE) -> Won:
    """Whether the true assignment of two captions to two images scores more than the exchanged one.
    By chance 1/2.

    A preference for one caption or one image is part of both sums, so it cancels. A model that
    reads captions alone, or images alone, ties on every pair.

    Args:
        scores: (n, 2, 2) as in `text_score`.
        tolerance: how close the two sums tie.

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
    (the group score of Thrush et al. 2022; by chance 1/6).

    Args:
        first: of n questions.
        second: of n others.

    Returns:
        Which pairs are correct, and which are lost only to ties: neither question is lost, but not
        both are correct.

    Example:
        >>> yes, no = np.array([True]), np.array([False])
        >>> [of_pairs.tolist() for of_pairs in both_won((yes, no), (no, yes))]
        [[False], [True]]
    """
    first_won, first_tie = first
    second_won, second_tie = second
    won = first_won & second_won
    neither_lost = (first_won | first_tie) & (second_won | second_tie)
    return won, neither_lost & ~won


def augmented_accuracy(
    caption: np.ndarray, negative: np.ndarray, positive: np.ndarray, tolerance: float = TOLERANCE
) -> Won:
    """Whether both the caption and its hard positive beat the negative (Kamath et al. 2024, section
    4.1). By chance 1/3.

    Args:
        caption: (n,) scores of the captions.
        negative: (n,) scores of their hard negatives.
        positive: (n,) scores of their hard positives.
        tolerance: how close scores tie.

    Returns:
        Which questions are correct, and which are lost only to ties.

    Example:
        >>> caption, negative = np.array([0.3, 0.3]), np.array([0.2, 0.2])
        >>> augmented_accuracy(caption, negative, np.array([0.25, 0.1]))[0].tolist()
        [True, False]
    """
    return all_won([(caption, negative), (positive, negative)], tolerance)


def brittleness(
    caption: np.ndarray, negative: np.ndarray, positive: np.ndarray, tolerance: float = TOLERANCE
) -> Won:
    """Whether the negative lies between the caption and its hard positive (Kamath et al. 2024,
    section 4.1). By chance 1/3; less is better.

    Args:
        caption: (n,) scores of the captions.
        negative: (n,) scores of their hard negatives.
        positive: (n,) scores of their hard positives.
        tolerance: how close scores tie.

    Returns:
        Where it does, and where only ties keep it from doing so.

    Example:
        >>> caption, negative = np.array([0.3, 0.3]), np.array([0.2, 0.2])
        >>> brittleness(caption, negative, np.array([0.25, 0.1]))[0].tolist()
        [False, True]
    """
    falling, falling_tie = all_won([(caption, negative), (negative, positive)], tolerance)
    rising, rising_tie = all_won([(positive, negative), (negative, caption)], tolerance)
    between = falling | rising
    return between, (falling_tie | rising_tie) & ~between


def decomposed_recall(
    true: np.ndarray, false: np.ndarray, used: np.ndarray, tolerance: float = TOLERANCE
) -> Won:
    """Whether every caption of a scene's single facts beats its own negative (COMPASS, section 5).
    By chance 1/2 each.

    Args:
        true: (n, k) scores of at most k captions.
        false: (n, k) scores of their negatives.
        used: bool (n, k), False where padded.
        tolerance: how close scores tie.

    Returns:
        Which scenes are correct, and which are lost only to ties.

    Example:
        >>> true, false = np.array([[0.3, 0.4], [0.3, 0.0]]), np.array([[0.1, 0.5], [0.1, 0.0]])
        >>> decomposed_recall(true, false, np.array([[True, True], [True, False]]))[0].tolist()
        [False, True]
    """
    with np.errstate(invalid="ignore"):
        true_beats = beats(true, false, tolerance)
        false_beats = beats(false, true, tolerance)
    # Padding decides nothing: it counts as won, and never as lost.
    won = (true_beats | ~used).all(axis=1)
    lost = (false_beats & used).any(axis=1)
    return won, ~won & ~lost


def category_weights(categories: Sequence[tuple[str, ...]]) -> np.ndarray:
    """The weight of each item in the mean over categories.

    A category's mean is the unweighted mean of its subcategories; the mean of a complete path is
    the mean of its items.

    Args:
        categories: (n,) a path for each item, such as (kind, skill).

    Returns:
        (n,) with sum 1.

    Example:
        >>> category_weights([("a",), ("a",), ("b", "x"), ("b", "y")]).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    items_of_path = Counter(categories)
    # Items of a complete path are a subcategory of their own, "", beside longer paths.
    subcategories: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in items_of_path:
        for depth, name in enumerate((*path, "")):
            subcategories[path[:depth]].add(name)
    weight_of_path = {}
    for path, items in items_of_path.items():
        # On the way down, each category shares its weight evenly among its subcategories.
        siblings = []
        for depth in range(len(path) + 1):
            category = path[:depth]
            siblings.append(len(subcategories[category]))
        weight_of_path[path] = 1 / items / float(np.prod(siblings))
    return np.array([weight_of_path[path] for path in categories])
