"""Render the recorded scenes of a world again: at another size or quality, or with other outputs."""

import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from generator.assets.lookup import check_assets
from generator.dataset.errors import UserError
from generator.dataset.files import read_json, write_json
from generator.dataset.reader import Dataset, World
from generator.dataset.writer import write_index
from generator.plan.record import Planned
from generator.render.device import Backend
from generator.render.estimate import seconds_a_scene
from generator.render.farm.choice import Farm
from generator.render.quality import read_quality
from generator.render.run import Work, blender_version, carry_out, quality_request
from generator.vocabulary.schema import parse_vocabulary

_LOOK = ("width", "height", "quality", "outputs", "engine", "device", "blender")
_STORAGE = ("tar_bytes",)  # how a world's files lie is no matter of what they show


@dataclass(frozen=True)
class Look:
    """How scenes are to be rendered again, and by what; None leaves it as it was."""

    backend: Backend
    size: tuple[int, int] | None = None
    quality: str | None = None
    outputs: tuple[str, ...] | None = None


class Recorded(Collection[Planned]):
    """The rendered scenes of a world, in the order of its table, a few in memory at a time."""

    def __init__(self, world: World):
        self._world = world

    def __len__(self) -> int:
        return int(self._world.manifest["scenes"] - self._world.manifest["failed"])

    def __iter__(self) -> Iterator[Planned]:
        for row in _rows(self._world, ["scene_id", "cluster_id", "twin_of", "scene", "status"]):
            if row["status"] == "ok":
                yield Planned(
                    row["scene_id"], row["cluster_id"], (), (), "", twin_of=row["twin_of"], record=row["scene"]
                )

    def __contains__(self, planned: object) -> bool:
        return any(planned == each for each in self)


def prepare_again(source: Dataset, look: Look, root: Path) -> Work:
    """What is to be rendered into `root`. Raises UserError where the image would have another shape."""
    before = source.world.manifest["request"]
    check_assets(before.get("assets"))
    width, height = look.size or (before["width"], before["height"])
    if width * before["height"] != height * before["width"]:
        raise UserError(
            f"--resolution {width}x{height} has another shape than the {before['width']}x{before['height']} for which the scenes "
            f"of {source.root} were placed; take a multiple or a part of it, such as {2 * before['width']}x{2 * before['height']}."
        )
    name = look.quality or before["quality"]["name"]
    quality = read_quality(name)
    outputs = before.get("outputs", []) if look.outputs is None else list(look.outputs)
    kept = {key: value for key, value in before.items() if key not in _STORAGE}
    request = {
        **kept, "width": width, "height": height, "quality": quality_request(name), "outputs": outputs, "blender": blender_version(),
        **asdict(look.backend),
        "from": {"world": source.world.digest, **{key: before[key] for key in (*_LOOK, "from") if key in before}},
    }  # fmt: skip
    setup = {
        "vocabulary": source.world.vocabulary_text, "quality": quality.model_dump(), "width": width, "height": height,
        "seed": before["seed"], "folder": str((root / "world").resolve()), "outputs": outputs,
        "assets": before.get("assets"), **asdict(look.backend),
    }  # fmt: skip
    vocabulary = parse_vocabulary(source.world.vocabulary_text, "vocabulary.toml")
    seconds = seconds_a_scene(width, height, quality, outputs, vocabulary)
    return Work(request, source.world.vocabulary_text, Recorded(source.world), setup, seconds)


def render_again(source: Dataset, work: Work, root: Path, farm: Farm) -> World:
    """Render a world's scenes into `root`, and put its benchmarks over them: their texts say nothing of pixels.

    A benchmark comes without its certificate, which is one of the other world.
    """
    if root.resolve() == source.root.resolve():
        raise UserError(f"--out {root} is the dataset that is rendered again; choose another --out.")
    failed = [
        {
            "scene_id": row["scene_id"],
            "cluster_id": row["cluster_id"],
            "twin_of": row["twin_of"],
            "failed": row["reason"],
        }
        for row in _rows(source.world, ["scene_id", "cluster_id", "twin_of", "status", "reason"])
        if row["status"] != "ok"
    ]
    world = carry_out(work, root, farm, failed)
    for manifest in sorted(source.root.glob("benchmarks/[!.]*/manifest.json")):
        _carry_over(manifest.parent, root / "benchmarks" / manifest.parent.name, world)
    write_index(root)
    return world


def _carry_over(source: Path, target: Path, world: World) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copytree(source, draft, ignore=shutil.ignore_patterns(".*", "manifest.json", "verify.json"))
        write_json(draft / "manifest.json", {**read_json(source / "manifest.json"), "world": world.digest})
        if target.exists():
            shutil.rmtree(target)
        os.replace(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _rows(world: World, columns: list[str]) -> Iterator[dict[str, Any]]:
    for batch in world.batches("scenes", columns, 200):
        yield from batch.to_pylist()
