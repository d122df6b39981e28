"""What tells the two scenes of a minimal pair apart: two objects have exchanged a value or their places."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from generator.scene.relations import Point
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

Objects = tuple[tuple[str, dict[str, str]], ...]


class Exchange(NamedTuple):
    """`first` and `second`, by their places from left to right, exchange their values of the attribute kind `kind`; or
    where that is None their places on the ground, so that what is left of the other comes to its right."""

    kind: str | None
    first: int
    second: int


def exchanged(scene: Scene, exchange: Exchange) -> Scene:
    """The twin of a scene: everything else is as it was.

    Objects are listed from left to right again. An object that changes its place keeps its turn towards the camera, so
    that it shows the same side.
    """
    one, other = scene.objects[exchange.first], scene.objects[exchange.second]
    if exchange.kind is None:
        new = _moved(other, one.position, scene.camera), _moved(one, other.position, scene.camera)
    else:
        new = _given(one, other, exchange.kind), _given(other, one, exchange.kind)
    objects = list(scene.objects)
    objects[exchange.first], objects[exchange.second] = new
    return replace(scene, objects=tuple(objects))


def with_room(objects: Objects, exchange: Exchange | None, vocabulary: Vocabulary) -> Objects:
    """Objects (category, attribute values) of which those that exchange anything are as large as the larger of them, so
    that places which are found for them suit both scenes."""
    if exchange is None:
        return objects
    kind = next(kind for kind, values in vocabulary.attributes.items() if any(each.scale for each in values.values()))
    two = (exchange.first, exchange.second)
    largest = max((objects[i][1][kind] for i in two), key=lambda value: vocabulary.attributes[kind][value].scale or 0)
    return tuple(
        (category, {**values, kind: largest} if i in two else values) for i, (category, values) in enumerate(objects)
    )


def swapped(values: Sequence[str], exchange: Exchange) -> list[str]:
    """Something that each object has, after the two have exchanged it."""
    new = list(values)
    new[exchange.first], new[exchange.second] = new[exchange.second], new[exchange.first]
    return new


def _given(thing: SceneObject, other: SceneObject, kind: str) -> SceneObject:
    return replace(thing, attributes={**thing.attributes, kind: other.attributes[kind]})


def _moved(thing: SceneObject, place: Point, camera: Camera) -> SceneObject:
    turn = _facing(place, camera) - _facing(thing.position, camera)
    return replace(thing, position=place, heading=round(thing.heading + turn, 6))


def _facing(place: Point, camera: Camera) -> float:
    return math.atan2(camera.position[1] - place[1], camera.position[0] - place[0])
