"""Render planned scenes with worker processes. Continues where an earlier run stopped."""

import logging
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.progress import SILENT, Progress
from generator.dataset.outputs import bytes_a_pixel
from generator.dataset.reader import World
from generator.dataset.writer import WorldWriter
from generator.plan.store import StoredPlan
from generator.render.farm import Farm
from generator.render.settings import read_quality
from generator.render.shards import ShardScenes
from generator.scene.planned import Job, Scenes
from generator.vocabulary.schema import parse_vocabulary

logger = logging.getLogger(__name__)
# A worker counts as hung after this many seconds plus this many times the estimate.
_TIMEOUT, _TIMES_ESTIMATE = 300.0, 20
_BYTES_A_PIXEL = 1.2
_SECONDS_A_SCENE, _SECONDS_AN_OBJECT = 0.05, 0.003  # at any image size
_LANDSCAPE = 2.2  # times the seconds of a pixel on a bare floor
_MICROSECONDS_A_RAY = 2.0  # a pixel of masks, depth, normals and boxes together
_START_UP = 5.0  # seconds that Blender takes to load


@dataclass(frozen=True)
class Rendering:
    """How to render planned scenes.

    `quality`: a name. `outputs`: what to write beside the images. `device`: one of
    settings.DEVICES. `shard`: (i, n),
    the i-th of n parts of the scenes, from 1; None for all. `tar_bytes`: the largest size of a tar;
    None writes one
    file per image.
    """

    quality: str = "standard"
    outputs: tuple[str, ...] = ()
    device: str = "cpu"
    shard: tuple[int, int] | None = None
    tar_bytes: int | None = None

    @property
    def request(self) -> dict[str, Any]:
        """All that decides the images of given scenes, for a world's manifest.

        Raises UserError if there is no such quality, or if Blender is not installed.
        """
        check_installed("bpy")
        storage = {"shard": self.shard, "tar_bytes": self.tar_bytes}
        return {
            "quality": {
                "name": self.quality,
                **read_quality(self.quality).model_dump(exclude={"microseconds"}),
            },
            "outputs": list(self.outputs),
            "device": self.device,
            **{name: value for name, value in storage.items() if value is not None},
            "blender": version("bpy"),
        }


@dataclass(frozen=True)
class Work:
    """Scenes to render into a world. `request`: everything that decides the world's files, for its
    manifest."""

    request: Mapping[str, Any]
    scenes: Scenes[Job]

    @cached_property
    def seconds_a_scene(self) -> float:
        """The estimated seconds for a scene on one core."""
        return seconds_a_scene(self.request)

    @property
    def timeout(self) -> float:
        """The seconds after which a worker without an answer counts as hung."""
        return _TIMEOUT + _TIMES_ESTIMATE * self.seconds_a_scene

    def seconds(self, workers: int) -> float:
        """The estimated seconds for rendering all scenes on `workers` cores."""
        return len(self.scenes) * self.seconds_a_scene / workers + _START_UP


def work_of(plan: StoredPlan, rendering: Mapping[str, Any]) -> Work:
    """The scenes of a plan to render here, all or those of a shard; `rendering` is the request of a
    Rendering."""
    return Work({**plan.request, **rendering}, ShardScenes(plan, rendering.get("shard")))


def seconds_a_scene(request: Mapping[str, Any]) -> float:
    """The estimated seconds for a scene of a world on one core; `request`: from the world's
    manifest."""
    places = parse_vocabulary(request["vocabulary"], "vocabulary.toml").environments.values()
    harder = sum(1 if place.bare else _LANDSCAPE for place in places) / len(places)
    rays = _MICROSECONDS_A_RAY if request["outputs"] else 0
    pixels = request["width"] * request["height"]
    seconds = pixels * (read_quality(request["quality"]["name"]).microseconds * harder + rays) / 1e6
    return seconds + _SECONDS_A_SCENE + sum(request["objects"]) / 2 * _SECONDS_AN_OBJECT


def duration(seconds: float) -> str:
    """A time span for people.

    >>> duration(40), duration(100), duration(4000)
    ('40 s', '2 min', '1.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def byte_size(n: float) -> str:
    """A number of bytes for people, rounded to the unit.

    >>> byte_size(0), byte_size(4_000), byte_size(6_400_000), byte_size(2.5e9)
    ('0 kB', '4 kB', '6 MB', '2,500 MB')
    """
    return f"{n / 1e3:,.0f} kB" if n < 1e6 else f"{n / 1e6:,.0f} MB"


def check_space(root: Path, scenes: int, request: Mapping[str, Any]) -> None:
    """Raise UserError when the disk of `root` has no room for the missing images of `scenes`
    scenes."""
    if (root / "world" / "manifest.json").exists() or any(root.glob("world/shards/*.tar")):
        return  # packing begins when all are rendered
    done = sum(1 for _ in root.glob("world/images/[!.]*"))
    pixels = max(0, scenes - done) * request["width"] * request["height"]
    needed = pixels * (_BYTES_A_PIXEL + bytes_a_pixel(request["outputs"]))
    place = next(
        folder for folder in (root.absolute(), *root.absolute().parents) if folder.exists()
    )
    free = shutil.disk_usage(place).free
    if needed > free:
        raise UserError(
            f"{root} has {byte_size(free)} free and the files need about {byte_size(needed)}: free "
            f"some space, choose another --out, or render fewer or smaller scenes."
        )


def render_work(
    work: Work,
    source: Path,
    root: Path,
    farm: Farm,
    progress: Progress = SILENT,
    failed: Iterable[Mapping[str, Any]] = (),
) -> World:
    """Render the scenes that are missing in `root` and finish the world.

    `source`: the dataset whose plan the world keeps. `failed`: answers for further scenes that are
    recorded as failed
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


def worker_setup(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The first message to a worker process: how to render, and the folder of the world."""
    kept = ("vocabulary", "width", "height", "seed", "outputs", "device", "blender")
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
        for answer in farm.render(rest, left, setup, work.timeout):
            writer.add(answer.get("scene", answer))
            failed += "failed" in answer
            advance(note=f"{failed} failed" if failed else "")
    if failed:
        logger.warning(
            f"{failed} scenes failed and are in no split; scenes.parquet gives the reasons."
        )
