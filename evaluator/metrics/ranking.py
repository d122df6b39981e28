"""Ranks in retrieval pools of any size: scores come from a matrix or from embeddings, a block at a
time, to save memory."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evaluator.metrics.comparison import TOLERANCE, beats


class PoolScores(Protocol):
    """The scores of n images with m texts."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of images and of texts."""
        ...

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """The scores, float32 (rows, columns), of some images and a slice of texts."""
        ...

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """The scores, float32 (k,), of pairs of an image and a text, int64 (k, 2)."""
        ...


class MatrixScores:
    """Scores stored in a matrix, float32 (n, m), in memory or mapped from disk."""

    def __init__(self, matrix: np.ndarray):
        self._matrix = matrix
        n, m = matrix.shape
        self.shape = (n, m)

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """As PoolScores.block."""
        return np.asarray(self._matrix[rows, columns])

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """As PoolScores.of_pairs."""
        return np.asarray(self._matrix[pairs[:, 0], pairs[:, 1]])


class CosineScores:
    """Cosines of embeddings of unit length, float32 (n, d) and (m, d), in memory or mapped from
    disk."""

    _AT_ONCE = 65_536

    def __init__(self, images: np.ndarray, texts: np.ndarray):
        self._images, self._texts = images, texts
        self.shape = (len(images), len(texts))

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """As PoolScores.block."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self._images[rows] @ self._texts[columns].T)

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """As PoolScores.of_pairs."""
        found = np.empty(len(pairs), np.float32)
        with np.errstate(invalid="ignore"):
            for start in range(0, len(pairs), self._AT_ONCE):
                image, text = pairs[start : start + self._AT_ONCE].T
                found[start : start + self._AT_ONCE] = np.einsum(
                    "nd,nd->n", self._images[image], self._texts[text]
                )
        return found


ROWS, COLUMNS = 1_024, 8_192
"""Shape of a block of scores: 32 MiB."""
_STRIP = 32
"""Rows that are counted together: few enough for the CPU cache and for counts in uint8."""


@dataclass(frozen=True)
class Ranks:
    """Per query: how many false candidates score at or above its best true candidate, and how many
    above, int64 (n,).

    Ties count as at or above, not as above. Both are −1 for a query without a true candidate or
    with a score that is not finite.
    """

    at_or_above: np.ndarray
    above: np.ndarray

    def recall(self, k: int) -> np.ndarray:
        """Whether fewer than k false candidates score at or above the best true one, bool (n,);
        False without a rank."""
        return (self.at_or_above >= 0) & (self.at_or_above < k)

    def lost_to_ties(self, k: int) -> np.ndarray:
        """Whether a query misses recall@k only because of ties, bool (n,)."""
        return (self.at_or_above >= k) & (self.above < k)


def ranks(
    scores: PoolScores, truth: np.ndarray, tolerance: float = TOLERANCE
) -> tuple[Ranks, Ranks]:
    """The ranks of images among texts, and of texts among images.

    truth: the true pairs without duplicates, int64 (t, 2): (image, text). Comparisons agree exactly
        with
    `comparison.beats` for scores above −3e38.
    """
    own = scores.of_pairs(truth)
    sides = [_Side(n, truth[:, axis], own, tolerance) for axis, n in enumerate(scores.shape)]
    room = np.empty(_STRIP * COLUMNS, dtype=bool)
    block_of = truth[:, 0] // ROWS * (1 + scores.shape[1] // COLUMNS) + truth[:, 1] // COLUMNS
    order = np.argsort(block_of, kind="stable")
    truth, block_of = truth[order], block_of[order]
    for top in range(0, scores.shape[0], ROWS):
        rows = slice(top, min(top + ROWS, scores.shape[0]))
        for left in range(0, scores.shape[1], COLUMNS):
            columns = slice(left, min(left + COLUMNS, scores.shape[1]))
            block = scores.block(rows, columns)
            number = top // ROWS * (1 + scores.shape[1] // COLUMNS) + left // COLUMNS
            image, text = truth[slice(*np.searchsorted(block_of, (number, number + 1)))].T
            inside = block[image - top, text - left]
            for side, query in zip(sides, (image, text), strict=True):
                side.leave_out(inside, query)
            for start in range(0, len(block), _STRIP):
                strip = block[start : start + _STRIP]
                few = slice(top + start, top + start + len(strip))
                reached = room[: strip.size].reshape(strip.shape)
                for side, part, axis in ((sides[0], few, 1), (sides[1], columns, 0)):
                    side.count(strip, part, axis, reached)
                if not np.isfinite(strip, out=reached).all():
                    for side, part, axis in ((sides[0], few, 1), (sides[1], columns, 0)):
                        side.unscored[part] |= ~reached.all(axis=axis)
    return sides[0].ranks(), sides[1].ranks()


class _Side:
    """Per query of one side, counts of scores that reach two thresholds: for at or above, and for
    above."""

    def __init__(self, n: int, query: np.ndarray, own: np.ndarray, tolerance: float):
        best = np.full(n, -np.inf, np.float32)
        with np.errstate(invalid="ignore"):
            np.maximum.at(best, query, own)
        self.unscored = ~np.isfinite(best)
        self._least = [_least(best, tolerance, strictly) for strictly in (False, True)]
        self._counts = np.zeros((2, n), np.int64)

    def count(self, strip: np.ndarray, part: slice, axis: int, reached: np.ndarray) -> None:
        """Add a strip of scores to the counts of the queries `part`. Candidates lie along `axis`.
        Overwrites `reached`."""
        for least, counts in zip(self._least, self._counts, strict=True):
            np.greater_equal(strip, least[part, None] if axis else least[part], out=reached)
            if axis:
                counts[part] += [np.count_nonzero(row) for row in reached]
            else:
                counts[part] += reached.view(np.uint8).sum(axis=0, dtype=np.uint8)

    def leave_out(self, inside: np.ndarray, query: np.ndarray) -> None:
        """Subtract true pairs from the counts, given their scores and queries."""
        for least, counts in zip(self._least, self._counts, strict=True):
            np.subtract.at(counts, query, inside >= least[query])

    def ranks(self) -> Ranks:
        """The counts as ranks, −1 for unscored queries."""
        return Ranks(*np.where(self.unscored, -1, self._counts))


def _least(truth: np.ndarray, tolerance: float, strictly: bool) -> np.ndarray:
    """The smallest float32 (n,) that beats each true score; unless `strictly`, the smallest that
    the true score does not beat.

    Found by bisection over all float32 numbers, so that the rule is defined in `beats` alone.
    """
    low, high = (
        np.full(len(truth), _order(np.array([end], np.float32))[0]) for end in (-np.inf, np.inf)
    )
    with np.errstate(invalid="ignore"):
        while (high - low > 1).any():
            middle = (low + high) // 2
            score = _number(middle)
            reached = (
                beats(score, truth, tolerance) if strictly else ~beats(truth, score, tolerance)
            )
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return _number(high)


def _order(numbers: np.ndarray) -> np.ndarray:
    """Map float32 numbers to int64 in the same order."""
    bits = numbers.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _number(order: np.ndarray) -> np.ndarray:
    """The inverse of `_order`: float32 numbers."""
    bits = np.where(order < 0, -order | 0x80000000, order)
    return bits.astype(np.uint32).view(np.float32)
