"""Batched, resumable execution: skips cached inputs, halves batches that run out of memory."""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from evaluator.models.contracts import BatchSize
from evaluator.models.network import autocast
from evaluator.scoring.store import Process, VectorCache, VectorStore
from generator.base.progress import SILENT, Progress

logger = logging.getLogger(__name__)
DEFAULT = 128
"""Default number of rows in a batch."""


_MOST_THREADS = 8
"""The most threads that load images by default; more would wait for the model."""


@dataclass(frozen=True)
class Settings:
    """How to compute."""

    device: torch.device
    """The device of the model."""
    precision: str = "float32"
    """`float32` or `bfloat16`."""
    batch: int | None = None
    """Rows in a batch; None: DEFAULT."""
    workers: int | None = None
    """Threads that load images; None: one per processor core, at most 8. 0: none."""
    progress: Progress = SILENT
    """Follows the batches."""

    @property
    def threads(self) -> int:
        """Threads that load images ahead of the model."""
        if self.workers is not None:
            return self.workers
        return min(_MOST_THREADS, os.cpu_count() or 1)


@dataclass(frozen=True)
class Job:
    """Inputs to compute, each to one vector with a name. Rows of inputs are arrays of integers."""

    item: str
    """The word for an input, such as "text"."""
    total: int
    """The number of inputs; their rows are 0 … total − 1."""
    names: Callable[[np.ndarray], list[str]]
    """The names of rows, all distinct, under which vectors are stored."""
    plan: Callable[[int], Sequence[np.ndarray]]
    """The rows of each batch, for a batch size."""
    images: Callable[[np.ndarray], list[str]]
    """The ids of the images that rows need."""
    load: Callable[[str], Any]
    """Loads an image by its id; called in threads."""
    compute: Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]
    """Vectors of n rows, float32 (n, d), from the rows and their loaded images by id."""
    units: Callable[[np.ndarray], Sequence[Any]] = list
    """Splits the rows of a batch into units that stay together when memory runs out; by default
    single rows."""


def plan_batches(n: int, batch: int) -> list[np.ndarray]:
    """Rows 0 … n − 1 in order, in batches of at most `batch` rows.

    >>> [len(part) for part in plan_batches(40, 16)]
    [16, 16, 8]
    """
    return [np.arange(start, min(start + batch, n)) for start in range(0, n, batch)]


def compute(
    job: Job, cache: VectorCache, *, out: Path, settings: Settings, process: Process
) -> np.ndarray | None:
    """Run this process's share of a job, and store the vectors of each batch as soon as they are
    computed.

    Args:
        job: The inputs, and how they are computed.
        cache: The cache of all runs; what it has is not computed again.
        out: The folder of the run, through which processes share their results.
        settings: Device, precision, batch size and threads.
        process: This process.

    Returns:
        The vectors of all rows, float32 (total, d), as `VectorStore.gather` does; None in processes
        other than the main one.

    Raises:
        UserError: There is not enough memory for a single unit, or another process has stopped.
    """
    with VectorStore(cache, out, kind=f"{job.item}s", process=process) as store:
        _run(job, store, settings=settings, process=process)
        return store.gather(job.names, job.total) if process.is_main else None


def _run(job: Job, store: VectorStore, *, settings: Settings, process: Process) -> None:
    """Compute the rows of this process's batches that are not stored yet."""
    requested = settings.batch or DEFAULT
    known = store.known(job.names, np.arange(job.total))
    # Processes take turns in the plan, so each computes its batches whatever the others do.
    own_batches = job.plan(requested)[process.rank :: process.count]
    unknown_rows = [rows[~known[rows]] for rows in own_batches]
    batches = [rows for rows in unknown_rows if len(rows)]
    left = sum(len(rows) for rows in batches)
    # A plan may have larger batches than requested.
    largest = max((len(rows) for rows in batches), default=0)
    size = BatchSize(max(requested, largest), job.item)

    start = time.perf_counter()
    finished = 0
    with settings.progress.track(f"{job.item}s", job.total, job.total - left) as advance:
        loaded = prefetch(batches, images=job.images, load=job.load, threads=settings.threads)
        for batch, images in loaded:
            compute_units = partial(_compute_units, job, settings, images)
            for _, (rows, vectors) in size.run(compute_units, job.units(batch)):
                store.put(job.names(rows), vectors)
                finished += len(rows)
                rate_so_far = finished / (time.perf_counter() - start)
                advance(len(rows), f"{_rate(rate_so_far)}/s")
    if process.is_main:
        rate = f", {_rate(left / (time.perf_counter() - start))} a second" if left else ""
        logger.info(f"{left:,} {job.item}s computed{rate}; {job.total - left:,} were cached.")


def _compute_units(
    job: Job, settings: Settings, images: Mapping[str, Any], units: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of some units, and their vectors."""
    rows = np.hstack(units)
    # By default cuDNN convolves float32 in TF32, with a mantissa of 10 bits.
    full_precision = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    with full_precision, autocast(settings.device, settings.precision):
        return rows, job.compute(rows, images)


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


Rows = TypeVar("Rows")
_BATCHES_AHEAD = 2
"""Batches that are loaded ahead: enough to hide loading, few enough for memory."""


def prefetch(
    batches: Sequence[Rows],
    *,
    images: Callable[[Rows], list[str]],
    load: Callable[[str], Any],
    threads: int,
) -> Iterator[tuple[Rows, dict[str, Any]]]:
    """Yield each batch with its images, loaded ahead in threads.

    Args:
        batches: The batches.
        images: The ids of the images of a batch.
        load: Loads an image.
        threads: Number of threads. With 0, images are loaded when their batch is due.

    Yields:
        The batch, and what `load` returned by image.
    """
    most_ahead = _BATCHES_AHEAD if threads else 0
    with ThreadPoolExecutor(max(1, threads)) as pool:
        waiting: deque[tuple[Rows, dict[str, Future[Any]]]] = deque()
        try:
            for rows in batches:
                futures = {image: pool.submit(load, image) for image in images(rows)}
                waiting.append((rows, futures))
                if len(waiting) > most_ahead:
                    yield _wait_for_images(*waiting.popleft())
            while waiting:
                yield _wait_for_images(*waiting.popleft())
        finally:
            # Reached also when the consumer stops early: what is not begun is not loaded.
            pool.shutdown(wait=False, cancel_futures=True)


def _wait_for_images(rows: Rows, futures: dict[str, Future[Any]]) -> tuple[Rows, dict[str, Any]]:
    return rows, {image: future.result() for image, future in futures.items()}
