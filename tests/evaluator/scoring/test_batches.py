"""Jobs in batches: what is known is skipped, processes share, images load ahead."""

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.scoring.batches import BatchRunner, Job, Settings, plan_batches, prefetch
from evaluator.scoring.store import Process, VectorCache, VectorStore

N = 50


class Squares:
    """The squares of 0 … 49 as a job that has memory for `room` rows; notes the rows of each batch."""

    def __init__(self, room: int = N):
        self.batches: list[list[int]] = []
        self._room = room
        self.job = Job("number", N, self._names, partial(plan_batches, N), self._images, int, self._compute)

    def _names(self, rows: np.ndarray) -> list[str]:
        return [f"n{row}" for row in rows]

    def _images(self, rows: np.ndarray) -> list[str]:
        return [str(row) for row in rows]

    def _compute(self, rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        if len(rows) > self._room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        assert [images[str(row)] for row in rows] == rows.tolist()
        self.batches.append(rows.tolist())
        return np.array([[row**2] for row in rows], dtype=np.float32)


def _store(folder: Path, process: Process = Process()) -> VectorStore:  # noqa: B008
    return VectorStore(VectorCache(folder / "cache.sqlite"), folder, "numbers", process)


def _settings(batch: int | None = 16, workers: int = 0) -> Settings:
    return Settings(torch.device("cpu"), batch=batch, workers=workers)


@pytest.mark.parametrize("workers", [0, 3])
def test_each_row_is_computed_once_and_stored(tmp_path: Path, workers: int) -> None:
    squares, process = Squares(), Process()
    with _store(tmp_path) as store:
        runner = BatchRunner(squares.job, store, process, _settings(workers=workers))
        runner.finish()
        assert list(map(len, squares.batches)) == [16, 16, 16, 2]
        found = store.get(squares.job.names(np.arange(N)))
    assert [found[f"n{i}"].item() for i in range(N)] == [i**2 for i in range(N)]


def test_what_is_known_is_skipped_and_the_batches_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    squares = Squares()
    with _store(tmp_path) as store:
        store.put([f"n{i}" for i in (3, *range(16, 32))], np.zeros((17, 1)))
        runner = BatchRunner(squares.job, store, Process(), _settings())
        runner.finish()
        assert "33 numbers computed, " in caplog.text
        assert "; 17 were there." in caplog.text
    assert squares.batches == [[*range(3), *range(4, 16)], [*range(32, 48)], [48, 49]]


def test_processes_take_turns(tmp_path: Path) -> None:
    shares = []
    for rank in (0, 1):
        squares, process = Squares(), Process(rank, 2)
        with _store(tmp_path, process) as store:
            runner = BatchRunner(squares.job, store, process, _settings())
            runner.finish()
        shares.append([len(rows) for rows in squares.batches])
    assert shares == [[16, 16], [16, 2]]


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
