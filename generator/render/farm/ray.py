"""Render on a Ray cluster. Each actor keeps a worker process on its node; the files come back to the caller."""

import os
import selectors
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ray
from filelock import FileLock, Timeout

from generator.base.errors import UserError
from generator.base.extras import connecting
from generator.base.files import write_bytes
from generator.render.farm.attempts import Answer, Attempts, given_up
from generator.render.farm.local import Limits
from generator.render.farm.process import WorkerProcess
from generator.scene.planned import Planned

_CLOSE_TIMEOUT = 10.0  # seconds


def render_on_ray(
    jobs: Iterable[Planned], setup: dict[str, Any], workers: int, limits: Limits, address: str | None
) -> Iterator[Answer]:
    """Render `jobs` on `workers` actors of a Ray cluster, one core each; yields the same answers as render_scenes.

    Raises UserError if there is no cluster at `address`, or if nothing can be rendered at all.
    """
    own = not ray.is_initialized()
    if own:
        with connecting(address):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    actors = _Actors(Attempts(jobs), setup, limits)
    try:
        yield from actors.answers(workers)
    finally:
        actors.close()
        if own:
            ray.shutdown()


class _Actors:
    """The running actors and the scene that each is rendering."""

    def __init__(self, attempts: Attempts, setup: dict[str, Any], limits: Limits):
        self._attempts, self._limits = attempts, limits
        self._folder = Path(setup["folder"])
        self._setup = {**setup, "blender": version("bpy")}
        self._actors: set[Any] = set()
        self._running: dict[Any, tuple[Any, Planned]] = {}

    def answers(self, workers: int) -> Iterator[Answer]:
        for _ in range(workers):
            self._give_next(self._start_actor())
        while self._running:
            done, _ = ray.wait(list(self._running))
            actor, job = self._running.pop(done[0])
            try:
                answer, files = ray.get(done[0])
            except ray.exceptions.RayError as error:  # its node is gone, or the actor could not be made there
                yield from self._handle_loss(actor, job, error)
                continue
            yield from self._handle_answer(job, answer, files)
            self._give_next(actor)

    def close(self) -> None:
        with suppress(ray.exceptions.RayError):
            ray.get([actor.close.remote() for actor in self._actors], timeout=_CLOSE_TIMEOUT)
        for actor in self._actors:
            ray.kill(actor)

    def _start_actor(self) -> Any:
        actor = ray.remote(num_cpus=1)(RemoteWorker).remote(self._setup, self._limits)
        self._actors.add(actor)
        return actor

    def _give_next(self, actor: Any) -> None:
        if self._attempts.waiting():
            job = self._attempts.take()
            self._running[actor.render.remote(job)] = (actor, job)

    def _handle_loss(self, actor: Any, job: Planned, error: Exception) -> list[Answer]:
        self._actors.discard(actor)
        reason = str(error).strip().splitlines()[-1]
        if isinstance(error, ray.exceptions.RayTaskError):
            raise UserError(
                f"A Ray worker cannot render: {reason}; is Jackalope of this version installed on every node?"
            )
        answers = self._attempts.killed(job, f"the Ray worker was lost ({reason})")
        self._give_next(self._start_actor())
        return answers

    def _handle_answer(self, job: Planned, answer: Answer, files: dict[str, bytes]) -> list[Answer]:
        if "broken" in answer:
            raise UserError(answer["broken"])
        if "ended" in answer and not answer["ready"]:
            self._attempts.not_started(answer["killed"], answer["ended"])
            self._attempts.put_back(job)
            return []
        self._attempts.started()
        if "ended" in answer:
            note = self._attempts.killed if answer["killed"] else self._attempts.failed
            return note(job, answer["ended"])
        if "failed" in answer:
            final = answer.get("final")
            return [given_up(job, answer["failed"])] if final else self._attempts.failed(job, answer["failed"])
        for path, data in files.items():
            if sha256(data).hexdigest() != answer["scene"]["files"][path]:
                return self._attempts.failed(job, f"{path} came back from its Ray worker with other bytes")
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._folder / path, data)
        return [answer]


class RemoteWorker:
    """A Ray actor that renders in a worker process and returns the files' bytes, so nodes need no shared disk."""

    def __init__(self, setup: dict[str, Any], limits: Limits):
        self._resources = ExitStack()
        self._folder = Path(self._resources.enter_context(tempfile.TemporaryDirectory(prefix="jackalope-")))
        self._core = _claim_core(self._resources)
        self._setup, self._limits = {**setup, "folder": str(self._folder)}, limits
        self._process: WorkerProcess | None = None

    def render(self, job: Planned) -> tuple[Answer, dict[str, bytes]]:
        """Render a scene; returns its answer and its files' bytes by path.

        The answer is {"broken": reason} if nothing can be rendered, and {"ended": reason, "killed", "ready"} if the worker
        process ended before it answered; a new process then renders the next scene.
        """
        worker = self._process or WorkerProcess(self._setup, [self._core], self._limits.timeout)
        self._process = worker
        try:
            answer = self._ask(worker, job)
        except UserError as error:
            answer = {"broken": error.message}
        if "scene" not in answer or worker.made >= self._limits.scenes:
            self._end()
        return answer, {path: self._take_file(path) for path in answer.get("scene", {}).get("files", {})}

    def close(self) -> None:
        """End the worker process and remove its files."""
        self._end()
        self._resources.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _ask(self, worker: WorkerProcess, job: Planned) -> Answer:
        if worker.ready:
            worker.give(job)
        with selectors.DefaultSelector() as selector:
            selector.register(worker, selectors.EVENT_READ)
            while True:
                if not selector.select(worker.seconds_left()):
                    worker.kill_if_overdue()
                answers = worker.answers()
                if answers is None:
                    killed, reason = worker.end()
                    return {"ended": reason, "killed": killed, "ready": worker.ready}
                for answer in answers:
                    if "ready" not in answer:
                        worker.made += 1
                        return answer
                    _check_version(answer["ready"]["blender"], self._setup["blender"])
                    worker.ready = True
                    worker.give(job)

    def _take_file(self, path: str) -> bytes:
        data = (self._folder / path).read_bytes()
        (self._folder / path).unlink()
        return data


def _check_version(found: str, expected: str) -> None:
    if found.split()[0] != expected:
        raise UserError(
            f"The Ray node {os.uname().nodename} has Blender {found}, expected {expected}: images of several versions would "
            f"differ; install bpy=={expected} there."
        )


def _claim_core(kept: ExitStack) -> int:
    """A core of this node that no other actor uses, if any is free: the denoiser starts a thread on every core it sees."""
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        with suppress(Timeout):
            kept.enter_context(FileLock(Path(tempfile.gettempdir()) / f"jackalope-core-{core}.lock").acquire(timeout=0))
            return core
    return cores[os.getpid() % len(cores)]
