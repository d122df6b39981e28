"""Which texts are true of which images, so that none of them is taught to be false."""

import re

import numpy as np

from evaluator.training.data import TrainingData

_WORD = re.compile(r"\w+")


class Facts:
    """Which texts are true of which images, by their indices in the data."""

    def __init__(self, data: TrainingData):
        self._true = data.true

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """bool (n, m) of n images and m texts."""
        found: np.ndarray = (texts[None, :, None] == self._true[images][:, None, :]).any(-1)
        return found


class ByWords(Facts):
    """As `Facts` for a bag of words: a text is true of an image if each of its words is in a text that is."""

    def __init__(self, data: TrainingData):
        super().__init__(data)
        words: dict[str, int] = {}
        rows = [[words.setdefault(word, len(words)) for word in _WORD.findall(text.lower())] for text in data.texts]
        self._texts = np.zeros((len(rows), len(words)), np.float32)
        for i, row in enumerate(rows):
            self._texts[i, row] = 1
        self._lacks = np.stack([self._texts[row[row >= 0]].sum(0) == 0 for row in data.true]).astype(np.float32)

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """bool (n, m) of n images and m texts."""
        found: np.ndarray = self._lacks[images] @ self._texts[texts].T == 0
        return found
