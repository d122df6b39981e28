"""Reads the rendered scenes of a world for describing."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from generator.dataset.reader import World
from generator.scene.scene import Scene


class RenderedScene(NamedTuple):
    """A rendered scene and the salience of its objects (empty where it was not asked for)."""

    scene_id: str
    twin_of: str | None
    scene: Scene
    salience: tuple[float, ...]


def rendered_scenes(world: World, with_salience: bool) -> Iterator[RenderedScene]:
    """Every rendered scene, in the order of the table; a twin comes right after its scene."""
    columns = ["scene_id", "twin_of", "scene", "status", "width", "height", *(["objects"] if with_salience else [])]
    for batch in world.batches("scenes", columns):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                salience = _salience(row) if with_salience else ()
                yield RenderedScene(row["scene_id"], row["twin_of"], Scene.from_json(row["scene"]), salience)


def most_objects(world: World) -> int:
    """The largest number of objects in a rendered scene; 1 if no scene is rendered, as the check of splits says then."""
    return max(
        (
            len(row["objects"])
            for batch in world.batches("scenes", ["objects", "status"], 500)
            for row in batch.to_pylist()
            if row["status"] == "ok"
        ),
        default=1,
    )


def _salience(row: Mapping[str, Any]) -> tuple[float, ...]:
    """How much each object stands out: the square root of its visible share of the image, minus its distance from the
    middle (1 in a corner)."""
    width, height = row["width"], row["height"]
    found = []
    for seen in row["objects"]:
        left, top, right, bottom = seen["amodal_box"]
        area = max(0, right - left) * max(0, bottom - top) * seen["visible_fraction_estimate"] / (width * height)
        x, y = (left + right) / width - 1, (top + bottom) / height - 1
        found.append(area**0.5 - ((x * x + y * y) / 2) ** 0.5)
    return tuple(found)
