"""What the camera sees of each object, by casting rays on Blender's meshes."""

import math
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from generator.scene.projection import project, ray
from generator.scene.scene import Camera, Scene, SceneObject

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
        camera = scene.camera
        posed = [
            _Posed(self._trees[thing.category], camera, thing, scale, self._bounds(camera, thing, scale))
            for thing, scale in zip(scene.objects, scales, strict=True)
        ]
        return [self._look_at(camera, one, [other for other in posed if other is not one]) for one in posed]

    def _look_at(self, camera: Camera, one: "_Posed", others: list["_Posed"]) -> Seen:
        """Rays in the middles of the squares of a grid over the object's box; the others are asked where it is hit."""
        left, top, right, bottom = one.bounds
        step = max(right - left, bottom - top) / _SIDE
        columns = left + (np.arange(math.ceil((right - left) / step)) + 0.5) * step
        rows = top + (np.arange(math.ceil((bottom - top) / step)) + 0.5) * step
        points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
        distances = one.distances(camera, points, self._size)
        hit = np.isfinite(distances)
        points, distances = points[hit], distances[hit]
        free = np.ones(len(points), bool)
        for other in others:
            asked = free & other.around(points, step)
            if asked.any():
                free[asked] = distances[asked] <= other.distances(camera, points[asked], self._size)
        width, height = self._size
        box = (
            max(0, math.floor(left)),
            max(0, math.floor(top)),
            min(width, math.ceil(right)),
            min(height, math.ceil(bottom)),
        )
        seen = int(free.sum())
        return Seen(box, round(seen * step * step, 1), round(seen / len(free), 3) if len(free) else 0.0)

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


class _Posed:
    """An object where it stands, as rays from the camera meet it: in the coordinates of its unit mesh."""

    def __init__(self, tree: BVHTree, camera: Camera, thing: SceneObject, scale: float, bounds: _Bounds):
        self.bounds = bounds
        self._cast, self._scale = tree.ray_cast, scale
        self._cos, self._sin = math.cos(thing.heading), math.sin(thing.heading)
        x, y, z = (eye - at for eye, at in zip(camera.position, thing.position, strict=True))
        self._eye = Vector(
            ((x * self._cos + y * self._sin) / scale, (y * self._cos - x * self._sin) / scale, z / scale)
        )

    def around(self, points: np.ndarray, step: float) -> np.ndarray:
        """Whether each point of the image, float (n, 2), is in the object's box or within a `step` of it: bool (n,)."""
        left, top, right, bottom = self.bounds
        column, row = points.T
        return (left - step < column) & (column < right + step) & (top - step < row) & (row < bottom + step)

    def distances(self, camera: Camera, points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """Metres to the object along the rays through points of the image, float (n, 2): float (n,), infinite for a miss."""
        x, y, z = ray(camera, points[:, 0], points[:, 1], *size)
        directions = np.stack([x * self._cos + y * self._sin, y * self._cos - x * self._sin, z], axis=-1)
        found = [self._cast(self._eye, direction)[3] for direction in directions.tolist()]
        return np.array([math.inf if distance is None else distance * self._scale for distance in found])
