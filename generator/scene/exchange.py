"""Makes the second scene of a minimal pair: two objects exchange a value, or their places."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

Objects = tuple[tuple[str, dict[str, str]], ...]
"""The category of each object, and its attribute values by kind."""

VALUES, PLACES, BOTH = EXCHANGES = ("values", "places", "both")
"""What the twins of a world exchange: their values of the tested kind, their places, or each in
half of the pairs."""


class Exchange(NamedTuple):
    """An exchange of a property between two objects."""

    kind: str | None
    """The attribute kind whose values they exchange; None: they swap ground positions, which
    reverses left and right."""
    first: int
    """The rank of one object from left to right."""
    second: int
    """The rank of the other."""


def exchanged(scene: Scene, exchange: Exchange) -> Scene:
    """The twin of a scene: the same scene after the exchange.

    Objects stay listed from left to right. A moved object keeps its angle to the camera, so it
    shows the same side.
    """
    i, j = exchange.first, exchange.second
    first, second = scene.objects[i], scene.objects[j]
    objects = list(scene.objects)
    if exchange.kind is None:
        # The list follows the places, so each object moves in the list too.
        objects[i] = _moved(second, first.position, scene.camera)
        objects[j] = _moved(first, second.position, scene.camera)
    else:
        objects[i] = _with_value_of(first, second, exchange.kind)
        objects[j] = _with_value_of(second, first, exchange.kind)
    return replace(scene, objects=tuple(objects))


def with_room(objects: Objects, exchange: Exchange | None, vocabulary: Vocabulary) -> Objects:
    """Replace both exchanged objects by the combination of their categories and sizes that reaches
    furthest.

    Positions found for these objects fit both scenes of the pair.

    Args:
        objects: of the first scene.
        exchange: what its twin exchanges; None for a scene without a twin.
        vocabulary: of the world.

    Returns:
        The objects to find positions for.
    """
    if exchange is None:
        return objects
    size_kind = _find_size_kind(vocabulary)
    ends = (exchange.first, exchange.second)

    # Either category in either size: an exchange of sizes, or of places, makes some of these.
    combinations = []
    for i in ends:
        category, attributes = objects[i]
        for j in ends:
            _, other_attributes = objects[j]
            size = other_attributes[size_kind]
            combinations.append((category, {**attributes, size_kind: size}))
    largest = max(combinations, key=lambda obj: vocabulary.reach(*obj))
    roomy = list(objects)
    for i in ends:
        roomy[i] = largest
    return tuple(roomy)


def _find_size_kind(vocabulary: Vocabulary) -> str:
    """The attribute kind whose values scale objects."""
    return next(
        kind
        for kind, values in vocabulary.attributes.items()
        if any(value.scale for value in values.values())
    )


def swapped(values: Sequence[str], exchange: Exchange) -> list[str]:
    """A copy of a list with an entry per object; the entries of the two objects are swapped."""
    i, j = exchange.first, exchange.second
    new = list(values)
    new[i], new[j] = values[j], values[i]
    return new


def _with_value_of(obj: SceneObject, other: SceneObject, kind: str) -> SceneObject:
    attributes = {**obj.attributes, kind: other.attributes[kind]}
    return replace(obj, attributes=attributes)


def _moved(obj: SceneObject, position: Point, camera: Camera) -> SceneObject:
    """The object at another position, turned so that it shows the camera the same side."""
    turn = _towards(camera, position) - _towards(camera, obj.position)
    heading = round(obj.heading + turn, 6)
    return replace(obj, position=position, heading=heading)


def _towards(camera: Camera, position: Point) -> float:
    """The heading from a position to the camera, radians."""
    x, y, _ = position
    camera_x, camera_y, _ = camera.position
    return math.atan2(camera_y - y, camera_x - x)
