"""Ranks in retrieval pools of any size: scores come from a matrix or from embeddings, a block at a
time, to save memory."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from evaluator.metrics.comparison import TOLERANCE, Ranks, beats

ROWS, COLUMNS = 1_024, 8_192
"""Shape of a block of scores: 32 MiB."""
_STRIP = 32
"""Rows that are counted together: few enough for the CPU cache and for counts in uint8."""


class PoolScores(Protocol):
    """The scores of n images with m texts."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of images and of texts."""
        ...

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """The scores of some images with a slice of the texts.

        Args:
            rows: of the images.
            columns: of the texts.

        Returns:
            float32 (rows, columns).
        """
        ...

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """The scores of single pairs.

        Args:
            pairs: int64 (k, 2), an image and a text each.

        Returns:
            float32 (k,).
        """
        ...


class MatrixScores:
    """Scores stored in a matrix, float32 (n, m), in memory or mapped from disk."""

    def __init__(self, matrix: np.ndarray):
        """Wrap a matrix."""
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

    _PAIRS_AT_ONCE = 65_536
    """Of so many pairs the embeddings are copied: 256 MiB for d = 512."""

    def __init__(self, images: np.ndarray, texts: np.ndarray):
        """Wrap the embeddings of images and texts."""
        self._images = images
        self._texts = texts
        self.shape = (len(images), len(texts))

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """As PoolScores.block."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self._images[rows] @ self._texts[columns].T)

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """As PoolScores.of_pairs."""
        scores = np.empty(len(pairs), np.float32)
        with np.errstate(invalid="ignore"):
            for start in range(0, len(pairs), self._PAIRS_AT_ONCE):
                part = slice(start, start + self._PAIRS_AT_ONCE)
                image, text = pairs[part].T
                scores[part] = np.einsum("nd,nd->n", self._images[image], self._texts[text])
        return scores


def ranks(
    scores: PoolScores, truth: np.ndarray, tolerance: float = TOLERANCE
) -> tuple[Ranks, Ranks]:
    """The ranks of images among texts, and of texts among images.

    The score of the best true candidate of each query is known before any block is computed. From
    it follow two thresholds, and all that remains is to count the scores that reach them, block by
    block; true candidates are counted with the others and subtracted.

    Args:
        scores: of a pool.
        truth: the true pairs without duplicates, int64 (t, 2): (image, text).
        tolerance: how close scores tie. Comparisons agree exactly with `comparison.beats` for
            scores above −3e38.

    Returns:
        The ranks of the images' true texts, and of the texts' true images.

    Example:
        >>> matrix = MatrixScores(np.array([[0.9, 0.1], [0.8, 0.7]], np.float32))
        >>> of_images, of_texts = ranks(matrix, np.array([[0, 0], [1, 1]]))
        >>> of_images.at_or_above.tolist(), of_texts.at_or_above.tolist()
        ([0, 1], [0, 0])
    """
    n_images, n_texts = scores.shape
    true_scores = scores.of_pairs(truth)
    of_images = _Counts(n_images, truth[:, 0], true_scores=true_scores, tolerance=tolerance)
    of_texts = _Counts(n_texts, truth[:, 1], true_scores=true_scores, tolerance=tolerance)

    pairs_in_block = _group_by_block(truth, n_texts)

    buffer = np.empty(_STRIP * COLUMNS, dtype=bool)
    for top in range(0, n_images, ROWS):
        rows = slice(top, min(top + ROWS, n_images))
        for left in range(0, n_texts, COLUMNS):
            columns = slice(left, min(left + COLUMNS, n_texts))
            block = scores.block(rows, columns)

            # Subtract the true pairs of this block. Their scores are read from the block itself:
            # a product of other shape may round them differently, and they were counted as here.
            image, text = pairs_in_block(top, left).T
            scores_in_block = block[image - top, text - left]
            of_images.subtract(scores_in_block, image)
            of_texts.subtract(scores_in_block, text)

            # Count all scores, a strip of rows at a time.
            for start in range(0, len(block), _STRIP):
                strip = block[start : start + _STRIP]
                strip_rows = slice(top + start, top + start + len(strip))
                reached = buffer[: strip.size].reshape(strip.shape)
                of_images.add(strip, strip_rows, 1, reached)
                of_texts.add(strip, columns, 0, reached)
                is_finite = np.isfinite(strip, out=reached)
                if not is_finite.all():
                    of_images.unscored[strip_rows] |= ~is_finite.all(axis=1)
                    of_texts.unscored[columns] |= ~is_finite.all(axis=0)
    return of_images.ranks(), of_texts.ranks()


def _group_by_block(truth: np.ndarray, n_texts: int) -> Callable[[int, int], np.ndarray]:
    """Sort true pairs by the blocks that hold them.

    Args:
        truth: int64 (t, 2): (image, text).
        n_texts: The number of texts of the pool.

    Returns:
        A function of the first row and the first column of a block, which gives its true pairs,
        int64 (pairs, 2).
    """
    blocks_across = 1 + n_texts // COLUMNS
    image, text = truth.T
    # Blocks are numbered row by row.
    block_of_pair = image // ROWS * blocks_across + text // COLUMNS
    order = np.argsort(block_of_pair, kind="stable")
    sorted_truth, sorted_blocks = truth[order], block_of_pair[order]

    def pairs_in_block(top: int, left: int) -> np.ndarray:
        number = top // ROWS * blocks_across + left // COLUMNS
        first, end = np.searchsorted(sorted_blocks, (number, number + 1))
        pairs: np.ndarray = sorted_truth[first:end]
        return pairs

    return pairs_in_block


class _Counts:
    """For each query of one side, how many scores reach two thresholds: one for at or above the
    best true score, one for above it."""

    def __init__(self, n: int, query: np.ndarray, *, true_scores: np.ndarray, tolerance: float):
        """Find the thresholds of n queries from the scores of true pairs (t,) of `query` (t,)."""
        # A query without a true candidate keeps -inf, which is not finite, and so is unscored.
        best = np.full(n, -np.inf, np.float32)
        # A nan among the true scores stays nan, so that its query is unscored.
        with np.errstate(invalid="ignore"):
            np.maximum.at(best, query, true_scores)
        self.unscored = ~np.isfinite(best)
        self._thresholds = [_threshold(best, tolerance, above) for above in (False, True)]
        self._counts = np.zeros((2, n), np.int64)

    def add(self, strip: np.ndarray, part: slice, axis: int, reached: np.ndarray) -> None:
        """Add a strip of scores to the counts of the queries `part`. Candidates lie along `axis`.
        Overwrites `reached`."""
        for threshold, counts in zip(self._thresholds, self._counts, strict=True):
            of_part = threshold[part, None] if axis else threshold[part]
            np.greater_equal(strip, of_part, out=reached)
            if axis:
                # Row by row, count_nonzero is three times as fast as a sum.
                counts[part] += [np.count_nonzero(row) for row in reached]
            else:
                counts[part] += reached.view(np.uint8).sum(axis=0, dtype=np.uint8)

    def subtract(self, scores: np.ndarray, query: np.ndarray) -> None:
        """Subtract true pairs from the counts, given their scores and queries."""
        for threshold, counts in zip(self._thresholds, self._counts, strict=True):
            np.subtract.at(counts, query, scores >= threshold[query])

    def ranks(self) -> Ranks:
        """The counts as ranks, −1 for unscored queries."""
        return Ranks(*np.where(self.unscored, -1, self._counts))


def _threshold(truth: np.ndarray, tolerance: float, above: bool) -> np.ndarray:
    """The smallest float32 (n,) that beats each true score; unless `above`, the smallest that the
    true score does not beat.

    Found by bisection over all float32 numbers, so that the rule is defined in `beats` alone.
    """
    ends = _to_order(np.array([-np.inf, np.inf], np.float32))
    low, high = (np.full(len(truth), end) for end in ends)
    with np.errstate(invalid="ignore"):
        # At most 32 halvings: there are 2³² float32 numbers.
        while (high - low > 1).any():
            middle = (low + high) // 2
            score = _from_order(middle)
            reached = beats(score, truth, tolerance) if above else ~beats(truth, score, tolerance)
            low = np.where(reached, low, middle)
            high = np.where(reached, middle, high)
    return _from_order(high)


def _to_order(numbers: np.ndarray) -> np.ndarray:
    """Map float32 numbers to int64 in the same order.

    The bits of a float32, read as an integer, rise with the number where it is positive and fall
    where it is negative.
    """
    bits = numbers.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _from_order(order: np.ndarray) -> np.ndarray:
    """The inverse of `_to_order`: float32 numbers."""
    bits = np.where(order < 0, -order | 0x80000000, order)
    return bits.astype(np.uint32).view(np.float32)
