"""Render a world with worker processes. Continues where an earlier run stopped."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from generator.dataset.errors import UserError
from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import World
from generator.dataset.writer import WorldWriter
from generator.holdout.scene_counts import GRID
from generator.plan.record import Planned
from generator.render.estimate import check_space
from generator.render.farm.choice import Farm
from generator.render.farm.local import Limits
from generator.render.job import as_tuple
from generator.render.prepare import Prepared
from generator.render.quality import read_quality

logger = logging.getLogger(__name__)
_TIMEOUT, _TIMES_ESTIMATE = (
    300.0,
    20,
)  # a worker counts as hung after this many seconds plus this many times the estimate


@dataclass(frozen=True)
class Work:
    """Scenes to render into a world.

    `request`: what decides the world's files, for its manifest. `vocabulary`: TOML. `setup`: what each worker is sent first.
    """

    request: Mapping[str, Any]
    vocabulary: str
    scenes: Collection[Planned]
    setup: Mapping[str, Any]
    seconds_a_scene: float


def render_world(prepared: Prepared, root: Path, farm: Farm, progress: Progress = SILENT) -> World:
    """Render the scenes that are missing in `root` and finish the world. Raises UserError as render_scenes does."""
    setup = worker_setup(prepared, root / "world")
    work = Work(request_of(prepared), prepared.text, prepared.scenes, setup, prepared.seconds_a_scene)
    return carry_out(work, root, farm, progress)


def carry_out(
    work: Work, root: Path, farm: Farm, progress: Progress, failed: Iterable[Mapping[str, Any]] = ()
) -> World:
    """Render the scenes that are missing in `root` and finish the world.

    `failed`: answers for further scenes that are recorded as failed and not rendered. Raises UserError as render_scenes
    does, and if the disk has no room.
    """
    check_space(root, len(work.scenes), work.request)
    with WorldWriter(root, work.request) as writer:
        if not writer.finished:
            _render_rest(work, writer, farm, progress)
            for answer in failed:
                writer.add(answer)
            writer.finish(work.vocabulary)
    return World(root / "world")


def request_of(prepared: Prepared) -> dict[str, Any]:
    """Everything that decides the files of a world, for its manifest."""
    job = asdict(prepared.job)
    backend = job.pop("backend")
    storage = {name: value for name, value in job.pop("storage").items() if value is not None}
    job["holdout"], job["block_seed"] = (as_tuple(job[name]) for name in ("holdout", "block_seed"))
    job["scenes_asked"] = job["scenes"]
    del job["assets"]
    job["scenes"] = GRID if prepared.parts[0].counts is None else [dict(part.counts or {}) for part in prepared.parts]
    return {
        **job,
        **backend,
        **storage,
        "quality": quality_request(prepared.job.quality),
        "family": prepared.vocabulary.name,
        "blender": blender_version(),
        "vocabulary": prepared.text,
        **({"assets": prepared.assets} if prepared.assets else {}),
    }


def quality_request(name: str) -> dict[str, Any]:
    """The part of a request for a quality: its name and all values that decide the images."""
    return {"name": name, **read_quality(name).model_dump(exclude={"microseconds"})}


def blender_version() -> str:
    """The version of bpy. Raises UserError if it is not installed."""
    try:
        return version("bpy")
    except PackageNotFoundError:
        raise UserError(
            "Rendering needs Blender's module bpy, which exists for Python 3.11: pip install 'bpy==4.5.*'."
        ) from None


def worker_setup(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """What a worker process is sent first: how to render, and the folder of the world."""
    return {
        "vocabulary": prepared.text, "quality": prepared.quality.model_dump(), "width": prepared.job.width,
        "height": prepared.job.height, "seed": prepared.job.seed, "folder": str(folder.resolve()), "outputs": prepared.job.outputs,
        "assets": prepared.assets, **asdict(prepared.job.backend),
    }  # fmt: skip


def _render_rest(work: Work, writer: WorldWriter, farm: Farm, progress: Progress) -> None:
    scenes = work.scenes
    rest = (planned for planned in scenes if planned.scene_id not in writer.done)
    left = len(scenes) - writer.n_done
    if writer.n_done:
        logger.info(f"{writer.n_done:,} images are already rendered.")
    setup, failed = dict(work.setup), 0
    limits = Limits(timeout=_TIMEOUT + _TIMES_ESTIMATE * work.seconds_a_scene)
    with progress.track("rendering", len(scenes), writer.n_done) as advance:
        for answer in farm.render(rest, left, setup, limits):
            writer.add(answer.get("scene", answer))
            failed += "failed" in answer
            advance(note=f"{failed} failed" if failed else "")
    if failed:
        logger.warning(f"{failed} scenes failed; scenes.parquet gives each one's reason, and they are in no split.")
