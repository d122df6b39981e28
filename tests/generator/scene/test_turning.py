"""A scene from another side: what stands in the world stays there."""

import math
from dataclasses import replace

import pytest

from generator.scene.scene import Scene
from generator.scene.turning import turned
from generator.vocabulary.schema import read_vocabulary
from tests.generator.scenes import scene_of

SCENE = scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"}))
PHOTO = read_vocabulary("photo")


def view_angle(scene: Scene) -> float:
    """The direction in which the camera looks along the ground, degrees counter-clockwise."""
    x, y, _ = scene.camera.position
    target_x, target_y, _ = scene.camera.target
    return math.degrees(math.atan2(target_y - y, target_x - x))


@pytest.mark.parametrize("degrees", [90.0, 180.0, 270.0])
def test_a_panorama_stays_where_it_is_while_the_camera_turns(degrees: float) -> None:
    """The yaw says what part of the panorama is in the middle of the image, in degrees to the
    right. A camera that turns to the left sees what is further left by as much."""
    place = next(iter(PHOTO.environments))
    scene = replace(SCENE, environment=place, yaw=40.0, azimuth=0.0)
    twin = turned(scene, degrees, PHOTO)
    turn_of_camera = view_angle(twin) - view_angle(scene)
    assert math.cos(math.radians(turn_of_camera - degrees)) == pytest.approx(1)
    turn_of_panorama = (twin.yaw + view_angle(twin)) - (scene.yaw + view_angle(scene))
    assert math.cos(math.radians(turn_of_panorama)) == pytest.approx(1)


def test_elsewhere_the_yaw_is_that_of_the_world_and_stays() -> None:
    vocabulary = read_vocabulary("clevr")
    scene = replace(SCENE, environment=next(iter(vocabulary.environments)), yaw=40.0, azimuth=0.0)
    twin = turned(scene, 90.0, vocabulary)
    assert (twin.yaw, twin.azimuth) == (40.0, 90.0)
