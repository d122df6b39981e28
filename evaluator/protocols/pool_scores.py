"""The scores of a pool, of which no more is in memory than is asked for: a matrix, or the embeddings of a dual encoder."""

from typing import Protocol

import numpy as np


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
    """Scores that stand in a matrix, float32 (n, m), in memory or mapped from disk."""

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
    """Cosines of embeddings of unit length, float32 (n, d) and (m, d), in memory or mapped from disk."""

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
                found[start : start + self._AT_ONCE] = np.einsum("nd,nd->n", self._images[image], self._texts[text])
        return found
