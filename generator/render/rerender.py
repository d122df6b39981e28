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


@dataclass(frozen=True)
class Changes:
    """What to change when a world is rendered again; None keeps the setting of the world.

    `device`: one of settings.DEVICES. `size`: width and height in pixels. `quality`: a name.
    `outputs`: masks, depth,
    normals, boxes. `tar_bytes`: the largest size of a tar; None writes one file per image, even if
    the world has tars.
    """

    device: str
    size: tuple[int, int] | None = None
    quality: str | None = None
    outputs: tuple[str, ...] | None = None
    tar_bytes: int | None = None


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
    """The folder to render into if the user names none, in the working directory."""
    width, height = _size(source, changes)
    return Path(f"{source.root.resolve().name}-again-{width}x{height}")


def prepare_rerender(source: Dataset, changes: Changes) -> Work:
    """The scenes of `source` as work. Raises UserError if the aspect ratio would change."""
    before = source.world.manifest["request"]
    check_assets(before.get("assets"))
    width, height = _size(source, changes)
    if width * before["height"] != height * before["width"]:
        raise UserError(
            f"--resolution {width}x{height} has another aspect ratio than "
            f"{before['width']}x{before['height']}, for which the scenes of {source.root} were "
            f"placed; take a multiple or a fraction of that, such as "
            f"{2 * before['width']}x{2 * before['height']}."
        )
    rendering = Rendering(
        changes.quality or before["quality"]["name"],
        source.world.outputs if changes.outputs is None else changes.outputs,
        changes.device,
        tar_bytes=changes.tar_bytes,
    )
    request = {
        **{key: value for key, value in before.items() if key != "tar_bytes"},
        "width": width,
        "height": height,
        **rendering.request,
        "from": {
            "world": source.world.digest,
            **{key: before[key] for key in _RECORDED if key in before},
        },
    }
    return Work(request, RecordedScenes(source.world))


def _size(source: Dataset, changes: Changes) -> tuple[int, int]:
    before = source.world.manifest["request"]
    return changes.size or (before["width"], before["height"])


def rerender(
    source: Dataset, work: Work, root: Path, farm: Farm, progress: Progress = SILENT
) -> World:
    """Render the scenes of `source` into `root` and copy its benchmarks, whose texts do not depend
    on pixels.

    Certificates are not copied: they hold for the other world.
    """
    check_own_files(source.root)
    if root.resolve() == source.root.resolve():
        raise UserError(f"--out {root} is the dataset to render again; choose another --out.")
    failed = [
        {
            **{name: row[name] for name in ("scene_id", "cluster_id", "twin_of")},
            "failed": row["reason"],
        }
        for row in _rows(source.world, ["scene_id", "cluster_id", "twin_of", "status", "reason"])
        if row["status"] != "ok"
    ]
    world = render_work(work, source.root, root, farm, progress, failed)
    for name in source.benchmark_names():
        if file_in(source.root, f"benchmarks/{name}/manifest.json").exists():
            _copy_benchmark(source.benchmark(name), root / "benchmarks" / name, world)
    write_index(root)
    return world


def _copy_benchmark(source: Benchmark, target: Path, world: World) -> None:
    """Copy the files that a benchmark lists, and no others."""
    manifest = {**source.manifest, "world": world.digest}
    if (target / "manifest.json").exists() and read_json(target / "manifest.json") == manifest:
        return  # copied already, and perhaps certified since
    with draft_folder_of(target) as draft:
        copy_files(source.folder, (SUMS, *source.sums), draft)
        write_json(draft / "manifest.json", manifest)
        if target.exists():
            shutil.rmtree(target)


def _rows(world: World, columns: list[str]) -> Iterator[dict[str, Any]]:
    for batch in world.batches("scenes", columns, 200):
        yield from batch.to_pylist()
