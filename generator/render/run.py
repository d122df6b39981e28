"""Render planned scenes with worker processes. Continues where an earlier run stopped."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from generator.base.extras import check_installed
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import World
from generator.dataset.writer import WorldWriter
from generator.plan.store import StoredPlan
from generator.render.estimate import check_space, render_seconds, seconds_a_scene
from generator.render.farm.pool import Farm
from generator.render.farm.process import Limits
from generator.render.settings import read_quality
from generator.render.shards import ShardScenes, Storage
from generator.scene.planned import Job, Scenes

logger = logging.getLogger(__name__)
# A worker counts as hung after this many seconds plus this many times the estimate.
_TIMEOUT, _TIMES_ESTIMATE = 300.0, 20


@dataclass(frozen=True)
class Rendering:
    """How to render planned scenes.

    `quality`: a name. `outputs`: what to write beside the images. `storage`: which shard, and tars or files. `device`:
    one of settings.DEVICES.
    """

    quality: str = "standard"
    outputs: tuple[str, ...] = ()
    storage: Storage = field(default_factory=Storage)
    device: str = "cpu"

    @property
    def request(self) -> dict[str, Any]:
        """All that decides the images of given scenes, for a world's manifest.

        Raises UserError if there is no such quality, or if Blender is not installed.
        """
        storage = {name: value for name, value in asdict(self.storage).items() if value is not None}
        return {
            "quality": quality_request(self.quality),
            "outputs": list(self.outputs),
            "device": self.device,
            **storage,
            "blender": blender_version(),
        }


@dataclass(frozen=True)
class Work:
    """Scenes to render into a world. `request`: everything that decides the world's files, for its manifest."""

    request: Mapping[str, Any]
    scenes: Scenes[Job]

    @cached_property
    def seconds_a_scene(self) -> float:
        """About how many seconds a scene takes on one core."""
        return seconds_a_scene(self.request)

    @property
    def limits(self) -> Limits:
        """When a worker counts as hung."""
        return Limits(timeout=_TIMEOUT + _TIMES_ESTIMATE * self.seconds_a_scene)

    def seconds(self, workers: int) -> float:
        """About how many seconds rendering takes on as many cores."""
        return render_seconds(len(self.scenes), self.seconds_a_scene, workers)


def work_of(plan: StoredPlan, rendering: Mapping[str, Any]) -> Work:
    """The scenes of a plan to render here, all or those of a shard; `rendering` is the request of a Rendering."""
    return Work({**plan.request, **rendering}, ShardScenes(plan, rendering.get("shard")))


def render_work(
    work: Work,
    source: Path,
    root: Path,
    farm: Farm,
    progress: Progress = SILENT,
    failed: Iterable[Mapping[str, Any]] = (),
) -> World:
    """Render the scenes that are missing in `root` and finish the world.

    `source`: the dataset whose plan the world keeps. `failed`: answers for further scenes that are recorded as failed
    and not rendered. Raises UserError as Farm.render does, and if the disk has no room.
    """
    check_space(root, len(work.scenes), work.request)
    with WorldWriter(root, work.request) as writer:
        if not writer.finished:
            writer.keep_plan(source / "world")
            _render_rest(work, writer, farm, progress)
            for answer in failed:
                writer.add(answer)
            writer.finish(work.request["vocabulary"])
    return World(root / "world")


def quality_request(name: str) -> dict[str, Any]:
    """The part of a request for a quality: its name and all values that decide the images."""
    return {"name": name, **read_quality(name).model_dump(exclude={"microseconds"})}


def blender_version() -> str:
    """The version of bpy. Raises UserError if it is not installed."""
    check_installed("bpy")
    return version("bpy")


def worker_setup(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a worker process is sent first: how to render, and the folder of the world."""
    kept = ("vocabulary", "width", "height", "seed", "outputs", "device")
    return {
        **{name: request[name] for name in kept},
        "quality": read_quality(request["quality"]["name"]).model_dump(),
        "assets": request.get("assets"),
        "folder": str(folder.resolve()),
    }


def _render_rest(work: Work, writer: WorldWriter, farm: Farm, progress: Progress) -> None:
    scenes = work.scenes
    rest = (planned for planned in scenes if planned.scene_id not in writer.done)
    left = len(scenes) - len(writer.done)
    if len(writer.done):
        logger.info(f"{len(writer.done):,} images are already rendered.")
    setup, failed = worker_setup(work.request, writer.folder), 0
    with progress.track("rendering", len(scenes), len(writer.done)) as advance:
        for answer in farm.render(rest, left, setup, work.limits):
            writer.add(answer.get("scene", answer))
            failed += "failed" in answer
            advance(note=f"{failed} failed" if failed else "")
    if failed:
        logger.warning(f"{failed} scenes failed; scenes.parquet gives each one's reason, and they are in no split.")
