"""`PreparedImages`: the images of a training as its model takes them, kept in memory as far as they fit."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from evaluator.training.data import TrainingData

_MOST_CACHED = 4 << 30
"""Bytes of prepared images that are kept; the others are read again in each epoch."""
_THREADS = 4


class PreparedImages:
    """prepare: makes of an RGB image what the model takes, a tensor or tensors by name. Threads call it."""

    def __init__(self, data: TrainingData, prepare: Callable[[Any], Any]):
        self._data, self._prepare = data, prepare
        self._kept: dict[int, Any] = {}
        self._bytes = 0

    def of(self, rows: np.ndarray) -> list[Any]:
        """The images with these indices in the data."""
        wanted = rows.tolist()
        missing = [row for row in dict.fromkeys(wanted) if row not in self._kept]
        with ThreadPoolExecutor(_THREADS) as pool:
            loaded = dict(zip(missing, pool.map(self._load, missing), strict=True))
        for row, pixels in loaded.items():
            if self._bytes < _MOST_CACHED:
                self._kept[row] = pixels
                self._bytes += sum(
                    each.nbytes for each in (pixels.values() if isinstance(pixels, Mapping) else [pixels])
                )
        return [self._kept[row] if row in self._kept else loaded[row] for row in wanted]

    def _load(self, row: int) -> Any:
        where, name = self._data.images[row]
        return self._prepare(where.image(name))
