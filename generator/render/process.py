"""Renders scenes one after another in a process on this machine, and retries failures."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.process import AnsweringProcess, ProcessEndError
from generator.scene.planned import Job

_TRIES = 2
# A scene is given up after the system killed so many processes, such as when memory is short.
_KILLS = 20
_LEAST_ROOM = 16 << 20
"""Bytes of a disk that is not full: the drafts of some workers, of a few MB each."""
_START = 300.0  # seconds that Blender may take to load

Answer = dict[str, Any]
"""What a worker answers for a scene: {"scene": record}, or the dictionary of `given_up`."""


class Worker:
    """Renders scenes on some cores in a process of generator.render.blender.worker.

    A process is replaced if it fails a scene, crashes, hangs or reports that it is worn.
    """

    def __init__(self, setup: Mapping[str, Any], cores: list[int], timeout: float):
        """Prepare a worker; its process starts with the first scene.

        Args:
            setup: The first message to a process (run.worker_setup).
            cores: The numbers of the cores that it may use.
            timeout: Seconds after which a process without an answer counts as hung.
        """
        self._setup = {**setup, "cores": cores}
        self._timeout = timeout
        self._process: AnsweringProcess | None = None
        self._closed = False

    def render(self, job: Job) -> Answer:
        """Render a scene. It is tried again after a failure.

        After a process was killed from outside there are more tries: the scene may not be the
        cause.

        Args:
            job: The scene.

        Returns:
            {"scene": record}, or the answer of `given_up` after the last try.

        Raises:
            UserError: Nothing can be rendered at all, such as when Blender does not load or the
                disk is full.
        """
        failures = kills = 0
        while True:
            process = self._running_process()
            was_killed = False
            try:
                answer = _check_not_broken(process.ask(job.to_row(), self._timeout))
            except ProcessEndError as ended:
                answer = {"failed": f"the render worker {ended}"}
                was_killed = ended.killed
            if answer.get("worn"):
                self._end_process()
            if "scene" in answer:
                return answer
            if answer.get("final"):
                return given_up(job, answer["failed"])

            self._end_process()
            if was_killed:
                kills += 1
            else:
                failures += 1
            if failures >= _TRIES:
                self._check_room(answer["failed"])
                return given_up(job, answer["failed"])
            if kills >= _KILLS:
                return given_up(job, f"{answer['failed']}, {_KILLS} times; is there enough memory?")

    def _check_room(self, reason: str) -> None:
        """Raise UserError if the disk is nearly full, because it may be why a scene failed.

        A worker finds out by writing, but another worker may have freed its draft in between. Then
        the scene would count as failed for good, and the same command would not render it again.
        """
        folder = self._setup.get("folder")
        if folder is None or not Path(folder).is_dir():
            return
        free = shutil.disk_usage(folder).free
        if free < _LEAST_ROOM:
            raise UserError(
                f"The disk of {folder} has {free >> 10:,} KiB free, and a scene could not be "
                f"written ({reason}). Finished images are kept: free some space and run the same "
                f"command again."
            )

    def close(self) -> None:
        """End the process. A scene that is being rendered in another thread ends with a
        UserError."""
        self._closed = True
        # Another thread may set `_process` to None in between.
        process = self._process
        if process:
            process.close()

    def _running_process(self) -> AnsweringProcess:
        """The process for the next scene, started if needed.

        Raises UserError if processes end before they are ready.
        """
        failures = kills = 0
        while self._process is None:
            self._process = AnsweringProcess("generator.render.blender.worker")
            # Checked after the start: `close` in another thread ends only a process that it sees.
            if self._closed:
                self._process.close()
                raise UserError("The rendering was ended.")
            self._process.send(self._setup)
            try:
                _check_not_broken(self._process.answer(_START))
            except ProcessEndError as ended:
                self._end_process()
                if ended.killed:
                    kills += 1
                else:
                    failures += 1
                if failures >= _TRIES or kills >= _KILLS:
                    raise UserError(
                        f"Rendering cannot start: the render worker {ended}; `python -c 'import "
                        f"bpy'` shows whether Blender loads."
                    ) from None
        return self._process

    def _end_process(self) -> None:
        if self._process:
            self._process.close()
        self._process = None


def _check_not_broken(answer: Answer) -> Answer:
    """Return the answer. Raises UserError if it says that no scene can be rendered."""
    if "broken" in answer:
        raise UserError(
            answer["broken"]
            + ". Finished images are kept: fix this and run the same command again."
        )
    return answer


def given_up(job: Job, reason: str) -> Answer:
    """Return the answer for a scene that cannot be rendered.

    Args:
        job: The scene.
        reason: Why it cannot be rendered, without a full stop.
    """
    return {
        "scene_id": job.scene_id,
        "cluster_id": job.cluster_id,
        "twin_of": job.twin_of,
        "failed": reason,
    }
