"""Exchanges: the second scene of a minimal pair differs from the first in nothing else."""

import math

import pytest

from generator.scene.exchange import Exchange, exchanged, with_room
from generator.scene.scene import Scene
from tests.generator.scenes import VOCABULARY, scene_of

RED, BLUE = {"color": "red", "size": "large"}, {"color": "blue", "size": "small"}


def scene() -> Scene:
    return scene_of(("cube", RED), ("cone", BLUE), ("torus", {}))


def test_two_objects_exchange_their_positions_and_keep_their_turn_to_the_camera() -> None:
    before, after = scene(), exchanged(scene(), Exchange(None, 0, 1))
    assert [obj.category for obj in after.objects] == ["cone", "cube", "torus"]
    assert [obj.position for obj in after.objects] == [obj.position for obj in before.objects]
    x, y, _ = before.camera.position

    def turn(moved: Scene, i: int) -> float:
        obj = moved.objects[i]
        return obj.heading - math.atan2(y - obj.position[1], x - obj.position[0])

    for was, now in ((0, 1), (1, 0)):
        assert turn(after, now) == pytest.approx(turn(before, was), abs=1e-6)
    assert exchanged(after, Exchange(None, 0, 1)) == before


def test_places_are_sought_for_the_larger_of_the_two() -> None:
    objects = (("cube", {**RED}), ("cone", {**BLUE}), ("torus", {**BLUE}))
    roomy = with_room(objects, Exchange("color", 0, 1), VOCABULARY)
    assert [values["size"] for _, values in roomy] == ["large", "large", "small"]
    assert with_room(objects, None, VOCABULARY) == objects
