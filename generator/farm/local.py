"""Render on this machine: worker processes that may crash, hang or be killed without harm to the rest."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from generator.dataset.errors import UserError
from generator.sampling import Planned

_TRIES = 3


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    cores: list[int]
    ready: bool = False
    job: Planned | None = None
    partial: bytes = b""


@dataclass
class _Queue:
    """Scenes to do, how often each has failed, and how many workers died before they could start."""

    waiting: deque[Planned]
    failures: dict[str, int] = field(default_factory=dict)
    stillborn: int = 0

    def failed(self, job: Planned) -> bool:
        """Count a failure; True when the scene shall not be tried again."""
        self.failures[job.scene_id] = self.failures.get(job.scene_id, 0) + 1
        if self.failures[job.scene_id] >= _TRIES:
            return True
        self.waiting.append(job)
        return False


def default_workers() -> int:
    """One worker for each core that this process may use: scene updates and files do not spread over threads."""
    return len(os.sched_getaffinity(0))


def _shares(workers: int) -> list[list[int]]:
    """The cores of each worker, none shared while there are enough: the denoiser starts a thread for every core it sees."""
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::workers] or [cores[i % len(cores)]] for i in range(workers)]


def render_scenes(
    jobs: Sequence[Planned], setup: dict[str, Any], workers: int, timeout: float = 600.0
) -> Iterator[dict[str, Any]]:
    """Render `jobs` on `workers` processes; yields one answer a scene, as each is done, in any order.

    An answer is {"scene": record} or {"scene_id", "cluster_id", "failed": reason}. A scene whose worker dies is given
    to another; one that fails twice is answered as failed. `timeout` is in seconds without any answer. Raises
    UserError when nothing can be rendered at all (Blender does not load, the disk is full).
    """
    queue = _Queue(deque(jobs))
    selector = selectors.DefaultSelector()
    pool: list[_Worker] = []
    try:
        for cores in _shares(min(workers, len(jobs))):
            _start(setup, cores, pool, selector)
        left = len(jobs)
        while left:
            events = selector.select(timeout)
            if not events:
                _kill_all(pool)
            for key, _ in events:
                for answer in _listen(key.data, queue, setup, pool, selector):
                    left -= 1
                    yield answer
    finally:
        _kill_all(pool)
        selector.close()
        for worker in pool:
            worker.process.wait()


def _start(setup: dict[str, Any], cores: list[int], pool: list[_Worker], selector: selectors.BaseSelector) -> None:
    errors = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the worker)
    process = subprocess.Popen(
        [sys.executable, "-m", "generator.blender.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,  # Ctrl-C reaches the parent alone, which ends its workers itself
    )
    worker = _Worker(process, errors, cores)
    pool.append(worker)
    assert process.stdout is not None
    selector.register(process.stdout, selectors.EVENT_READ, worker)
    _send(worker, {**setup, "cores": cores})


def _listen(
    worker: _Worker, queue: _Queue, setup: dict[str, Any], pool: list[_Worker], selector: selectors.BaseSelector
) -> Iterator[dict[str, Any]]:
    assert worker.process.stdout is not None
    data = os.read(worker.process.stdout.fileno(), 1 << 20)
    if not data:
        selector.unregister(worker.process.stdout)
        pool.remove(worker)
        yield from _bury(worker, queue)
        if queue.waiting or any(w.job for w in pool):
            _start(setup, worker.cores, pool, selector)
        return
    *lines, worker.partial = (worker.partial + data).split(b"\n")
    for line in lines:
        answer = json.loads(line)
        if "broken" in answer:
            raise UserError(answer["broken"] + ". Finished images are kept: mend this and run the same command again.")
        job, worker.job, worker.ready = worker.job, None, True
        if job is not None:
            if "scene" in answer:
                yield answer
            elif answer.get("final") or queue.failed(job):
                yield {"scene_id": job.scene_id, "cluster_id": job.cluster_id, "failed": answer["failed"]}
        if queue.waiting:
            worker.job = queue.waiting.popleft()
            _send(worker, asdict(worker.job))


def _bury(worker: _Worker, queue: _Queue) -> Iterator[dict[str, Any]]:
    code = worker.process.wait()
    reason = f"the render worker ended with code {code}{_last_words(worker)}"
    if not worker.ready:
        queue.stillborn += 1
        if queue.stillborn >= _TRIES:
            raise UserError(f"Rendering cannot start: {reason}; `python -c 'import bpy'` shows whether Blender loads.")
    if worker.job is not None and queue.failed(worker.job):
        yield {"scene_id": worker.job.scene_id, "cluster_id": worker.job.cluster_id, "failed": reason}


def _last_words(worker: _Worker) -> str:
    with worker.errors as file:
        file.seek(0)
        lines = file.read().decode(errors="replace").strip().splitlines()
    return f" ({lines[-1].strip()})" if lines else ""


def _send(worker: _Worker, message: dict[str, Any]) -> None:
    assert worker.process.stdin is not None
    try:
        worker.process.stdin.write(json.dumps(message).encode() + b"\n")
        worker.process.stdin.flush()
    except BrokenPipeError:
        pass  # it died: its end of stdout says so to the selector


def _kill_all(pool: list[_Worker]) -> None:
    for worker in pool:
        worker.process.kill()
