"""When one score beats another: the one rule of all protocols."""

import numpy as np

TOLERANCE = 1e-5


def tied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether scores differ by no more than 1e-5 · max(1, |a|, |b|); arrays of one shape."""
    return np.abs(a - b) <= TOLERANCE * np.maximum(1, np.maximum(np.abs(a), np.abs(b)))


def beats(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether a is greater than b by more than the tolerance; a tie is never a win."""
    return (a > b) & ~tied(a, b)
