"""Images are loaded ahead, and only those that are needed."""

import threading

import pytest

from evaluator.scoring.batches import prefetch

BATCHES = [[0, 1], [2], [3, 4], [5]]


def _images(rows: list[int]) -> list[str]:
    return [f"i{row}" for row in rows]


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_batches_come_in_order_with_their_images(threads: int) -> None:
    found = list(prefetch(BATCHES, _images, str.upper, threads))
    assert found == [(rows, {f"i{row}": f"I{row}" for row in rows}) for rows in BATCHES]


def test_no_more_than_the_next_two_batches_are_loaded_ahead() -> None:
    loaded: list[str] = []
    batches = prefetch([[i] for i in range(10)], _images, loaded.append, 1)
    next(batches)
    assert set(loaded) <= {"i0", "i1", "i2"}
    batches.close()  # type: ignore[attr-defined]
    assert len(loaded) <= 3


@pytest.mark.parametrize("threads", [0, 2])
def test_an_image_that_cannot_be_read_is_an_error_of_its_batch(threads: int) -> None:
    def load(image: str) -> str:
        if image == "i2":
            raise OSError("damaged")
        return image

    batches = prefetch(BATCHES, _images, load, threads)
    assert next(batches)[0] == [0, 1]
    with pytest.raises(OSError, match="damaged"):
        next(batches)


def test_threads_load() -> None:
    names = [images["i0"] for _, images in prefetch([[0]], _images, lambda image: threading.current_thread().name, 2)]
    assert names != [threading.current_thread().name]
