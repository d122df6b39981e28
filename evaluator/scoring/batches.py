"""Batched, resumable execution: skips cached inputs, sizes batches to memory, retries after running out of it."""

import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch

from evaluator.models.contracts import BatchSize
from evaluator.models.network import autocast
from evaluator.scoring.distributed import Process, VectorStore
from generator.base.progress import SILENT, Progress

logger = logging.getLogger(__name__)
FIRST = 8
"""Size of the first two batches, which are timed to estimate the rest."""
DEFAULT = 128
_MOST = 512
_SHARE = 0.6
"""Share of a GPU's free memory that a batch may take."""


@dataclass(frozen=True)
class Settings:
    """How to compute: device, `float32` or `bfloat16`, batch size, and threads that load images.

    `batch` None: as a GPU's memory allows, else 128. `workers` None: one thread per processor core, at most 8.
    `progress`: follows the batches.
    """

    device: torch.device
    precision: str = "float32"
    batch: int | None = None
    workers: int | None = None
    progress: Progress = SILENT

    @property
    def threads(self) -> int:
        """Threads that load images ahead of the model."""
        return min(8, os.cpu_count() or 1) if self.workers is None else self.workers


@dataclass(frozen=True)
class Job:
    """Inputs that are each computed to one vector, under a name.

    item: what one input is, such as "text". total: their number; a row is one of them, 0 … total − 1. names: of some
    rows, all distinct. plan: the rows of each batch for a batch size; all batches but the first two have that size or
    less. images: ids of the images that rows need. load: one of them, called in threads. compute: vectors, float32 (n,
    d), of n rows, given {id: loaded image}. Rows are arrays of integers.
    """

    item: str
    total: int
    names: Callable[[np.ndarray], list[str]]
    plan: Callable[[int], Sequence[np.ndarray]]
    images: Callable[[np.ndarray], list[str]]
    load: Callable[[str], Any]
    compute: Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]


def plan_batches(n: int, batch: int) -> list[np.ndarray]:
    """Rows 0 … n − 1 in order: two batches of at most 8, then batches of the given size.

    >>> [len(part) for part in plan_batches(40, 16)]
    [8, 8, 16, 8]
    """
    first = min(FIRST, batch)
    starts = [0, first, *range(2 * first, n, batch)]
    ends = [*starts[1:], n]
    rows = np.arange(n)
    return [rows[a:b] for a, b in zip(starts, ends, strict=True) if a < n]


class BatchRunner:
    """Runs this process's share of a job, and stores the vectors of each batch as soon as they are computed.

    `total` counts the inputs of the job, `known` those that are in the store already.
    """

    def __init__(self, job: Job, store: VectorStore, process: Process, settings: Settings):
        self._job, self._store, self._process, self._settings = job, store, process, settings
        self._known = store.known(job.names, np.arange(job.total))
        self._batch = BatchSize(settings.batch or DEFAULT, job.item)
        self._seconds_per_row = math.nan
        self.total = job.total
        self.known = int(self._known.sum())

    def warm_up(self) -> None:
        """Run the first two batches: they give the pace and, on a GPU where no batch size was asked for, the batch
        size."""
        for rows in self._open_batches()[:2]:
            before = _memory_before(self._settings.device)
            start = time.perf_counter()
            self._run([rows])
            self._seconds_per_row = (time.perf_counter() - start) / len(rows)
            if self._settings.batch is None and self._process.count == 1 and before is not None:
                self._batch.size = fitting_batch(self._settings.device, before, len(rows))

    @property
    def seconds(self) -> float:
        """Estimated seconds that the rest takes, at the pace of the first batches; 0 where nothing is left."""
        left = sum(len(rows) for rows in self._open_batches())
        return left * self._seconds_per_row if left else 0.0

    @property
    def batch_size(self) -> int:
        """Rows in a batch."""
        return self._batch.size

    def finish(self) -> None:
        """Run all batches that are left."""
        batches = self._open_batches()
        left = sum(map(len, batches))
        if not left:
            return
        start, finished = time.perf_counter(), 0
        with self._settings.progress.track(f"{self._job.item}s", self.total, self.total - left) as advance:

            def done(n: int) -> None:
                nonlocal finished
                finished += n
                advance(n, f"{_rate(finished / (time.perf_counter() - start))}/s")

            self._run(batches, done)
        seconds = time.perf_counter() - start
        if self._process.is_main:
            logger.info(f"{left:,} {self._job.item}s in {duration(seconds)}: {_rate(left / seconds)} a second.")

    def gather(self) -> np.ndarray:
        """The vectors of all rows, float32 (total, d), as `VectorStore.gather` returns them. Only for the main
        process."""
        return self._store.gather(self._job.names, self.total)

    def _open_batches(self) -> list[np.ndarray]:
        """This process's batches at the present batch size, without rows that are known."""
        batches = self._job.plan(self._batch.size)
        mine = (rows for i, rows in enumerate(batches) if self._process.owns(i))
        left = (rows[~self._known[rows]] for rows in mine)
        return [rows for rows in left if len(rows)]

    def _run(self, batches: Sequence[np.ndarray], done: Callable[[int], None] = lambda n: None) -> None:
        for batch, images in prefetch(batches, self._job.images, self._job.load, self._settings.threads):
            compute = partial(self._compute, batch, images)
            for places, vectors in self._batch.run(compute, range(len(batch)), planned=True):
                rows = batch[list(places)]
                self._store.put(self._job.names(rows), vectors)
                self._known[rows] = True
                done(len(rows))

    def _compute(self, batch: np.ndarray, images: Mapping[str, Any], places: Sequence[int]) -> np.ndarray:
        with autocast(self._settings.device, self._settings.precision):
            return self._job.compute(batch[list(places)], images)


def announce_time(runners: Sequence[BatchRunner], process: Process) -> None:
    """Announce about how long the rest takes, after the first batches."""
    seconds = sum(runner.seconds for runner in runners)
    if process.is_main and seconds:
        share = f" for this process's share, one of {process.count}" if process.count > 1 else ""
        logger.info(
            f"About {duration(seconds)}{share}: an estimate from first batches of at most {FIRST}; larger ones are "
            f"often faster."
        )
    elif process.is_main:
        cached = sum(runner.known for runner in runners)
        logger.info(
            f"Nothing is left to compute ({cached:,} were cached)." if cached else "Nothing is left to compute."
        )


def fitting_batch(device: torch.device, before: int, rows: int) -> int:
    """The largest power of two, 8 … 512, that fits into 60% of a GPU's free memory.

    `before`: bytes that were allocated before a batch of `rows` rows, whose peak the device has recorded.
    """
    each = max(1, (torch.cuda.max_memory_allocated(device) - before) / rows)
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(min(_MOST, max(FIRST, 2 ** math.floor(math.log2(max(1.0, _SHARE * free / each))))))


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.4), duration(95), duration(7330)
    ('1 s', '1 min 35 s', '2 h 2 min')
    """
    whole = max(1, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _memory_before(device: torch.device) -> int | None:
    """Bytes allocated on a GPU, whose peak is recorded from now on; None on other devices."""
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


Rows = TypeVar("Rows")
_AHEAD = 2
"""Batches that are loaded ahead."""


def prefetch(
    batches: Sequence[Rows], images: Callable[[Rows], list[str]], load: Callable[[str], Any], threads: int
) -> Iterator[tuple[Rows, dict[str, Any]]]:
    """Yield each batch with its images, loaded: {image: what `load` returned}.

    `images` names the images of a batch. With 0 threads images are loaded when their batch is due.
    """
    if threads == 0:
        for rows in batches:
            yield rows, {image: load(image) for image in images(rows)}
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Rows, dict[str, Future[Any]]]] = deque()
        try:
            for rows in batches:
                waiting.append((rows, {image: pool.submit(load, image) for image in images(rows)}))
                if len(waiting) > _AHEAD:
                    yield _loaded(*waiting.popleft())
            while waiting:
                yield _loaded(*waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _loaded(rows: Rows, futures: dict[str, Future[Any]]) -> tuple[Rows, dict[str, Any]]:
    return rows, {image: future.result() for image, future in futures.items()}
