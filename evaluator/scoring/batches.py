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


@dataclass(frozen=True)
class Settings:
    """How to compute: device, `float32` or `bfloat16`, batch size, and threads that load images.

    `batch` None: DEFAULT. `workers` None: one thread per processor core, at most 8.
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
    """Inputs to compute, each to one vector with a name.

    item: the word for an input, such as "text". total: the number of inputs; their rows are 0 …
        total − 1. names: the
    names of rows, all distinct. plan: the rows of each batch, for a batch size. images: ids of the
    images that rows
    need. load: loads an image by its id; called in threads. compute: vectors of n rows, float32 (n,
    d), given {id:
    loaded image}. units: splits the rows of a batch into units that stay together when memory runs
    out; by default
    single rows. Rows are integer arrays.
    """

    item: str
    total: int
    names: Callable[[np.ndarray], list[str]]
    plan: Callable[[int], Sequence[np.ndarray]]
    images: Callable[[np.ndarray], list[str]]
    load: Callable[[str], Any]
    compute: Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]
    units: Callable[[np.ndarray], Sequence[Any]] = list


def plan_batches(n: int, batch: int) -> list[np.ndarray]:
    """Rows 0 … n − 1 in order, in batches of at most `batch` rows.

    >>> [len(part) for part in plan_batches(40, 16)]
    [16, 16, 8]
    """
    return [np.arange(start, min(start + batch, n)) for start in range(0, n, batch)]


def compute(
    job: Job, cache: VectorCache, out: Path, settings: Settings, process: Process
) -> np.ndarray | None:
    """Run this process's share of a job, and store the vectors of each batch as soon as they are
    computed.

    out: the run's folder. Returns the vectors of all rows, float32 (total, d), as
        `VectorStore.gather` does; None in
    processes other than the main one.
    """
    with VectorStore(cache, out, f"{job.item}s", process) as store:
        _run(job, store, settings, process)
        return store.gather(job.names, job.total) if process.is_main else None


def _run(job: Job, store: VectorStore, settings: Settings, process: Process) -> None:
    known, asked = store.known(job.names, np.arange(job.total)), settings.batch or DEFAULT
    mine = [rows[~known[rows]] for rows in job.plan(asked)[process.rank :: process.count]]
    batches = [rows for rows in mine if len(rows)]
    size = BatchSize(
        max([asked, *map(len, batches)]), job.item
    )  # a plan may have larger batches than asked
    left = sum(map(len, batches))
    start, finished = time.perf_counter(), 0
    with settings.progress.track(f"{job.item}s", job.total, job.total - left) as advance:
        for batch, images in prefetch(batches, job.images, job.load, settings.threads):
            for _, (rows, vectors) in size.run(
                partial(_computed, job, settings, images), job.units(batch)
            ):
                store.put(job.names(rows), vectors)
                finished += len(rows)
                advance(len(rows), f"{_rate(finished / (time.perf_counter() - start))}/s")
    if process.is_main:
        rate = f", {_rate(left / (time.perf_counter() - start))} a second" if left else ""
        logger.info(f"{left:,} {job.item}s computed{rate}; {job.total - left:,} were cached.")


def _computed(
    job: Job, settings: Settings, images: Mapping[str, Any], units: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    rows = np.hstack(units)
    # by default cuDNN convolves float32 in TF32, with a mantissa of 10 bits
    with (
        torch.backends.cudnn.flags(enabled=True, allow_tf32=False),
        autocast(settings.device, settings.precision),
    ):
        return rows, job.compute(rows, images)


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


Rows = TypeVar("Rows")
_AHEAD = 2
"""Batches that are loaded ahead."""


def prefetch(
    batches: Sequence[Rows],
    images: Callable[[Rows], list[str]],
    load: Callable[[str], Any],
    threads: int,
) -> Iterator[tuple[Rows, dict[str, Any]]]:
    """Yield each batch with its images, loaded: {image: what `load` returned}.

    images: returns the images of a batch. With 0 threads, images are loaded when their batch is
        due.
    """
    ahead = _AHEAD if threads else 0
    with ThreadPoolExecutor(max(1, threads)) as pool:
        waiting: deque[tuple[Rows, dict[str, Future[Any]]]] = deque()
        try:
            for rows in batches:
                waiting.append((rows, {image: pool.submit(load, image) for image in images(rows)}))
                if len(waiting) > ahead:
                    yield _loaded(*waiting.popleft())
            while waiting:
                yield _loaded(*waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _loaded(rows: Rows, futures: dict[str, Future[Any]]) -> tuple[Rows, dict[str, Any]]:
    return rows, {image: future.result() for image, future in futures.items()}
