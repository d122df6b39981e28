"""`gen export clevr`: a dataset in CLEVR's file format, field for field
(github.com/facebookresearch/clevr-dataset-gen).

FOLDER/scenes/CLEVR_<split>_scenes.json and FOLDER/images/<split>/CLEVR_<split>_000000.png, and
FOLDER/metadata.json with the values of the family, for CLEVR's question generator
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from generator.assets.sets import mesh_height
from generator.base.errors import UserError, did_you_mean
from generator.base.files import write_json
from generator.dataset.reader import Benchmark, World
from generator.exports.clevr_metadata import clevr_metadata
from generator.exports.training import whole_folder
from generator.scene.projection import project
from generator.scene.relations import ground_directions
from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

KINDS = ("size", "material", "color")
NO_SPLIT = "none"
"""The split name for scenes of a benchmark that are in no split, such as asymmetric scenes of a
grid."""
MARGIN = (
    0.2  # metres, CLEVR's: two objects closer than this along a direction are not related by it
)


def export_clevr(
    world: World, benchmark: Benchmark, splits: tuple[str, ...], info: Mapping[str, str], out: Path
) -> dict[str, int]:
    """Write scenes and images of the splits (all if none is named) into `out`; returns the number
    of scenes by split.

    Rendered scenes that the benchmark does not use form the split NO_SPLIT. Scenes are numbered
    within their split in the order of their scene_ids. `info` has the date, version and license
    that CLEVR's files name. Raises UserError if objects have other attributes than CLEVR's, if
    there is no such split, or if `out` is not empty.
    """
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    check_family(vocabulary)
    split_of = _splits(benchmark, splits)
    names = list(dict.fromkeys(split_of.values()))
    values = {
        "shape": list(vocabulary.objects),
        **{kind: list(vocabulary.attributes[kind]) for kind in KINDS},
    }
    with whole_folder(out) as folder, ExitStack() as stack:
        write_json(folder / "metadata.json", clevr_metadata(values))
        files = {name: stack.enter_context(_Split(folder, name, info)) for name in names}
        for scene_id, record, size in _scenes(world):
            if name := split_of.get(scene_id):
                image = world.read(f"images/{scene_id}.png")
                files[name].add(describe_scene(Scene.from_json(record), vocabulary, size), image)
    return {name: files[name].number for name in names}


def check_family(vocabulary: Vocabulary) -> None:
    """Raise UserError unless objects have CLEVR's four fields and no others."""
    if vocabulary.category != "shape" or sorted(vocabulary.attributes) != sorted(KINDS):
        raise UserError(
            f"CLEVR's objects have shape, {', '.join(KINDS)}; objects of the family "
            f"'{vocabulary.name}' have "
            f"{', '.join((vocabulary.category, *vocabulary.attributes))}; export a family with "
            f"CLEVR's attributes, such as clevr-original."
        )


def describe_scene(scene: Scene, vocabulary: Vocabulary, size: tuple[int, int]) -> dict[str, Any]:
    """A scene as CLEVR records it: objects, relationships, directions. `size`: (width, height) of
    its image, pixels."""
    objects = [_describe(obj, scene.camera, vocabulary, size) for obj in scene.objects]
    ground = {name: (x, y, 0.0) for name, (x, y) in ground_directions(scene.camera).items()}
    places = [each["3d_coords"] for each in objects]
    return {
        "objects": objects,
        "relationships": {name: _related(places, direction) for name, direction in ground.items()},
        "directions": {**ground, "above": (0.0, 0.0, 1.0), "below": (0.0, 0.0, -1.0)},
    }


def _describe(
    obj: SceneObject, camera: Camera, vocabulary: Vocabulary, size: tuple[int, int]
) -> dict[str, Any]:
    scale = vocabulary.scale(obj.category, obj.attributes)
    x, y, foot = obj.position
    centre = (
        x,
        y,
        foot + scale * mesh_height(vocabulary.meshes[obj.category], vocabulary.assets) / 2,
    )
    column, row, depth = project(camera, *centre, *size)
    return {
        "shape": obj.category,
        **{kind: obj.attributes[kind] for kind in KINDS},
        "3d_coords": centre,
        "rotation": math.degrees(obj.heading) % 360,
        "pixel_coords": (round(column), round(row), depth),
    }


def _related(places: list[Point], direction: Point) -> list[list[int]]:
    """For each object the indices of the objects that lie further along a direction by more than
    the margin."""
    along = [sum(a * b for a, b in zip(place, direction, strict=True)) for place in places]
    return [[j for j, there in enumerate(along) if there - here > MARGIN] for here in along]


def _splits(benchmark: Benchmark, wanted: tuple[str, ...]) -> dict[str, str]:
    """The split of each scene to write."""
    pairs = zip(
        benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True
    )
    split_of = {scene_id: NO_SPLIT if split is None else split for scene_id, split in pairs}
    there = sorted(set(split_of.values()))
    for split in wanted:
        if split not in there:
            raise UserError(
                f"The benchmark {benchmark.name} has no split '{split}'; "
                f"{did_you_mean(split, there)}"
            )
    return {scene_id: split for scene_id, split in split_of.items() if split in (wanted or there)}


def _scenes(world: World) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yields scene_id, record (JSON) and image size (width, height) of every rendered scene."""
    for batch in world.batches("scenes", ["scene_id", "status", "scene", "width", "height"]):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                yield row["scene_id"], row["scene"], (row["width"], row["height"])


class _Split:
    """The scene file of a split, written scene by scene, and the folder of its images."""

    def __init__(self, out: Path, name: str, info: Mapping[str, str]):
        self.number, self._name, self._images = 0, name, out / "images" / name
        self._images.mkdir(parents=True)
        (out / "scenes").mkdir(exist_ok=True)
        self._file = (out / "scenes" / f"CLEVR_{name}_scenes.json").open("w", encoding="utf-8")
        self._file.write(f'{{"info": {json.dumps({**info, "split": name})}, "scenes": [')

    def add(self, scene: Mapping[str, Any], image: bytes) -> None:
        name = f"CLEVR_{self._name}_{self.number:06d}.png"
        (self._images / name).write_bytes(image)
        head = {"split": self._name, "image_index": self.number, "image_filename": name}
        self._file.write(("," if self.number else "") + "\n" + json.dumps({**head, **scene}))
        self.number += 1

    def __enter__(self) -> "_Split":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.write("\n]}\n")
        self._file.close()
