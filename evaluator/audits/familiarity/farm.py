"""Where the parts of a corpus are counted: in processes of this machine, or on a Ray cluster."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from threading import Thread

import pyarrow as pa

from evaluator.audits.familiarity.corpora import Part
from evaluator.audits.familiarity.part_counts import Counted, count_texts
from evaluator.audits.familiarity.reading import Reading

PartCounts = tuple[Part, pa.Table, Counted]
"""A part, and what `count_texts` gives for it."""


@dataclass(frozen=True)
class Farm:
    """`workers` processes on this machine, or (`ray`) tasks on the Ray cluster at `address`, None to start one here. Without a number
    there is one for each core of the machine or cluster."""

    workers: int | None = 1
    ray: bool = False
    address: str | None = None

    def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
        """The counts of each part, as they are done; no more than two parts a worker are read ahead.

        Raises UserError if there is no cluster at `address`, or its nodes cannot count.
        """
        if self.ray:
            from evaluator.audits.familiarity.on_ray import count_on_ray

            yield from count_on_ray(parts, reading, self.workers, self.address)
        elif self.workers == 1:
            yield from ((part, *count_texts(part, reading)) for part in parts)
        else:
            yield from _count_here(parts, reading, self.workers or os.cpu_count() or 1)


def _count_here(parts: Iterable[Part], reading: Reading, workers: int) -> Iterator[PartCounts]:
    with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
        running: dict[Future[tuple[pa.Table, Counted]], Part] = {}
        for part in parts:
            running[pool.submit(count_texts, part, reading)] = part
            if len(running) > 2 * workers:
                for each in wait(running, return_when=FIRST_COMPLETED).done:
                    yield (running.pop(each), *each.result())
        for each, part in running.items():
            yield (part, *each.result())


def _end_with_parent() -> None:
    """End this process when its parent does. A worker of a parent that was killed would wait for its next part forever, since it holds
    the other end of its own queue."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
