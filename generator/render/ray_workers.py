"""Workers on a Ray cluster: each renders in a process on a node and sends the files to the
caller."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import ray
from filelock import FileLock, Timeout

from generator.base.errors import UserError
from generator.base.extras import connecting
from generator.base.files import write_bytes
from generator.render.process import Answer, Worker, given_up
from generator.scene.planned import Job

_LOSSES = 20
"""Nodes that may be lost with one scene before it fails."""
_CLOSE_TIMEOUT = 10.0
"""Seconds after which a node that does not answer is given up at the end."""


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a Ray cluster within a context.

    Args:
        address: The address of the cluster; None: see `Farm`.

    Raises:
        UserError: There is no such cluster.
    """
    if ray.is_initialized():
        yield
        return
    with connecting(address):
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        yield
    finally:
        ray.shutdown()


class RayWorker:
    """Renders scenes on one core of a cluster, and writes their files here.

    Ray replaces a node that is lost.
    """

    def __init__(self, setup: dict[str, Any], timeout: float):
        """Start an actor on a node.

        Args:
            setup: The first message to a process (run.worker_setup); its folder is on this machine.
            timeout: Seconds after which a process without an answer counts as hung.
        """
        self._folder = Path(setup["folder"])
        make_remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_LOSSES)
        self._node = make_remote(_NodeWorker).remote(setup, timeout)

    def render(self, job: Job) -> Answer:
        """Render a scene, as `Worker.render`.

        Args:
            job: The scene.

        Returns:
            The answer of the worker on the node.

        Raises:
            UserError: Nothing can be rendered at all.
        """
        try:
            answer, files = ray.get(self._node.render.remote(job))
        except ray.exceptions.RayTaskError as error:
            raise UserError(
                f"A Ray worker cannot render: {_last_line(error)}; is Jackalope of this version "
                f"installed on every node?"
            ) from None
        except ray.exceptions.RayError as error:
            # Its node is gone, or the actor could not be made there.
            return given_up(job, f"the Ray worker was lost ({_last_line(error)})")
        if "broken" in answer:
            raise UserError(answer["broken"])
        for path, data in files.items():
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._folder / path, data)
        return dict(answer)

    def close(self) -> None:
        """End the process on the node, and the actor."""
        with suppress(ray.exceptions.RayError):
            ray.get(self._node.close.remote(), timeout=_CLOSE_TIMEOUT)
        ray.kill(self._node)


class _NodeWorker:
    """A Ray actor that renders in a process and returns the files' bytes, so nodes need no shared
    disk."""

    def __init__(self, setup: dict[str, Any], timeout: float):
        self._resources = ExitStack()
        scratch = tempfile.TemporaryDirectory(prefix="jackalope-")
        self._folder = Path(self._resources.enter_context(scratch))
        core = _claim_core(self._resources)
        self._worker = Worker({**setup, "folder": str(self._folder)}, [core], timeout)

    def render(self, job: Job) -> tuple[Answer, dict[str, bytes]]:
        """Render a scene.

        Args:
            job: The scene.

        Returns:
            The answer, which is {"broken": reason} if nothing can be rendered; and the bytes of
            the scene's files by path.
        """
        try:
            answer = self._worker.render(job)
        except UserError as error:
            return {"broken": error.message}, {}
        paths = answer.get("scene", {}).get("files", {})
        return answer, {path: self._take_file(path) for path in paths}

    def close(self) -> None:
        """End the process and remove its files."""
        self._worker.close()
        self._resources.close()

    def _take_file(self, path: str) -> bytes:
        """Read a file and remove it, so that the disk of a node does not fill up."""
        data = (self._folder / path).read_bytes()
        (self._folder / path).unlink()
        return data


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]


def _claim_core(resources: ExitStack) -> int:
    """A core of this node that no other actor uses, if one is free.

    The denoiser uses every core it sees. The core is released with the `resources`.
    """
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        lock = FileLock(Path(tempfile.gettempdir()) / f"jackalope-core-{core}.lock")
        with suppress(Timeout):
            resources.enter_context(lock.acquire(timeout=0))
            return core
    return cores[os.getpid() % len(cores)]
