"""Render on this machine, in worker processes. One that crashes, hangs or is killed does not stop the others."""

import os
import selectors
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from generator.render.farm.attempts import Answer, Attempts, given_up
from generator.render.farm.process import WorkerProcess
from generator.scene.planned import Planned


@dataclass(frozen=True)
class Limits:
    """Limits of a worker process.

    `timeout`: seconds after which a worker without an answer counts as hung. `scenes`: how many it renders before a new
    worker replaces it, because Blender's memory grows.
    """

    timeout: float = 600.0
    scenes: int = 500


def default_workers() -> int:
    """The number of cores that this process may use: one worker each, since much of a render uses one thread."""
    return len(os.sched_getaffinity(0))


def cores_of_workers(workers: int) -> list[list[int]]:
    """The core numbers of each worker, disjoint if there are enough: the denoiser starts a thread on every core it sees."""
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::workers] or [cores[i % len(cores)]] for i in range(workers)]


def render_scenes(
    jobs: Iterable[Planned], setup: dict[str, Any], workers: int, limits: Limits | None = None
) -> Iterator[Answer]:
    """Render `jobs` in `workers` processes; yields one answer per scene, in the order in which they finish.

    `setup` is what each worker is sent first (run.worker_setup). An answer is {"scene": record} or {"scene_id",
    "cluster_id", "twin_of", "failed": reason}. A scene whose worker crashes, hangs or is killed goes to another worker;
    a scene that fails twice is answered as failed. Raises UserError if nothing can be rendered at all, as when Blender
    does not load or the disk is full.
    """
    pool = _Pool(Attempts(jobs), setup, limits or Limits())
    try:
        yield from pool.answers(workers)
    finally:
        pool.close()


class _Pool:
    """The running workers. A worker that ends while scenes are waiting is replaced."""

    def __init__(self, attempts: Attempts, setup: dict[str, Any], limits: Limits):
        self._attempts, self._setup, self._limits = attempts, setup, limits
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerProcess] = []
        self._successors: dict[WorkerProcess, WorkerProcess] = {}  # by the worker that each is to replace
        self._failed_workers: set[WorkerProcess] = set()  # they failed a scene and get no other

    def answers(self, workers: int) -> Iterator[Answer]:
        for cores in cores_of_workers(workers):
            if self._attempts.waiting():
                self._start(cores)
        while self._workers:
            for key, _ in self._selector.select(min(worker.seconds_left() for worker in self._workers)):
                yield from self._read(key.data)
            for worker in self._workers:
                worker.kill_if_overdue()

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        self._selector.close()

    def _start(self, cores: list[int]) -> WorkerProcess:
        worker = WorkerProcess(self._setup, cores, self._limits.timeout)
        self._workers.append(worker)
        self._selector.register(worker, selectors.EVENT_READ, worker)
        return worker

    def _read(self, worker: WorkerProcess) -> Iterator[Answer]:
        answers = worker.answers()
        if answers is None:
            yield from self._handle_exit(worker)
            return
        for answer in answers:
            if "ready" in answer:
                worker.ready = True
                self._attempts.started()
            else:
                yield from self._handle_answer(worker, answer)
            self._give_next(worker)

    def _handle_answer(self, worker: WorkerProcess, answer: Answer) -> list[Answer]:
        job, worker.job = worker.job, None
        worker.made += 1
        if "scene" in answer or job is None:
            return [answer]
        if answer.get("final"):
            return [given_up(job, answer["failed"])]
        self._failed_workers.add(worker)
        return self._attempts.failed(job, answer["failed"])

    def _give_next(self, worker: WorkerProcess) -> None:
        """Give a worker its next scene. Let it end if there is none, its successor is ready, or it failed its last scene."""
        successor = self._successors.get(worker)
        if (
            not self._attempts.waiting()
            or worker in self._failed_workers
            or (successor is not None and successor.ready)
        ):
            worker.dismiss()
            return
        if worker.made >= self._limits.scenes and successor is None:
            self._successors[worker] = self._start(worker.cores)
        worker.give(self._attempts.take())

    def _handle_exit(self, worker: WorkerProcess) -> Iterator[Answer]:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        killed, reason = worker.end()
        if worker.job is not None:
            note = self._attempts.killed if killed else self._attempts.failed
            yield from note(worker.job, reason)
        elif not worker.ready:
            self._attempts.not_started(killed, reason)
        if self._successors.pop(worker, None) is None and self._attempts.waiting():
            self._start_replacement(worker)

    def _start_replacement(self, worker: WorkerProcess) -> None:
        started = self._start(worker.cores)
        for other, successor in self._successors.items():
            if successor is worker:
                self._successors[other] = started
