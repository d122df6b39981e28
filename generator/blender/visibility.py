"""What the camera sees of each object, by casting rays on Blender's meshes."""

import math
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from generator.projection import project, ray
from generator.scene import Camera, Scene, SceneObject

_Bounds = tuple[float, float, float, float]  # left, top, right, bottom in the image, in pixels
_SIDE = 24  # rays along the longer side of an object's box: its area is known within a few percent


@dataclass(frozen=True)
class Seen:
    """What an image shows of an object.

    `box`: whole pixels [left, top, right, bottom), of the object as if nothing hid it, clipped to the image;
    `pixels`: its visible area in pixels; `visible`: the visible share of it, 0..1.
    """

    box: tuple[int, int, int, int]
    pixels: float
    visible: float


class Eye:
    """Casts rays on posed copies of unit meshes; their trees are built once."""

    def __init__(self, meshes: dict[str, bpy.types.Mesh], width: int, height: int):
        self._size = (width, height)
        self._trees: dict[str, BVHTree] = {}
        self._vertices: dict[str, np.ndarray] = {}
        for name, mesh in meshes.items():
            points = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
            mesh.vertices.foreach_get("co", points)
            self._vertices[name] = points.reshape(-1, 3).astype(np.float64)
            self._trees[name] = BVHTree.FromPolygons(
                self._vertices[name].tolist(), [tuple(p.vertices) for p in mesh.polygons]
            )

    def look(self, scene: Scene, scales: list[float]) -> list[Seen]:
        """What the camera sees of each object, `scales` being the objects' scales."""
        bounds = [self._bounds(scene.camera, thing, scale) for thing, scale in zip(scene.objects, scales, strict=True)]
        return [self._look_at(scene, scales, index, bounds) for index in range(len(bounds))]

    def _look_at(self, scene: Scene, scales: list[float], index: int, bounds: list[_Bounds]) -> Seen:
        left, top, right, bottom = bounds[index]
        near = [k for k, other in enumerate(bounds) if k != index and _overlap(bounds[index], other)]
        step = max(right - left, bottom - top) / _SIDE
        hit = free = 0
        for i in range(math.ceil((bottom - top) / step)):
            for j in range(math.ceil((right - left) / step)):
                distances = self._cast(scene, scales, [index, *near], left + (j + 0.5) * step, top + (i + 0.5) * step)
                hit += distances[0] < math.inf
                free += distances[0] < math.inf and distances[0] == min(distances)
        width, height = self._size
        box = (
            max(0, math.floor(left)),
            max(0, math.floor(top)),
            min(width, math.ceil(right)),
            min(height, math.ceil(bottom)),
        )
        return Seen(box, round(free * step * step, 1), round(free / hit, 3) if hit else 0.0)

    def _bounds(self, camera: Camera, thing: SceneObject, scale: float) -> _Bounds:
        x, y, z = (self._vertices[thing.category] * scale).T
        cos, sin = math.cos(thing.heading), math.sin(thing.heading)
        column, row, _ = project(
            camera,
            x * cos - y * sin + thing.position[0],
            x * sin + y * cos + thing.position[1],
            z + thing.position[2],
            *self._size,
        )
        return float(column.min()), float(row.min()), float(column.max()), float(row.max())

    def _cast(self, scene: Scene, scales: list[float], things: list[int], column: float, row: float) -> list[float]:
        """Distance to each of `things` along the ray through a point of the image; infinite for a miss.

        The others are asked only when the first is hit.
        """
        origin, direction = scene.camera.position, ray(scene.camera, column, row, *self._size)
        distances = [math.inf] * len(things)
        for place, i in enumerate(things):
            thing, scale = scene.objects[i], scales[i]
            cos, sin = math.cos(thing.heading), math.sin(thing.heading)
            dx, dy, dz = (o - p for o, p in zip(origin, thing.position, strict=True))
            local_origin = Vector(((dx * cos + dy * sin) / scale, (dy * cos - dx * sin) / scale, dz / scale))
            local_direction = Vector(
                (direction[0] * cos + direction[1] * sin, direction[1] * cos - direction[0] * sin, direction[2])
            )
            distance = self._trees[thing.category].ray_cast(local_origin, local_direction)[3]
            if distance is not None:
                distances[place] = distance * scale
            elif place == 0:
                break
        return distances


def _overlap(a: _Bounds, b: _Bounds) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
