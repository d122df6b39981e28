"""Renders scenes one after another in a process on this machine, and retries failures."""

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.process import AnsweringProcess, ProcessEndError
from generator.scene.planned import Job

_TRIES = 2
_KILLS = (
    20  # gives up a scene after the system killed so many processes, such as when memory is short
)
_LEAST_ROOM = 16 << 20
"""Bytes of a disk that is not full: the drafts of some workers, of a few MB each."""
_START = 300.0  # seconds that Blender may take to load

Answer = dict[str, Any]


class Worker:
    """Renders scenes on some cores in a process of generator.render.blender.worker.

    A process is replaced if it fails a scene, crashes, hangs or reports that it is worn. `setup`:
    the first message to a process (run.worker_setup). `timeout`: seconds after which a process
    without an answer counts as hung.
    """

    def __init__(self, setup: Mapping[str, Any], cores: list[int], timeout: float):
        self._setup, self._timeout = {**setup, "cores": cores}, timeout
        self._process: AnsweringProcess | None = None
        self._closed = False

    def render(self, job: Job) -> Answer:
        """The answer for a scene: {"scene": record}, or the answer of `given_up` after a second
        failure.

        After a process was killed from outside there are more retries: the scene may not be the
        cause. Raises UserError if nothing can be rendered at all, such as when Blender does not
        load or the disk is full.
        """
        tries: Counter[bool] = Counter()
        while True:
            process = self._started()
            try:
                answer = _checked(process.ask(job.to_row(), self._timeout))
                killed = False
            except ProcessEndError as ended:
                answer, killed = {"failed": f"the render worker {ended}"}, ended.killed
            if answer.get("worn"):
                self._drop()
            if "scene" in answer:
                return answer
            if answer.get("final"):
                return given_up(job, answer["failed"])
            self._drop()
            tries[killed] += 1
            if tries[False] >= _TRIES:
                self._check_room(answer["failed"])
                return given_up(job, answer["failed"])
            if tries[True] >= _KILLS:
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
        if process := self._process:
            process.close()

    def _started(self) -> AnsweringProcess:
        """The process for the next scene, started if needed. Raises UserError if processes end
        before being ready."""
        tries: Counter[bool] = Counter()
        while self._process is None:
            self._process = AnsweringProcess("generator.render.blender.worker")
            if self._closed:
                self._process.close()
                raise UserError("The rendering was ended.")
            self._process.send(self._setup)
            try:
                _checked(self._process.answer(_START))
            except ProcessEndError as ended:
                self._drop()
                tries[ended.killed] += 1
                if tries[ended.killed] >= (_KILLS if ended.killed else _TRIES):
                    raise UserError(
                        f"Rendering cannot start: the render worker {ended}; `python -c 'import "
                        f"bpy'` shows whether Blender loads."
                    ) from None
        return self._process

    def _drop(self) -> None:
        if self._process:
            self._process.close()
        self._process = None


def _checked(answer: Answer) -> Answer:
    if "broken" in answer:
        raise UserError(
            answer["broken"]
            + ". Finished images are kept: fix this and run the same command again."
        )
    return answer


def given_up(job: Job, reason: str) -> Answer:
    """The answer for a scene that cannot be rendered."""
    return {
        "scene_id": job.scene_id,
        "cluster_id": job.cluster_id,
        "twin_of": job.twin_of,
        "failed": reason,
    }
