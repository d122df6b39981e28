"""Where Blender's cameras and lamps stand."""

from mathutils import Matrix

from generator.scene.projection import axes
from generator.scene.scene import Point


def world_from_camera(position: Point, target: Point) -> Matrix:
    """The 4x4 matrix of what stands at `position` and looks at `target` (metres): columns right, up, backward, position."""
    right, up, back = axes(position, target)
    return Matrix([(right[i], up[i], back[i], position[i]) for i in range(3)] + [(0.0, 0.0, 0.0, 1.0)])
