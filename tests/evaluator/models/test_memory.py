"""Batches that shrink when memory runs out."""

from collections.abc import Callable, Sequence

import pytest
import torch

from evaluator.models.contracts import BatchSize
from generator.base.errors import UserError


def room_for(
    most: int, sizes: list[int], error: Exception | None = None
) -> Callable[[Sequence[int]], int]:
    """Sums its items, and has memory for so many of them; notes how many it summed."""

    def compute(items: Sequence[int]) -> int:
        if len(items) > most:
            raise error or torch.OutOfMemoryError("CUDA out of memory.")
        sizes.append(len(items))
        return sum(items)

    return compute


@pytest.mark.parametrize("most", [1, 3, 7, 100])
def test_every_item_is_computed_once_in_order(most: int, caplog: pytest.LogCaptureFixture) -> None:
    batch, sizes = BatchSize(16, "number"), list[int]()
    batches = list(batch.run(room_for(most, sizes), range(50)))
    assert [i for part, _ in batches for i in part] == list(range(50))
    assert all(total == sum(part) for part, total in batches)
    assert max(sizes) == batch.size == {1: 1, 3: 2, 7: 4, 100: 16}[most]
    assert ("continuing with batches of" in caplog.text) == (most < 16)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_finished_batches_are_kept_and_an_item_too_large_alone_is_refused(error: Exception) -> None:
    batch, finished = BatchSize(4, "text"), list[int]()
    big = 6

    def compute(items: Sequence[int]) -> int:
        if big in items:
            raise error
        return len(items)

    batches = batch.run(compute, range(10))
    with pytest.raises(
        UserError,
        match=r"^Not enough memory for one text; choose --device cpu or a smaller model\.",
    ):
        finished.extend(i for part, _ in batches for i in part)
    assert finished == [0, 1, 2, 3, 4, 5]


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="something else"):
        list(BatchSize(4, "text").run(room_for(2, [], RuntimeError("something else")), range(4)))
