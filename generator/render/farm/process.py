"""Renders scenes one after another in a process on this machine, and tries again what fails."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.base.errors import UserError
from generator.base.process import AnsweringProcess, ProcessEndError
from generator.scene.planned import Job

_TRIES = 2
_KILLS = 20  # gives up a scene whose processes the system kills each time, as when memory is short
_START = 300.0  # seconds that Blender may take to load

Answer = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Limits of a render process.

    `timeout`: seconds after which a process without an answer counts as hung. `scenes`: how many it renders before a
    new process replaces it, because Blender's memory grows.
    """

    timeout: float = 600.0
    scenes: int = 500


class Worker:
    """Renders scenes on some cores in a process of generator.render.blender.worker.

    A process that fails a scene, crashes or hangs is replaced. `setup`: what a process is sent first
    (run.worker_setup).
    """

    def __init__(self, setup: Mapping[str, Any], cores: list[int], limits: Limits):
        self._setup, self._limits = {**setup, "cores": cores}, limits
        self._processes: list[AnsweringProcess] = []  # the one that renders, and perhaps its successor
        self._made, self._closed = 0, False

    def render(self, job: Job) -> Answer:
        """The answer for a scene: {"scene": record}, or that of `given_up` after a second failure.

        A process that was killed from outside is forgiven more often: it may be no fault of the scene. Raises UserError
        if nothing can be rendered at all, as when Blender does not load or the disk is full.
        """
        tries: Counter[bool] = Counter()
        while True:
            process = self._started()
            try:
                answer = _checked(process.ask(job.to_row(), self._limits.timeout))
                killed = False
            except ProcessEndError as ended:
                answer, killed = {"failed": f"the render worker {ended}"}, ended.killed
            self._made += 1
            if "scene" in answer:
                return answer
            if answer.get("final"):
                return given_up(job, answer["failed"])
            self._drop()
            tries[killed] += 1
            if tries[False] >= _TRIES:
                return given_up(job, answer["failed"])
            if tries[True] >= _KILLS:
                return given_up(job, f"{answer['failed']}, {_KILLS} times; is there enough memory?")

    def close(self) -> None:
        """End the processes. A scene that is being rendered in another thread ends with a UserError."""
        self._closed = True
        for process in list(self._processes):
            process.close()

    def _started(self) -> AnsweringProcess:
        """The process to give the next scene to. Raises UserError if processes end before they are ready."""
        if self._made >= self._limits.scenes:
            if len(self._processes) == 1:
                self._begin()
            elif self._processes[1].has_answered():
                self._drop()
        tries: Counter[bool] = Counter()
        while self._made == 0:
            process = self._processes[0] if self._processes else self._begin()
            try:
                _checked(process.answer(_START))
                break
            except ProcessEndError as ended:
                self._drop()
                tries[ended.killed] += 1
                if tries[ended.killed] >= (_KILLS if ended.killed else _TRIES):
                    raise UserError(
                        f"Rendering cannot start: the render worker {ended}; `python -c 'import bpy'` shows whether "
                        f"Blender loads."
                    ) from None
        return self._processes[0]

    def _begin(self) -> AnsweringProcess:
        process = AnsweringProcess("generator.render.blender.worker")
        self._processes.append(process)
        if self._closed:
            process.close()
            raise UserError("The rendering was ended.")
        process.send(self._setup)
        return process

    def _drop(self) -> None:
        self._processes.pop(0).close()
        self._made = 0


def _checked(answer: Answer) -> Answer:
    if "broken" in answer:
        raise UserError(answer["broken"] + ". Finished images are kept: mend this and run the same command again.")
    return answer


def given_up(job: Job, reason: str) -> Answer:
    """The answer for a scene that cannot be rendered."""
    return {"scene_id": job.scene_id, "cluster_id": job.cluster_id, "twin_of": job.twin_of, "failed": reason}
