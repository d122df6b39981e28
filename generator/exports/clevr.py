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
from generator.exports.training import export_folder
from generator.scene.projection import project
from generator.scene.relations import ground_directions
from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

KINDS = ("size", "material", "color")
"""The attributes of CLEVR's objects besides the shape."""
NO_SPLIT = "none"
"""The split name for scenes of a benchmark that are in no split, such as asymmetric scenes of a
grid."""
MARGIN = 0.2
"""CLEVR's margin, metres: two objects closer than this along a direction are not related by it."""


def export_clevr(
    world: World,
    benchmark: Benchmark,
    *,
    splits: tuple[str, ...],
    info: Mapping[str, str],
    out: Path,
) -> dict[str, int]:
    """Write scenes and images in CLEVR's format.

    Rendered scenes that the benchmark does not use form the split NO_SPLIT. Scenes are numbered
    within their split in the order of their scene_ids.

    Args:
        world: The world.
        benchmark: A benchmark over it, which names the splits.
        splits: Splits to write; empty for all.
        info: The date, version and license that CLEVR's files name.
        out: New folder.

    Returns:
        The number of scenes by split.

    Raises:
        UserError: Objects have other attributes than CLEVR's, there is no such split, or `out` is
            not empty.
    """
    # Whatever may be refused comes before anything is written.
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    check_family(vocabulary)
    split_of_scene = _splits_to_write(benchmark, splits)
    names = list(dict.fromkeys(split_of_scene.values()))
    values = {"shape": list(vocabulary.objects)}
    for kind in KINDS:
        values[kind] = list(vocabulary.attributes[kind])

    with export_folder(out) as folder, ExitStack() as stack:
        write_json(folder / "metadata.json", clevr_metadata(values))
        writers = {name: stack.enter_context(_SplitWriter(folder, name, info)) for name in names}
        # One pass in the order of scene_id, which numbers the scenes of every split.
        for scene_id, record, size in _rendered_scenes(world):
            split = split_of_scene.get(scene_id)
            if split is not None:
                scene = describe_scene(Scene.from_json(record), vocabulary, size)
                writers[split].add(scene, world.read(f"images/{scene_id}.png"))
    return {name: writer.number for name, writer in writers.items()}


def check_family(vocabulary: Vocabulary) -> None:
    """Check that objects have CLEVR's four attributes and no others.

    Args:
        vocabulary: The vocabulary of the world.

    Raises:
        UserError: They do not.
    """
    if vocabulary.category != "shape" or sorted(vocabulary.attributes) != sorted(KINDS):
        raise UserError(
            f"CLEVR's objects have shape, {', '.join(KINDS)}; objects of the family "
            f"'{vocabulary.name}' have "
            f"{', '.join((vocabulary.category, *vocabulary.attributes))}; export a family with "
            f"CLEVR's attributes, such as clevr-original."
        )


def describe_scene(scene: Scene, vocabulary: Vocabulary, size: tuple[int, int]) -> dict[str, Any]:
    """Describe a scene as CLEVR records it.

    Args:
        scene: The scene.
        vocabulary: The vocabulary of its world.
        size: Width and height of its image, pixels.

    Returns:
        The objects, relationships and directions of CLEVR's scene file.
    """
    objects = [
        _describe_object(obj, scene.camera, vocabulary=vocabulary, size=size)
        for obj in scene.objects
    ]
    ground = {}
    for name, (x, y) in ground_directions(scene.camera).items():
        ground[name] = (x, y, 0.0)
    positions = [obj["3d_coords"] for obj in objects]
    relationships = {}
    for name, direction in ground.items():
        relationships[name] = _related_objects(positions, direction)
    return {
        "objects": objects,
        "relationships": relationships,
        "directions": {**ground, "above": (0.0, 0.0, 1.0), "below": (0.0, 0.0, -1.0)},
    }


def _describe_object(
    obj: SceneObject, camera: Camera, *, vocabulary: Vocabulary, size: tuple[int, int]
) -> dict[str, Any]:
    scale = vocabulary.scale(obj.category, obj.attributes)
    x, y, foot = obj.position
    # CLEVR records the middle of an object's body, we the point that it stands on.
    height = scale * mesh_height(vocabulary.meshes[obj.category], vocabulary.assets)
    centre = (x, y, foot + height / 2)
    column, row, depth = project(camera, *centre, *size)
    return {
        "shape": obj.category,
        **{kind: obj.attributes[kind] for kind in KINDS},
        "3d_coords": centre,
        # In degrees, as CLEVR's files have it.
        "rotation": math.degrees(obj.heading) % 360,
        "pixel_coords": (round(column), round(row), depth),
    }


def _related_objects(positions: list[Point], direction: Point) -> list[list[int]]:
    """For each object the indices of the objects that lie further along a direction by more than
    the margin."""
    along = []
    for position in positions:
        along.append(sum(a * b for a, b in zip(position, direction, strict=True)))
    related = []
    for own in along:
        related.append([i for i, other in enumerate(along) if other - own > MARGIN])
    return related


def _splits_to_write(benchmark: Benchmark, requested: tuple[str, ...]) -> dict[str, str]:
    """The split of each scene to write, by scene_id. Raises UserError for an unknown split."""
    scene_ids = benchmark.splits["scene_id"].to_pylist()
    split_of_scene = {}
    for scene_id, split in zip(scene_ids, benchmark.splits["split"].to_pylist(), strict=True):
        split_of_scene[scene_id] = NO_SPLIT if split is None else split
    names = sorted(set(split_of_scene.values()))
    for split in requested:
        if split not in names:
            raise UserError(
                f"The benchmark {benchmark.name} has no split '{split}'; "
                f"{did_you_mean(split, names)}"
            )
    # Without a request the split of unused scenes is written too, so no image is lost.
    if not requested:
        return split_of_scene
    return {scene: split for scene, split in split_of_scene.items() if split in requested}


def _rendered_scenes(world: World) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield scene_id, record (JSON) and image size (width, height) of every rendered scene."""
    for batch in world.batches("scenes", ["scene_id", "status", "scene", "width", "height"]):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                yield row["scene_id"], row["scene"], (row["width"], row["height"])


class _SplitWriter:
    """Writes the scene file of a split, scene by scene, and the folder of its images."""

    def __init__(self, out: Path, name: str, info: Mapping[str, str]):
        self.number = 0
        self._name = name
        self._images = out / "images" / name
        self._images.mkdir(parents=True)
        (out / "scenes").mkdir(exist_ok=True)
        # Written by hand, scene by scene, because a split may not fit in memory.
        self._file = (out / "scenes" / f"CLEVR_{name}_scenes.json").open("w", encoding="utf-8")
        self._file.write(f'{{"info": {json.dumps({**info, "split": name})}, "scenes": [')

    def add(self, scene: Mapping[str, Any], image: bytes) -> None:
        """Add a scene.

        Args:
            scene: as `describe_scene` describes it; its place in the split is added here.
            image: the bytes of its PNG file.
        """
        name = f"CLEVR_{self._name}_{self.number:06d}.png"
        (self._images / name).write_bytes(image)
        head = {"split": self._name, "image_index": self.number, "image_filename": name}
        separator = "," if self.number else ""
        self._file.write(separator + "\n" + json.dumps({**head, **scene}))
        self.number += 1

    def __enter__(self) -> "_SplitWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.write("\n]}\n")
        self._file.close()
