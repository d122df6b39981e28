"""Render on a Ray cluster: each worker is an actor that keeps a worker process on its node; files come back to the caller."""

import os
import selectors
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from generator.dataset.errors import UserError
from generator.dataset.files import write_bytes
from generator.plan.record import Planned
from generator.render.farm.attempts import Answer, Attempts, given_up
from generator.render.farm.local import Limits
from generator.render.farm.process import WorkerProcess

try:
    import ray
except ImportError:
    raise UserError("--farm ray needs the package ray: pip install 'jackalope[ray]'.") from None

_GREETING, _PARTING = 10.0, 10.0  # seconds that a cluster may take to answer, and actors to clean up


def render_on_ray(
    jobs: Iterable[Planned], setup: dict[str, Any], workers: int, limits: Limits, address: str | None
) -> Iterator[Answer]:
    """Render `jobs` on so many actors of a Ray cluster, each on one processor core; the answers of render_scenes.

    Raises UserError when there is no cluster at the address, or when nothing can be rendered at all.
    """
    own = not ray.is_initialized()
    if own:
        _join(address)
    troupe = _Troupe(Attempts(jobs), setup, limits)
    try:
        yield from troupe.answers(workers)
    finally:
        troupe.close()
        if own:
            ray.shutdown()


def _join(address: str | None) -> None:
    """Connect to the cluster at an address, or start one here. Raises UserError when none answers: Ray itself waits long."""
    host, colon, port = (address or "").rpartition("//")[2].rpartition(":")
    try:
        if colon:
            socket.create_connection((host, int(port)), timeout=_GREETING).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError) as error:
        raise UserError(
            f"--address {address}: no Ray cluster answers there ({error}); start one with `ray start --head`, or leave "
            f"--address out."
        ) from None


class _Troupe:
    """The actors under way, and the scene that each has in hand."""

    def __init__(self, attempts: Attempts, setup: dict[str, Any], limits: Limits):
        self._attempts, self._limits = attempts, limits
        self._folder = Path(setup["folder"])
        self._setup = {**setup, "blender": version("bpy")}
        self._actors: set[Any] = set()
        self._hands: dict[Any, tuple[Any, Planned]] = {}

    def answers(self, workers: int) -> Iterator[Answer]:
        for _ in range(workers):
            self._employ(self._engage())
        while self._hands:
            done, _ = ray.wait(list(self._hands))
            actor, job = self._hands.pop(done[0])
            try:
                answer, files = ray.get(done[0])
            except ray.exceptions.RayError as error:  # its node is gone, or the actor could not be made there
                yield from self._lost(actor, job, error)
                continue
            yield from self._heard(job, answer, files)
            self._employ(actor)

    def close(self) -> None:
        with suppress(ray.exceptions.RayError):
            ray.get([actor.close.remote() for actor in self._actors], timeout=_PARTING)
        for actor in self._actors:
            ray.kill(actor)

    def _engage(self) -> Any:
        actor = ray.remote(num_cpus=1)(RemoteWorker).remote(self._setup, self._limits)
        self._actors.add(actor)
        return actor

    def _employ(self, actor: Any) -> None:
        if self._attempts.waiting():
            job = self._attempts.take()
            self._hands[actor.render.remote(job)] = (actor, job)

    def _lost(self, actor: Any, job: Planned, error: Exception) -> list[Answer]:
        self._actors.discard(actor)
        reason = str(error).strip().splitlines()[-1]
        if isinstance(error, ray.exceptions.RayTaskError):
            raise UserError(
                f"A Ray worker cannot render: {reason}; is Jackalope of this version installed on every node?"
            )
        answers = self._attempts.killed(job, f"the Ray worker was lost ({reason})")
        self._employ(self._engage())
        return answers

    def _heard(self, job: Planned, answer: Answer, files: dict[str, bytes]) -> list[Answer]:
        if "broken" in answer:
            raise UserError(answer["broken"])
        if "ended" in answer and not answer["ready"]:
            self._attempts.stillborn(answer["killed"], answer["ended"])
            self._attempts.back(job)
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
    """An actor: hands back what its worker process answers, and the bytes of the files it wrote. Nodes need share no disk."""

    def __init__(self, setup: dict[str, Any], limits: Limits):
        self._kept = ExitStack()
        self._folder = Path(self._kept.enter_context(tempfile.TemporaryDirectory(prefix="jackalope-")))
        self._core = _claim_core(self._kept)
        self._setup, self._limits = {**setup, "folder": str(self._folder)}, limits
        self._process: WorkerProcess | None = None

    def render(self, job: Planned) -> tuple[Answer, dict[str, bytes]]:
        """The answer for a scene and its files by path; or {"broken": reason} where nothing can be rendered, or {"ended": reason,
        "killed", "ready"} when the process ended before it answered. It is then another process that renders the next."""
        worker = self._process or WorkerProcess(self._setup, [self._core], self._limits.timeout)
        self._process = worker
        try:
            answer = self._ask(worker, job)
        except UserError as error:
            answer = {"broken": error.message}
        if "scene" not in answer or worker.made >= self._limits.scenes:
            self._end()
        return answer, {path: self._taken(path) for path in answer.get("scene", {}).get("files", {})}

    def close(self) -> None:
        """End the process and remove what it wrote."""
        self._end()
        self._kept.close()

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
                if not selector.select(worker.patience()):
                    worker.kill_if_overdue()
                said = worker.answers()
                if said is None:
                    killed, reason = worker.end()
                    return {"ended": reason, "killed": killed, "ready": worker.ready}
                for answer in said:
                    if "ready" not in answer:
                        worker.made += 1
                        return answer
                    _check_version(answer["ready"]["blender"], self._setup["blender"])
                    worker.ready = True
                    worker.give(job)

    def _taken(self, path: str) -> bytes:
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
    """A core of this node that no other actor has, while there are any: the denoiser starts a thread for every core it sees."""
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        with suppress(Timeout):
            kept.enter_context(FileLock(Path(tempfile.gettempdir()) / f"jackalope-core-{core}.lock").acquire(timeout=0))
            return core
    return cores[os.getpid() % len(cores)]
