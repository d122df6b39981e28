"""Render the recorded scenes of a world again, at another size or quality or with other outputs."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.assets.sets import check_assets
from generator.base.errors import UserError
from generator.base.files import SUMS, draft_folder_of, read_json, write_json
from generator.base.listed import copy_files
from generator.base.paths import check_own_files, file_in
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.writer import write_index
from generator.render.farm import Farm
from generator.render.run import Rendering, Work, render_work
from generator.scene.planned import Recorded

_RECORDED = ("width", "height", "quality", "outputs", "device", "blender", "from")
"""Entries of the source world's request that the new world records under `from`."""


@dataclass(frozen=True)
class Changes:
    """What to change when a world is rendered again."""

    device: str
    """One of settings.DEVICES."""
    size: tuple[int, int] | None = None
    """Width and height in pixels; None keeps the world's."""
    quality: str | None = None
    """The name of a quality; None keeps the world's."""
    outputs: tuple[str, ...] | None = None
    """Of masks, depth, normals and boxes; None keeps the world's."""
    tar_bytes: int | None = None
    """The largest size of a tar; None writes one file per image, even if the world has tars."""


class RecordedScenes:
    """The rendered scenes of a world in the order of its table; holds a few in memory at a time."""

    def __init__(self, world: World):
        self._world = world

    def __len__(self) -> int:
        return int(self._world.manifest["scenes"] - self._world.manifest["failed"])

    def __iter__(self) -> Iterator[Recorded]:
        for row in _rows(self._world, ["scene_id", "cluster_id", "twin_of", "scene", "status"]):
            if row["status"] == "ok":
                yield Recorded(row["scene_id"], row["scene"], row["cluster_id"], row["twin_of"])


def default_folder(source: Dataset, changes: Changes) -> Path:
    """Return the folder to render into if the user names none, in the working directory.

    Args:
        source: The dataset to render again.
        changes: What to change.
    """
    width, height = _size(source, changes)
    return Path(f"{source.root.resolve().name}-again-{width}x{height}")


def prepare_rerender(source: Dataset, changes: Changes) -> Work:
    """Return the scenes of a dataset as work.

    Args:
        source: The dataset to render again.
        changes: What to change.

    Returns:
        Its rendered scenes, and the request of the new world.

    Raises:
        UserError: The aspect ratio would change, or the meshes of the world are missing here.
    """
    request_before = source.world.manifest["request"]
    check_assets(request_before.get("assets"))
    width, height = _size(source, changes)
    if width * request_before["height"] != height * request_before["width"]:
        raise UserError(
            f"--resolution {width}x{height} has another aspect ratio than "
            f"{request_before['width']}x{request_before['height']}, for which the scenes of "
            f"{source.root} were placed; take a multiple or a fraction of that, such as "
            f"{2 * request_before['width']}x{2 * request_before['height']}."
        )
    rendering = Rendering(
        quality=changes.quality or request_before["quality"]["name"],
        outputs=source.world.outputs if changes.outputs is None else changes.outputs,
        device=changes.device,
        tar_bytes=changes.tar_bytes,
    )
    # What the new world is made from; the images of a world that was rendered again before have an
    # origin of their own.
    origin = {"world": source.world.digest}
    for key in _RECORDED:
        if key in request_before:
            origin[key] = request_before[key]
    request = dict(request_before)
    request.pop("tar_bytes", None)
    request |= {"width": width, "height": height, **rendering.request, "from": origin}
    return Work(request, RecordedScenes(source.world))


def _size(source: Dataset, changes: Changes) -> tuple[int, int]:
    """Width and height of the new images, pixels."""
    request = source.world.manifest["request"]
    return changes.size or (request["width"], request["height"])


def rerender(
    source: Dataset, work: Work, *, root: Path, farm: Farm, progress: Progress = SILENT
) -> World:
    """Render the scenes of a dataset again and copy its benchmarks.

    Texts do not depend on pixels. Certificates are not copied: they hold for the other world.

    Args:
        source: The dataset to render again.
        work: Its scenes, from `prepare_rerender`.
        root: The folder to write.
        farm: Where to render.
        progress: Where progress is reported.

    Returns:
        The new world.

    Raises:
        UserError: `root` is the dataset itself; or as `render_work`.
    """
    check_own_files(source.root)
    if root.resolve() == source.root.resolve():
        raise UserError(f"--out {root} is the dataset to render again; choose another --out.")
    # Scenes without a pose stay failed.
    failed_answers = []
    for row in _rows(source.world, ["scene_id", "cluster_id", "twin_of", "status", "reason"]):
        if row["status"] != "ok":
            answer = {name: row[name] for name in ("scene_id", "cluster_id", "twin_of")}
            failed_answers.append({**answer, "failed": row["reason"]})
    world = render_work(
        work, source.root, root=root, farm=farm, progress=progress, failed=failed_answers
    )
    for name in source.benchmark_names():
        if file_in(source.root, f"benchmarks/{name}/manifest.json").exists():
            _copy_benchmark(source.benchmark(name), root / "benchmarks" / name, world)
    write_index(root)
    return world


def _copy_benchmark(source: Benchmark, target: Path, world: World) -> None:
    """Copy the files that a benchmark lists, and no others."""
    manifest = {**source.manifest, "world": world.digest}
    manifest_path = target / "manifest.json"
    if manifest_path.exists() and read_json(manifest_path) == manifest:
        # Copied already, and perhaps certified since.
        return
    with draft_folder_of(target) as draft:
        copy_files(source.folder, (SUMS, *source.sums), draft)
        write_json(draft / "manifest.json", manifest)
        if target.exists():
            shutil.rmtree(target)


def _rows(world: World, columns: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a world's table of scenes, a few in memory at a time."""
    for batch in world.batches("scenes", columns, 200):
        yield from batch.to_pylist()
