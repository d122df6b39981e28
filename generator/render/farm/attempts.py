"""Which scene to render next, and when to give up one that fails."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

from generator.base.errors import UserError
from generator.scene.planned import Planned

_TRIES = 2
_KILLS = 20  # gives up a scene whose workers the system kills each time, as when memory is short

Answer = dict[str, Any]


class Attempts:
    """The scenes to render, and how often each has failed or lost its worker."""

    def __init__(self, jobs: Iterable[Planned]):
        self._jobs = iter(jobs)
        self._retries: deque[Planned] = deque()
        self._failures: Counter[str] = Counter()
        self._kills: Counter[str] = Counter()
        self._not_started: Counter[bool] = Counter()

    def waiting(self) -> bool:
        """Whether any scene is left to give to a worker."""
        if not self._retries:
            self._retries.extend([job] if (job := next(self._jobs, None)) else [])
        return bool(self._retries)

    def take(self) -> Planned:
        """The next scene. Call it only if one is `waiting`."""
        return self._retries.popleft()

    def put_back(self, job: Planned) -> None:
        """Put back a scene that was not begun."""
        self._retries.appendleft(job)

    def failed(self, job: Planned, reason: str) -> list[Answer]:
        """Count a failure of the scene itself. Returns nothing if it is to be tried again, else its answer."""
        return self._note(self._failures, _TRIES, job, reason)

    def killed(self, job: Planned, reason: str) -> list[Answer]:
        """Count a worker that was killed from outside while it rendered the scene, which may be no fault of the scene.

        Returns nothing if it is to be tried again, else its answer.
        """
        return self._note(self._kills, _KILLS, job, f"{reason}, {_KILLS} times; is there enough memory?")

    def started(self) -> None:
        """Forget earlier workers that did not start: one has started."""
        self._not_started.clear()

    def not_started(self, killed: bool, reason: str) -> None:
        """Count a worker that ended before it was ready. Raises UserError when several in a row did."""
        self._not_started[killed] += 1
        if self._not_started[killed] >= (_KILLS if killed else _TRIES):
            raise UserError(f"Rendering cannot start: {reason}; `python -c 'import bpy'` shows whether Blender loads.")

    def _note(self, counter: Counter[str], most: int, job: Planned, reason: str) -> list[Answer]:
        counter[job.scene_id] += 1
        if counter[job.scene_id] >= most:
            return [given_up(job, reason)]
        self._retries.appendleft(job)
        return []


def given_up(job: Planned, reason: str) -> Answer:
    """The answer for a scene that cannot be rendered."""
    return {"scene_id": job.scene_id, "cluster_id": job.cluster_id, "twin_of": job.twin_of, "failed": reason}
