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

_TIMEOUT = 300.0
"""Seconds after which a worker counts as hung, besides _TIMES_ESTIMATE."""
_TIMES_ESTIMATE = 20
"""Times the estimate of a scene that are added to _TIMEOUT. Machines that run other programs too
are several times slower than the estimate."""

# Measured on one core, for the estimates before a run.
_BYTES_A_PIXEL = 1.2
"""Bytes of an image, PNG."""
_SECONDS_A_SCENE = 0.05
"""Seconds of a scene at any image size."""
_SECONDS_AN_OBJECT = 0.003
"""Seconds of an object at any image size."""
_LANDSCAPE = 2.2
"""Seconds of a pixel in an environment with scenery, over those on a bare floor."""
_MICROSECONDS_A_RAY = 2.0
"""Microseconds of a pixel of masks, depth, normals and boxes together."""
_START_UP = 5.0
"""Seconds that Blender takes to load."""


@dataclass(frozen=True)
class Rendering:
    """How to render planned scenes."""

    quality: str = "standard"
    """The name of a quality in blender_assets/quality.toml."""
    outputs: tuple[str, ...] = ()
    """What to write beside the images: of masks, depth, normals and boxes."""
    device: str = "cpu"
    """One of settings.DEVICES."""
    shard: tuple[int, int] | None = None
    """(i, n), the i-th of n parts of the scenes, from 1; None for all scenes."""
    tar_bytes: int | None = None
    """The largest size of a tar; None writes one file per image."""

    @property
    def request(self) -> dict[str, Any]:
        """Everything that decides the images of given scenes, for a world's manifest.

        Raises:
            UserError: There is no such quality, or Blender is not installed.
        """
        check_installed("bpy")
        quality = read_quality(self.quality).model_dump(exclude={"microseconds"})
        request: dict[str, Any] = {
            "quality": {"name": self.quality, **quality},
            "outputs": list(self.outputs),
            "device": self.device,
        }
        if self.shard is not None:
            request["shard"] = self.shard
        if self.tar_bytes is not None:
            request["tar_bytes"] = self.tar_bytes
        request["blender"] = version("bpy")
        return request


@dataclass(frozen=True)
class Work:
    """Scenes to render into a world."""

    request: Mapping[str, Any]
    """Everything that decides the world's files, for its manifest."""
    scenes: Scenes[Job]
    """The scenes in the order in which they are rendered."""

    @cached_property
    def seconds_a_scene(self) -> float:
        """The estimated seconds for a scene on one core."""
        return seconds_a_scene(self.request)

    @property
    def timeout(self) -> float:
        """The seconds after which a worker without an answer counts as hung."""
        return _TIMEOUT + _TIMES_ESTIMATE * self.seconds_a_scene

    def seconds(self, workers: int) -> float:
        """Estimate the seconds for rendering all scenes on that many cores."""
        return len(self.scenes) * self.seconds_a_scene / workers + _START_UP


def work_of(plan: StoredPlan, rendering: Mapping[str, Any]) -> Work:
    """Select the scenes of a plan to render here.

    Args:
        plan: The plan of the whole world.
        rendering: The request of a `Rendering`.

    Returns:
        All scenes, or those of the shard that the request names.
    """
    scenes = ShardScenes(plan, rendering.get("shard"))
    return Work({**plan.request, **rendering}, scenes)


def seconds_a_scene(request: Mapping[str, Any]) -> float:
    """Estimate how long a scene of a world takes on one core.

    Args:
        request: The request of the world, from its manifest.

    Returns:
        Seconds for a scene with an average environment and number of objects.
    """
    vocabulary = parse_vocabulary(request["vocabulary"], "vocabulary.toml")
    environments = vocabulary.environments.values()
    factors = [1 if environment.bare else _LANDSCAPE for environment in environments]
    mean_factor = sum(factors) / len(environments)

    pixels = request["width"] * request["height"]
    microseconds = read_quality(request["quality"]["name"]).microseconds * mean_factor
    if request["outputs"]:
        microseconds += _MICROSECONDS_A_RAY
    mean_objects = sum(request["objects"]) / 2
    return pixels * microseconds / 1e6 + _SECONDS_A_SCENE + mean_objects * _SECONDS_AN_OBJECT


def duration(seconds: float) -> str:
    """Return a time span for people.

    >>> duration(40), duration(100), duration(4000)
    ('40 s', '2 min', '1.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def byte_size(n: float) -> str:
    """Return a number of bytes for people, rounded to the unit.

    >>> byte_size(0), byte_size(4_000), byte_size(6_400_000), byte_size(2.5e9)
    ('0 kB', '4 kB', '6 MB', '2,500 MB')
    """
    if n < 1e6:
        return f"{n / 1e3:,.0f} kB"
    return f"{n / 1e6:,.0f} MB"


def check_space(root: Path, scenes: int, request: Mapping[str, Any]) -> None:
    """Check that the disk has room for the images that are missing.

    Args:
        root: The folder of the dataset, which need not exist.
        scenes: The number of scenes of the world.
        request: The request of the world.

    Raises:
        UserError: The disk of `root` has too little room.
    """
    is_finished = (root / "world" / "manifest.json").exists()
    # Packing begins when all scenes are rendered.
    is_packing = any(root.glob("world/shards/*.tar"))
    if is_finished or is_packing:
        return
    n_rendered = sum(1 for _ in root.glob("world/images/[!.]*"))
    n_missing = max(0, scenes - n_rendered)
    pixels = n_missing * request["width"] * request["height"]
    needed = pixels * (_BYTES_A_PIXEL + bytes_a_pixel(request["outputs"]))
    folder = root.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{root} has {byte_size(free)} free and the files need about {byte_size(needed)}: free "
            f"some space, choose another --out, or render fewer or smaller scenes."
        )


def render_work(
    work: Work,
    source: Path,
    *,
    root: Path,
    farm: Farm,
    progress: Progress = SILENT,
    failed: Iterable[Mapping[str, Any]] = (),
) -> World:
    """Render the scenes that are missing in `root` and finish the world.

    Args:
        work: The scenes.
        source: The dataset whose plan the world keeps.
        root: The folder of the dataset to write.
        farm: Where to render.
        progress: Where progress is reported.
        failed: Answers for other scenes, which are recorded as failed and not rendered.

    Returns:
        The finished world.

    Raises:
        UserError: As `Farm.render`; or the disk has too little room.
    """
    check_space(root, len(work.scenes), work.request)
    with WorldWriter(root, work.request) as writer:
        if not writer.finished:
            writer.keep_plan(source / "world")
            _render_missing(work, writer, farm=farm, progress=progress)
            for answer in failed:
                writer.add(answer)
            writer.finish(work.request["vocabulary"])
    return World(root / "world")


def worker_setup(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the first message to a worker process: how to render, and where to write.

    Args:
        request: The request of the world.
        folder: The folder of the world.
    """
    names = ("vocabulary", "width", "height", "seed", "outputs", "device", "blender")
    setup = {name: request[name] for name in names}
    setup["quality"] = read_quality(request["quality"]["name"]).model_dump()
    setup["assets"] = request.get("assets")
    setup["folder"] = str(folder.resolve())
    return setup


def _render_missing(work: Work, writer: WorldWriter, *, farm: Farm, progress: Progress) -> None:
    """Render the scenes that the writer does not have yet."""
    n_scenes = len(work.scenes)
    n_done = len(writer.done)
    if n_done:
        logger.info(f"{n_done:,} images are already rendered.")
    missing = (planned for planned in work.scenes if planned.scene_id not in writer.done)
    setup = worker_setup(work.request, writer.folder)
    n_failed = 0
    with progress.track("rendering", n_scenes, n_done) as advance:
        for answer in farm.render(missing, n_scenes - n_done, setup, work.timeout):
            writer.add(answer.get("scene", answer))
            if "failed" in answer:
                n_failed += 1
            advance(note=f"{n_failed} failed" if n_failed else "")
    if n_failed:
        logger.warning(
            f"{n_failed} scenes failed and are in no split; scenes.parquet gives the reasons."
        )
