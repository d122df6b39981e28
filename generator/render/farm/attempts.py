"""Which scene is rendered next, and when one that goes wrong is given up."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

from generator.dataset.errors import UserError
from generator.plan.record import Planned

_TRIES = 2
_KILLS = 20  # a scene whose workers the system kills for want of memory must end too

Answer = dict[str, Any]


class Attempts:
    """Scenes to do, and how often each has failed by itself, and been interrupted from outside."""

    def __init__(self, jobs: Iterable[Planned]):
        self._jobs = iter(jobs)
        self._again: deque[Planned] = deque()
        self._failures: Counter[str] = Counter()
        self._kills: Counter[str] = Counter()
        self._stillborn: Counter[bool] = Counter()

    def waiting(self) -> bool:
        """Whether a scene waits for a worker."""
        if not self._again:
            self._again.extend([job] if (job := next(self._jobs, None)) else [])
        return bool(self._again)

    def take(self) -> Planned:
        """The next scene; only when one is `waiting`."""
        return self._again.popleft()

    def back(self, job: Planned) -> None:
        """Take a scene back that was not begun."""
        self._again.appendleft(job)

    def failed(self, job: Planned, reason: str) -> list[Answer]:
        """Note that a scene failed by itself: tried again once, then answered as failed."""
        return self._note(self._failures, _TRIES, job, reason)

    def killed(self, job: Planned, reason: str) -> list[Answer]:
        """Note that a scene's worker was killed from outside, which says nothing about the scene: it is tried again."""
        return self._note(self._kills, _KILLS, job, f"{reason}, {_KILLS} times; is there enough memory?")

    def started(self) -> None:
        """Note that a worker came up."""
        self._stillborn.clear()

    def stillborn(self, killed: bool, reason: str) -> None:
        """Note that a worker ended before it could start. Raises UserError when that is the rule."""
        self._stillborn[killed] += 1
        if self._stillborn[killed] >= (_KILLS if killed else _TRIES):
            raise UserError(f"Rendering cannot start: {reason}; `python -c 'import bpy'` shows whether Blender loads.")

    def _note(self, counter: Counter[str], most: int, job: Planned, reason: str) -> list[Answer]:
        counter[job.scene_id] += 1
        if counter[job.scene_id] >= most:
            return [given_up(job, reason)]
        self._again.appendleft(job)
        return []


def given_up(job: Planned, reason: str) -> Answer:
    """The answer for a scene that cannot be rendered."""
    return {"scene_id": job.scene_id, "cluster_id": job.cluster_id, "twin_of": job.twin_of, "failed": reason}
