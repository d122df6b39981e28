"""Seen from another side: turns a camera about the vertical, and makes the turn twin of a scene.

An azimuth is the angle, in degrees and counter-clockwise as seen from above, by which the camera
stands away from the place where the family has it. Objects and lamps stand in the world, so they do
not turn with the camera.
"""

import math
from dataclasses import replace

from generator.scene.scene import Camera, Point, Scene
from generator.vocabulary.schema import Vocabulary


def turned_camera(camera: Camera, degrees: float, *, about: Point = (0.0, 0.0, 0.0)) -> Camera:
    """Turn a camera, with the point that it looks at, about a vertical axis.

    Args:
        camera: The camera.
        degrees: The turn, counter-clockwise as seen from above.
        about: A point of the axis, metres.

    Returns:
        The camera, at the same height; to the micrometre.

    Example:
        >>> turned_camera(Camera((0.0, -2.0, 1.0), (0.0, 0.0, 0.0), 35.0, 32.0), 90).position
        (2.0, 0.0, 1.0)
    """
    return replace(
        camera,
        position=_turned_point(camera.position, degrees, about),
        target=_turned_point(camera.target, degrees, about),
    )


def turned(scene: Scene, degrees: float, vocabulary: Vocabulary) -> Scene:
    """Return the turn twin of a scene: the same world, with the camera turned about the point that
    it looks at.

    Objects keep their order, which is the one from left to right only in the first scene. So object
    i of both scenes is the same object.

    Args:
        scene: The scene, which has an azimuth.
        degrees: The turn, counter-clockwise as seen from above.
        vocabulary: Of the world.

    Returns:
        The twin. Its yaw is another one only in a photographed place, whose panorama stays where it
        is while the camera turns.
    """
    camera = turned_camera(scene.camera, degrees, about=scene.camera.target)
    azimuth = round(((scene.azimuth or 0.0) + degrees) % 360, 6)
    yaw = scene.yaw
    if vocabulary.environments[scene.environment].photo is not None:
        # A camera that turns to the left looks at what is further left in the panorama.
        yaw = round((scene.yaw - degrees) % 360, 3)
    return replace(scene, camera=camera, azimuth=azimuth, yaw=yaw)


def _turned_point(point: Point, degrees: float, about: Point) -> Point:
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    middle_x, middle_y, _ = about
    x, y = point[0] - middle_x, point[1] - middle_y
    # Adding 0 makes 0 of -0, which would be written as another number.
    turned_x = round(middle_x + x * cos - y * sin, 6) + 0.0
    turned_y = round(middle_y + x * sin + y * cos, 6) + 0.0
    return (turned_x, turned_y, point[2])
