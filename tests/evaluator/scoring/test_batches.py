"""Jobs in batches: what is known is skipped, processes share, images load ahead."""

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.scoring.batches import Job, Settings, compute, plan_batches, prefetch
from evaluator.scoring.store import Process, VectorCache

N = 50


class Squares:
    """The squares of 0 … 49 as a job; notes the rows of each batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.job = Job(
            item="number",
            total=N,
            names=self._names,
            plan=partial(plan_batches, N),
            images=self._images,
            load=int,
            compute=self._compute,
        )

    def _names(self, rows: np.ndarray) -> list[str]:
        return [f"n{row}" for row in rows]

    def _images(self, rows: np.ndarray) -> list[str]:
        return [str(row) for row in rows]

    def _compute(self, rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        assert [images[str(row)] for row in rows] == rows.tolist()
        self.batches.append(rows.tolist())
        return np.array([[row**2] for row in rows], dtype=np.float32)


def _compute(
    squares: Squares, folder: Path, rank: int = 0, count: int = 1, workers: int = 0
) -> np.ndarray | None:
    settings = Settings(torch.device("cpu"), batch=16, workers=workers)
    cache = VectorCache(folder / "cache.sqlite")
    process = Process(rank, count)
    return compute(squares.job, cache, out=folder, settings=settings, process=process)


@pytest.mark.parametrize("workers", [0, 3])
def test_each_row_is_computed_once_and_stored(tmp_path: Path, workers: int) -> None:
    squares = Squares()
    squared = _compute(squares, tmp_path, workers=workers)
    assert squared is not None
    assert squared[:, 0].tolist() == [i**2 for i in range(N)]
    assert list(map(len, squares.batches)) == [16, 16, 16, 2]


def test_cached_rows_are_skipped_and_the_batches_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    squares = Squares()
    with VectorCache(tmp_path / "cache.sqlite") as cache:
        cache.put([f"n{i}" for i in (3, *range(16, 32))], np.zeros((17, 1)))
    _compute(squares, tmp_path)
    assert "33 numbers computed, " in caplog.text
    assert "; 17 were cached." in caplog.text
    assert squares.batches == [[*range(3), *range(4, 16)], [*range(32, 48)], [48, 49]]


def test_processes_take_turns(tmp_path: Path) -> None:
    first, second = Squares(), Squares()
    assert _compute(second, tmp_path, 1, 2) is None
    squared = _compute(first, tmp_path, 0, 2)
    assert [len(batch) for batch in first.batches] == [16, 16]
    assert [len(batch) for batch in second.batches] == [16, 2]
    assert squared is not None
    assert squared[:, 0].tolist() == [i**2 for i in range(N)]


BATCHES = [[0, 1], [2], [3, 4], [5]]


def _images(rows: list[int]) -> list[str]:
    return [f"i{row}" for row in rows]


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_batches_come_in_order_with_their_images(threads: int) -> None:
    loaded = list(prefetch(BATCHES, images=_images, load=str.upper, threads=threads))
    assert loaded == [(rows, {f"i{row}": f"I{row}" for row in rows}) for rows in BATCHES]


def test_no_more_than_the_next_two_batches_are_loaded_ahead() -> None:
    loaded: list[str] = []
    batches = prefetch([[i] for i in range(10)], images=_images, load=loaded.append, threads=1)
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

    batches = prefetch(BATCHES, images=_images, load=load, threads=threads)
    assert next(batches)[0] == [0, 1]
    with pytest.raises(OSError, match="damaged"):
        next(batches)


def test_threads_load() -> None:
    def load(image: str) -> str:
        return threading.current_thread().name

    batches = prefetch([[0]], images=_images, load=load, threads=2)
    names = [images["i0"] for _, images in batches]
    assert names != [threading.current_thread().name]
