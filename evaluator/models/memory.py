"""Batches that are halved and tried again when memory runs out."""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from generator.base.errors import UserError

logger = logging.getLogger(__name__)
_TORCHS_OWN = "OutOfMemoryError"
_SIGNS = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
Item = TypeVar("Item")
Result = TypeVar("Result")


class BatchSize:
    """How many items are computed at once. It only ever shrinks, so later calls start with a size that fits.

    `size` is the largest batch; `item` says in the error message what one item is, such as "pair of image and text".
    """

    def __init__(self, size: int, item: str):
        self.size = size
        self._item = item
        self._shrunk = False

    def run(
        self, compute: Callable[[Sequence[Item]], Result], items: Sequence[Item], planned: bool = False
    ) -> Iterator[tuple[Sequence[Item], Result]]:
        """Yield consecutive batches of `items`, each with what `compute` returns for it.

        A batch that runs out of memory is halved and computed again; what was yielded is never computed twice.
        `planned`: `items` is one batch that the caller has sized. It is only cut once memory has run out.
        Raises UserError when memory runs out for a single item.
        """
        start = 0
        while start < len(items):
            stop = len(items) if planned and not self._shrunk else start + self.size
            part = items[start:stop]
            try:
                result = compute(part)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            else:
                yield part, result
                start += len(part)
                continue
            # after the handler, since the error's traceback holds the tensors of the failed batch
            self._shrink(len(part))

    def fill(
        self, compute: Callable[[Sequence[int]], np.ndarray], rows: Sequence[int], shape: tuple[int, ...]
    ) -> np.ndarray:
        """What `compute` returns for batches of rows, each in its rows of a float32 array of a shape; NaN in other
        rows."""
        found = np.full(shape, np.nan, dtype=np.float32)
        for part, values in self.run(compute, rows):
            found[list(part)] = values
        return found

    def _shrink(self, tried: int) -> None:
        if tried == 1:
            raise UserError(
                f"There is no memory for one {self._item}; choose --device cpu or a smaller model. What is finished "
                f"is kept."
            )
        self._shrunk = True
        while self.size >= tried:
            self.size //= 2
        if torch := sys.modules.get("torch"):  # not imported here, since results are measured without it
            torch.cuda.empty_cache()  # does nothing where no GPU is used
        logger.info(f"Out of memory: going on with batches of {self.size}.")


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    named = type(error).__name__ == _TORCHS_OWN or any(sign in str(error) for sign in _SIGNS)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and named)
