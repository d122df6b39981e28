"""The pinhole camera: projects points of the world into an image and back.

It uses only +, -, *, / and square roots, which IEEE 754 fixes to the bit, so plans are the same on
every machine. The same functions take floats and numpy arrays.
"""

import math
from typing import Any

from generator.scene.scene import Camera, Point

Axes = tuple[Point, Point, Point]
"""Right, up and backward unit vectors."""


def axes(position: Point, target: Point) -> Axes:
    """The axes, in world coordinates, of a camera or lamp at `position` that faces `target`.

    They are the rows of camera_from_world's rotation and the columns of world_from_camera's.

    >>> right, up, back = axes((0.0, -2.0, 0.0), (0.0, 0.0, 0.0))
    >>> right, back
    ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    """
    x, y, z = position
    target_x, target_y, target_z = target
    back = _unit((x - target_x, y - target_y, z - target_z))
    # Level, since up is +z: a camera never rolls.
    right = _unit((-back[1], back[0], 0.0))
    up = (
        back[1] * right[2] - back[2] * right[1],
        back[2] * right[0] - back[0] * right[2],
        back[0] * right[1] - back[1] * right[0],
    )
    return right, up, back


def project(
    camera: Camera, x: Any, y: Any, z: Any, width: int, height: int
) -> tuple[Any, Any, Any]:
    """Pixel coordinates and depth of world points. As in Blender, the sensor width spans the longer
    side of the image.

    Args:
        camera: the camera.
        x: world coordinates in metres, a float or an array; `y` and `z` have the same shape.
        y: as x.
        z: as x.
        width: of the image, pixels.
        height: of the image, pixels.

    Returns:
        (column, row, depth): column and row in pixels from the top left corner, the first pixel's
        centre being (0.5, 0.5); depth in metres along the viewing axis, positive before the camera.

    >>> camera = Camera((0.0, -2.0, 0.0), (0.0, 0.0, 0.0), lens=35.0, sensor=32.0)
    >>> project(camera, 0.0, 1.0, 0.0, 320, 240)
    (160.0, 120.0, 3.0)
    """
    camera_x, camera_y, camera_z = camera.position
    from_camera = (x - camera_x, y - camera_y, z - camera_z)
    right, up, back = axes(camera.position, camera.target)
    depth = -_dot(from_camera, back)
    focal = _focal_pixels(camera, width, height)
    column = width / 2 + focal * _dot(from_camera, right) / depth
    row = height / 2 - focal * _dot(from_camera, up) / depth
    return column, row, depth


def ray(camera: Camera, column: Any, row: Any, width: int, height: int) -> tuple[Any, Any, Any]:
    """The ray through a point of the image, or the rays through arrays of points.

    Args:
        camera: the camera.
        column: of the point, pixels from the left edge: a float or an array.
        row: of the point, pixels from the top, with the shape of `column`.
        width: of the image, pixels.
        height: of the image, pixels.

    Returns:
        Its direction (x, y, z) in world coordinates, scaled to one metre of depth along the viewing
        axis.
    """
    right, up, back = axes(camera.position, camera.target)
    focal = _focal_pixels(camera, width, height)
    to_right = (column - width / 2) / focal
    upward = (height / 2 - row) / focal
    x, y, z = (to_right * right[i] + upward * up[i] - back[i] for i in range(3))
    return x, y, z


def unproject(
    camera: Camera, column: Any, row: Any, depth: Any, width: int, height: int
) -> tuple[Any, Any, Any]:
    """The inverse of `project`: world points, floats or arrays.

    Args:
        camera: the camera.
        column: of the points in the image, pixels from the left edge.
        row: of the points, pixels from the top.
        depth: of the points along the viewing axis, metres.
        width: of the image, pixels.
        height: of the image, pixels.

    Returns:
        (x, y, z) in metres.

    >>> camera = Camera((0.0, -2.0, 0.0), (0.0, 0.0, 0.0), lens=35.0, sensor=32.0)
    >>> unproject(camera, 160.0, 120.0, 3.0, 320, 240)
    (0.0, 1.0, 0.0)
    """
    x, y, z = ray(camera, column, row, width, height)
    camera_x, camera_y, camera_z = camera.position
    return (camera_x + depth * x, camera_y + depth * y, camera_z + depth * z)


def _focal_pixels(camera: Camera, width: int, height: int) -> float:
    """The focal length in pixels: the sensor spans the longer side of the image."""
    return camera.lens / camera.sensor * max(width, height)


def _dot(a: tuple[Any, Any, Any], b: Point) -> Any:
    # Neither sum() nor numpy.dot, which may add in another order, with other last bits.
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _unit(v: Point) -> Point:
    length = math.sqrt(_dot(v, v))
    x, y, z = v
    return (x / length, y / length, z / length)
