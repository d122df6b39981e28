"""Work in batches: what is known is left out, memory decides how large a batch is, and nothing is lost or done twice."""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from evaluator.models.device import autocast, out_of_memory
from evaluator.scoring.distributed import Rank, Store
from generator.dataset.commands import progress, say
from generator.dataset.errors import UserError

FIRST = 8
"""Size of the first two batches, which tell how long the rest takes."""
DEFAULT = 128
_MOST = 512
_AHEAD = 2
_SHARE = 0.6


@dataclass(frozen=True)
class Settings:
    """How to compute. batch None: as memory allows on a GPU, else 128; precision: `float32` or `bfloat16`."""

    device: torch.device
    precision: str = "float32"
    batch: int | None = None
    workers: int | None = None

    @property
    def threads(self) -> int:
        """How many threads decode images ahead."""
        return min(8, os.cpu_count() or 1) if self.workers is None else self.workers


@dataclass(frozen=True)
class Job:
    """Named inputs, each of which comes to one vector.

    plan: rows of each batch, for a size; all batches but the first two are of that size or less. images: what rows need
    from the disk; load: one of these, in a thread; compute: vectors (n, d) of n rows, given what was loaded.
    """

    what: str
    names: list[str]
    plan: Callable[[int], list[list[int]]]
    images: Callable[[list[int]], list[str]]
    load: Callable[[str], Any]
    compute: Callable[[list[int], Mapping[str, Any]], np.ndarray]


def plain_plan(n: int, batch: int) -> list[list[int]]:
    """Rows 0..n−1 in their order: two batches of 8, then as large as asked.

    >>> [len(part) for part in plain_plan(40, 16)]
    [8, 8, 16, 8]
    """
    first = min(FIRST, batch)
    starts = [0, first, *range(2 * first, n, batch)]
    ends = [*starts[1:], n]
    return [list(range(a, min(b, n))) for a, b in zip(starts, ends, strict=True) if a < n]


class Stage:
    """A job under way, for the share of it that is this process's."""

    def __init__(self, job: Job, store: Store, rank: Rank, settings: Settings):
        self._job, self._store, self._rank, self._settings = job, store, rank, settings
        self._known = set(store.get(job.names))
        self._limit = settings.batch or DEFAULT
        self._short = False  # of memory, once it ran out
        self._pace = math.nan
        self.total = len(job.names)
        self.known = sum(name in self._known for name in job.names)

    def warm_up(self) -> None:
        """Do the first batches, which tell the pace and, on a GPU where no size was asked for, how large a batch may be."""
        for rows in self._open(self._job.plan(self._limit))[:2]:
            before = _watch(self._settings.device)
            start = time.perf_counter()
            self._run([rows], None)
            self._pace = (time.perf_counter() - start) / len(rows)
            if self._settings.batch is None and self._rank.size == 1 and before is not None:
                self._limit = fitting_batch(self._settings.device, before, len(rows))

    @property
    def seconds(self) -> float:
        """About how long what is left takes, at the pace of the first batches; 0 where nothing is left."""
        left = sum(len(rows) for rows in self._open(self._job.plan(self._limit)))
        return left * self._pace if left else 0.0

    @property
    def limit(self) -> int:
        """Rows a batch."""
        return self._limit

    def finish(self) -> None:
        """Do the rest."""
        batches = self._open(self._job.plan(self._limit))
        left = sum(map(len, batches))
        if not left:
            return
        start, finished = time.perf_counter(), 0
        with progress() as bar:
            task = bar.add_task(self._job.what, total=self.total, completed=self.total - left, note="")

            def done(n: int) -> None:
                nonlocal finished
                finished += n
                bar.update(task, advance=n, note=f"{_rate(finished / (time.perf_counter() - start))}/s")

            self._run(batches, done)
        seconds = time.perf_counter() - start
        if self._rank.first:
            say(f"{left:,} {self._job.what} in {duration(seconds)}: {_rate(left / seconds)} a second.")

    def _open(self, batches: list[list[int]]) -> list[list[int]]:
        """This process's batches, without the rows that are known."""
        mine = (rows for i, rows in enumerate(batches) if self._rank.mine(i))
        left = ([row for row in rows if self._job.names[row] not in self._known] for rows in mine)
        return [rows for rows in left if rows]

    def _run(self, batches: Sequence[list[int]], done: Callable[[int], None] | None) -> None:
        for rows, loaded in _ahead(batches, self._job, self._settings.threads):
            place = 0
            while place < len(rows):
                part = slice(place, place + self._limit if self._short else None)
                try:
                    with autocast(self._settings.device, self._settings.precision):
                        vectors = self._job.compute(rows[part], loaded)
                except (RuntimeError, MemoryError) as error:
                    if not out_of_memory(error):
                        raise
                    self._shrink(len(rows[part]))
                    continue
                names = [self._job.names[row] for row in rows[part]]
                self._store.put(names, vectors)
                self._known.update(names)
                place += len(names)
                if done:
                    done(len(names))

    def _shrink(self, tried: int) -> None:
        if tried == 1:
            raise UserError(
                f"The {_memory_of(self._settings.device)} has no memory for one of the {self._job.what}; choose --device cpu or a smaller "
                "model. What is finished is kept."
            )
        self._short = True
        while self._limit >= tried:
            self._limit //= 2
        if self._settings.device.type == "cuda":
            torch.cuda.empty_cache()
        say(f"Out of memory: going on with batches of {self._limit}.")


def fitting_batch(device: torch.device, before: int, rows: int) -> int:
    """The power of two, 8..512, that fits into 60% of the free memory, by what a batch of so many rows took at its peak."""
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


def _watch(device: torch.device) -> int | None:
    """Bytes in use before a batch whose peak is to be measured; None where that cannot be."""
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _memory_of(device: torch.device) -> str:
    return "computer" if device.type == "cpu" else "GPU"


def _ahead(batches: Sequence[list[int]], job: Job, threads: int) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Each batch with the images that it needs; those of the next two are loaded meanwhile, where there are threads for it."""
    if threads == 0:
        for rows in batches:
            yield rows, {image: job.load(image) for image in job.images(rows)}
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[list[int], dict[str, Future[Any]]]] = deque()
        try:
            for rows in batches:
                waiting.append((rows, {image: pool.submit(job.load, image) for image in job.images(rows)}))
                if len(waiting) > _AHEAD:
                    yield _loaded(*waiting.popleft())
            while waiting:
                yield _loaded(*waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _loaded(rows: list[int], futures: dict[str, Future[Any]]) -> tuple[list[int], dict[str, Any]]:
    return rows, {image: future.result() for image, future in futures.items()}
