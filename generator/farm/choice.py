"""Which machines render. The files are the same whichever do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from generator.farm.attempts import Answer
from generator.farm.local import Limits, default_workers, render_scenes
from generator.sampling import Planned


@dataclass(frozen=True)
class Farm:
    """So many worker processes on this machine."""

    workers: int = field(default_factory=default_workers)

    def render(self, jobs: Iterable[Planned], number: int, setup: dict[str, Any], limits: Limits) -> Iterator[Answer]:
        """Render `number` scenes; one answer each (see render_scenes)."""
        yield from render_scenes(jobs, setup, min(self.workers, number), limits)
