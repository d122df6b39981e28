"""Makes the second scene of a minimal pair: two objects exchange a value, or their places."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

Objects = tuple[tuple[str, dict[str, str]], ...]
VALUES, PLACES, BOTH = EXCHANGES = ("values", "places", "both")
"""What the twins of a world exchange: their values of the tested kind, their places, or each in
half of the pairs."""


class Exchange(NamedTuple):
    """An exchange of a property between two objects.

    `first` and `second` are their ranks from left to right. They exchange their values of the
    attribute kind `kind`;
    None: they swap ground positions, which reverses left and right.
    """

    kind: str | None
    first: int
    second: int


def exchanged(scene: Scene, exchange: Exchange) -> Scene:
    """The twin of a scene: the same scene after the exchange.

    Objects stay listed from left to right. A moved object keeps its angle to the camera, so it
    shows the same side.
    """
    one, other = scene.objects[exchange.first], scene.objects[exchange.second]
    if exchange.kind is None:
        new = _moved(other, one.position, scene.camera), _moved(one, other.position, scene.camera)
    else:
        new = _with_value_of(one, other, exchange.kind), _with_value_of(other, one, exchange.kind)
    objects = list(scene.objects)
    objects[exchange.first], objects[exchange.second] = new
    return replace(scene, objects=tuple(objects))


def with_room(objects: Objects, exchange: Exchange | None, vocabulary: Vocabulary) -> Objects:
    """Replace both exchanged objects by the combination of their categories and sizes that reaches
    furthest.

    Positions found for these objects fit both scenes of the pair.
    """
    if exchange is None:
        return objects
    kind = next(
        kind
        for kind, values in vocabulary.attributes.items()
        if any(each.scale for each in values.values())
    )
    two = [objects[exchange.first], objects[exchange.second]]
    sized = [
        (category, {**values, kind: other[kind]}) for category, values in two for _, other in two
    ]
    largest = max(sized, key=lambda each: vocabulary.reach(*each))
    return tuple(
        largest if i in (exchange.first, exchange.second) else each
        for i, each in enumerate(objects)
    )


def swapped(values: Sequence[str], exchange: Exchange) -> list[str]:
    """A copy of a list with an entry per object; the entries of the two objects are swapped."""
    new = list(values)
    new[exchange.first], new[exchange.second] = new[exchange.second], new[exchange.first]
    return new


def _with_value_of(obj: SceneObject, other: SceneObject, kind: str) -> SceneObject:
    return replace(obj, attributes={**obj.attributes, kind: other.attributes[kind]})


def _moved(obj: SceneObject, position: Point, camera: Camera) -> SceneObject:
    turn = _towards(camera, position) - _towards(camera, obj.position)
    return replace(obj, position=position, heading=round(obj.heading + turn, 6))


def _towards(camera: Camera, position: Point) -> float:
    """The heading from a position to the camera, radians."""
    return math.atan2(camera.position[1] - position[1], camera.position[0] - position[0])
