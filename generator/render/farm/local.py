"""Render on this machine: worker processes that may crash, hang or be killed without harm to the rest."""

import os
import selectors
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from generator.plan.record import Planned
from generator.render.farm.attempts import Answer, Attempts, given_up
from generator.render.farm.process import WorkerProcess


@dataclass(frozen=True)
class Limits:
    """`timeout`: seconds that a scene may take before its worker counts as hung. `scenes`: how many a worker renders before a
    fresh one takes its place, so that what Blender does not give back stays little."""

    timeout: float = 600.0
    scenes: int = 500


def default_workers() -> int:
    """One worker for each core that this process may use: scene updates and files do not spread over threads."""
    return len(os.sched_getaffinity(0))


def shares(workers: int) -> list[list[int]]:
    """The cores of each worker, none shared while there are enough: the denoiser starts a thread for every core it sees."""
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::workers] or [cores[i % len(cores)]] for i in range(workers)]


def render_scenes(
    jobs: Iterable[Planned], setup: dict[str, Any], workers: int, limits: Limits | None = None
) -> Iterator[Answer]:
    """Render `jobs` on `workers` processes; yields one answer a scene, as each is done, in any order.

    An answer is {"scene": record} or {"scene_id", "cluster_id", "failed": reason}. A scene whose worker crashes or hangs
    is given to another one; one that fails twice is answered as failed. A scene whose worker is killed from outside is
    given to another one. Raises UserError when nothing can be rendered at all (Blender does not load, the disk is full).
    """
    pool = _Pool(Attempts(jobs), setup, limits or Limits())
    try:
        yield from pool.answers(workers)
    finally:
        pool.close()


class _Pool:
    """The workers under way; each that ends while scenes wait is replaced."""

    def __init__(self, attempts: Attempts, setup: dict[str, Any], limits: Limits):
        self._attempts, self._setup, self._limits = attempts, setup, limits
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerProcess] = []
        self._heirs: dict[WorkerProcess, WorkerProcess] = {}  # who starts up to take whose place
        self._suspects: set[WorkerProcess] = set()  # who failed a scene and gets no other

    def answers(self, workers: int) -> Iterator[Answer]:
        for cores in shares(workers):
            if self._attempts.waiting():
                self._start(cores)
        while self._workers:
            for key, _ in self._selector.select(min(worker.patience() for worker in self._workers)):
                yield from self._listen(key.data)
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

    def _listen(self, worker: WorkerProcess) -> Iterator[Answer]:
        said = worker.answers()
        if said is None:
            yield from self._bury(worker)
            return
        for answer in said:
            if "ready" in answer:
                worker.ready = True
                self._attempts.started()
            else:
                yield from self._answered(worker, answer)
            self._employ(worker)

    def _answered(self, worker: WorkerProcess, answer: Answer) -> list[Answer]:
        job, worker.job = worker.job, None
        worker.made += 1
        if "scene" in answer or job is None:
            return [answer]
        if answer.get("final"):
            return [given_up(job, answer["failed"])]
        self._suspects.add(worker)
        return self._attempts.failed(job, answer["failed"])

    def _employ(self, worker: WorkerProcess) -> None:
        """Give a worker its next scene, or let it go: there is none, its heir is ready, or it failed the last."""
        heir = self._heirs.get(worker)
        if not self._attempts.waiting() or worker in self._suspects or (heir is not None and heir.ready):
            worker.dismiss()
            return
        if worker.made >= self._limits.scenes and heir is None:
            self._heirs[worker] = self._start(worker.cores)
        worker.give(self._attempts.take())

    def _bury(self, worker: WorkerProcess) -> Iterator[Answer]:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        killed, reason = worker.end()
        if worker.job is not None:
            note = self._attempts.killed if killed else self._attempts.failed
            yield from note(worker.job, reason)
        elif not worker.ready:
            self._attempts.stillborn(killed, reason)
        if self._heirs.pop(worker, None) is None and self._attempts.waiting():
            self._replace(worker)

    def _replace(self, worker: WorkerProcess) -> None:
        started = self._start(worker.cores)
        for other, heir in self._heirs.items():
            if heir is worker:
                self._heirs[other] = started
