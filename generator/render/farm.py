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
"""Seconds after which a process without an answer counts as hung, by default."""


def default_workers() -> int:
    """Return the number of cores that this process may use.

    One worker per core is fastest, since much of a render uses one thread.
    """
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Farm:
    """Render processes on this machine or on a Ray cluster."""

    workers: int = field(default_factory=default_workers)
    """The number of processes, from 1."""
    ray: bool = False
    """Whether the processes run on a Ray cluster."""
    address: str | None = None
    """The address of the cluster; None uses RAY_ADDRESS, or starts a cluster here."""
    gpus: tuple[str, ...] = ()
    """The names of the GPUs of this machine, one for each worker in turn; if empty, each worker
    uses all devices."""

    def render(
        self, jobs: Iterable[Job], number: int, setup: dict[str, Any], timeout: float = _TIMEOUT
    ) -> Iterator[Answer]:
        """Render scenes; yields one answer per scene, in the order in which they finish.

        Args:
            jobs: The scenes.
            number: The number of scenes.
            setup: The first message to each process (run.worker_setup).
            timeout: Seconds after which a process without an answer counts as hung.

        Yields:
            {"scene": record}, or {"scene_id", "cluster_id", "twin_of", "failed": reason}.

        Raises:
            UserError: Nothing can be rendered at all, such as when Blender does not load or the
                disk is full.
        """
        workers = min(self.workers, number)
        if workers == 0:
            return
        if self.ray:
            from generator.render.ray_workers import RayWorker, connected

            with connected(self.address):
                yield from _render_all(jobs, [RayWorker(setup, timeout) for _ in range(workers)])
        else:
            yield from _render_all(jobs, self.local_workers(workers, setup, timeout))

    def local_workers(self, workers: int, setup: Mapping[str, Any], timeout: float) -> list[Worker]:
        """Make the workers of this machine, each with cores and a GPU, and log which GPU each has.

        Args:
            workers: The number of workers.
            setup: The first message to each process.
            timeout: Seconds after which a process without an answer counts as hung.

        Returns:
            The workers; their processes are not started yet.
        """
        cores = cores_of_workers(workers)
        if not self.gpus:
            return [Worker(setup, own_cores, timeout) for own_cores in cores]
        gpu_workers = []
        descriptions = []
        for i, own_cores in enumerate(cores):
            gpu = i % len(self.gpus)
            gpu_workers.append(Worker({**setup, "gpu": gpu}, own_cores, timeout))
            descriptions.append(f"worker {i + 1}: {self.gpus[gpu]} (GPU {gpu})")
        logger.info(f"Rendering with {setup['device']}; {', '.join(descriptions)}.")
        return gpu_workers


def cores_of_workers(workers: int) -> list[list[int]]:
    """Return the core numbers of each worker.

    They are disjoint if there are enough cores: the denoiser starts a thread on every core it sees.

    Args:
        workers: The number of workers.

    Returns:
        For each worker at least one core.
    """
    cores = sorted(os.sched_getaffinity(0))
    cores_by_worker = []
    for i in range(workers):
        own_cores = cores[i::workers]
        # With more workers than cores, workers share them in turn.
        cores_by_worker.append(own_cores or [cores[i % len(cores)]])
    return cores_by_worker


class _SceneRenderer(Protocol):
    """A `Worker` or a `RayWorker`."""

    def render(self, job: Job) -> Answer: ...
    def close(self) -> None: ...


def _render_all(jobs: Iterable[Job], workers: Sequence[_SceneRenderer]) -> Iterator[Answer]:
    """Render in one thread per worker, which waits for the worker's process.

    This thread takes jobs from `jobs` when they are needed, since placing scenes takes time.
    """
    waiting_jobs = iter(jobs)
    idle = SimpleQueue[_SceneRenderer]()
    for worker in workers:
        idle.put(worker)

    def render_with_idle_worker(job: Job) -> Answer:
        worker = idle.get()
        try:
            return worker.render(job)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(len(workers)) as threads:
        try:
            pending: set[Future[Answer]] = set()
            # Two jobs per worker: none waits for this thread.
            for job in islice(waiting_jobs, 2 * len(workers)):
                pending.add(threads.submit(render_with_idle_worker, job))
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    for job in islice(waiting_jobs, 1):
                        pending.add(threads.submit(render_with_idle_worker, job))
                    yield future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.close()
