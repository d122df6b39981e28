"""Where to render: on this machine or on a Ray cluster. The files are the same."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from generator.render.farm.attempts import Answer
from generator.render.farm.local import Limits, default_workers, render_scenes
from generator.scene.planned import Planned


@dataclass(frozen=True)
class Farm:
    """`workers` render processes, on this machine or (`ray`) on a Ray cluster.

    `address`: of the cluster; None takes the one that RAY_ADDRESS names, or starts one here.
    """

    workers: int = field(default_factory=default_workers)
    ray: bool = False
    address: str | None = None

    def render(self, jobs: Iterable[Planned], number: int, setup: dict[str, Any], limits: Limits) -> Iterator[Answer]:
        """Render `number` scenes; yields one answer each, as render_scenes does."""
        workers = min(self.workers, number)
        if self.ray and workers:
            from generator.render.farm.ray import render_on_ray

            yield from render_on_ray(jobs, setup, workers, limits, self.address)
        else:
            yield from render_scenes(jobs, setup, workers, limits)
