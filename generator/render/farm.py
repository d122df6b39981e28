"""Where to render: on this machine or on a Ray cluster. The files are the same."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol

from generator.render.process import Answer, Worker
from generator.scene.planned import Job

logger = logging.getLogger(__name__)
_TIMEOUT = 600.0


def default_workers() -> int:
    """The number of cores that this process may use: one worker per core, since much of a render
    uses one thread."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Farm:
    """`workers` render processes, on this machine or (`ray`) on a Ray cluster.

    `address`: of the cluster; None uses RAY_ADDRESS, or starts a cluster here. `gpus`: names of the
    GPUs of this
    machine, one for each worker in turn; if empty, each worker uses all devices.
    """

    workers: int = field(default_factory=default_workers)
    ray: bool = False
    address: str | None = None
    gpus: tuple[str, ...] = ()

    def render(
        self, jobs: Iterable[Job], number: int, setup: dict[str, Any], timeout: float = _TIMEOUT
    ) -> Iterator[Answer]:
        """Render `number` scenes; yields one answer per scene, in the order in which they finish.

        `setup`: the first message to each process (run.worker_setup). `timeout`: seconds after
        which a process without
        an answer counts as hung. An answer is {"scene": record} or {"scene_id", "cluster_id",
        "twin_of", "failed":
        reason}. Raises UserError if nothing can be rendered at all, such as when Blender does not
        load or the disk is
        full.
        """
        workers = min(self.workers, number)
        if self.ray and workers:
            from generator.render.ray_workers import RayWorker, connected

            with connected(self.address):
                yield from _answers(jobs, [RayWorker(setup, timeout) for _ in range(workers)])
        elif workers:
            yield from _answers(jobs, self.local_workers(workers, setup, timeout))

    def local_workers(self, workers: int, setup: Mapping[str, Any], timeout: float) -> list[Worker]:
        """The workers of this machine, each with cores and a GPU. Logs which GPU each has."""
        if not self.gpus:
            return [Worker(setup, cores, timeout) for cores in cores_of_workers(workers)]
        taken = [i % len(self.gpus) for i in range(workers)]
        given = (f"worker {i}: {self.gpus[gpu]} (GPU {gpu})" for i, gpu in enumerate(taken, 1))
        logger.info(f"Rendering with {setup['device']}; {', '.join(given)}.")
        cores = cores_of_workers(workers)
        return [
            Worker({**setup, "gpu": gpu}, own, timeout)
            for gpu, own in zip(taken, cores, strict=True)
        ]


def cores_of_workers(workers: int) -> list[list[int]]:
    """The core numbers of each worker, disjoint if there are enough: the denoiser starts a thread
    on every core it sees.
    """
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::workers] or [cores[i % len(cores)]] for i in range(workers)]


class _Renders(Protocol):
    def render(self, job: Job) -> Answer: ...
    def close(self) -> None: ...


def _answers(jobs: Iterable[Job], workers: Sequence[_Renders]) -> Iterator[Answer]:
    """Render in one thread per worker, which waits for the worker's process. This thread takes jobs
    when needed."""
    rest, idle = iter(jobs), SimpleQueue[_Renders]()
    for worker in workers:
        idle.put(worker)

    def answer(job: Job) -> Answer:
        worker = idle.get()
        try:
            return worker.render(job)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(len(workers)) as threads:
        try:
            pending: set[Future[Answer]] = {
                threads.submit(answer, job) for job in islice(rest, 2 * len(workers))
            }
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for each in done:
                    pending |= {threads.submit(answer, job) for job in islice(rest, 1)}
                    yield each.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.close()
