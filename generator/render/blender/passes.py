"""What the centre of each pixel shows: which object, how deep, facing where; by rays on the meshes that are rendered.

Rays and not the engine's own passes: these blend neighbouring surfaces at every edge, and differ between engines,
qualities and devices.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from generator.dataset.outputs import Box, Extent, Surfaces
from generator.scene.projection import axes, project, ray
from generator.scene.scene import Camera, Scene, SceneObject

_Hits = tuple[np.ndarray, np.ndarray]  # depth [n], infinite for a miss; unit normals [n, 3]


class Passes:
    """Casts a ray through every pixel on posed copies of unit meshes and on the ground; their trees are built once.

    `ground` gives the mesh of an environment's ground, in world coordinates.
    """

    def __init__(
        self, meshes: Mapping[str, bpy.types.Mesh], ground: Callable[[str], bpy.types.Mesh], width: int, height: int
    ):
        self._bodies = {name: _Body(mesh) for name, mesh in meshes.items()}
        self._ground = cache(lambda environment: _Body(ground(environment)))
        self._size = (width, height)

    def look(self, scene: Scene, scales: Sequence[float]) -> Surfaces:
        """What each pixel shows of a scene, `scales` being the objects' scales."""
        width, height = self._size
        mask = np.zeros((height, width), np.uint8)
        depth = np.full((height, width), math.inf)
        normals = np.zeros((height, width, 3))
        wholes = []
        for i, (thing, scale) in enumerate(zip(scene.objects, scales, strict=True)):
            rows, columns = self._around(scene.camera, thing, scale)
            deep, facing = self._cast(self._bodies[thing.category], scene.camera, rows, columns, thing, scale)
            wholes.append((rows[deep < math.inf], columns[deep < math.inf]))
            nearer = deep < depth[rows, columns]
            there = rows[nearer], columns[nearer]
            mask[there], depth[there], normals[there] = i + 1, deep[nearer], facing[nearer]
        rows, columns = np.nonzero(mask == 0)
        depth[rows, columns], normals[rows, columns] = self._cast(
            self._ground(scene.environment), scene.camera, rows, columns
        )
        turn = np.array(axes(scene.camera.position, scene.camera.target))
        extents = [self._extent(scene, i, scales[i], mask, whole) for i, whole in enumerate(wholes)]
        return Surfaces(mask, depth.astype(np.float32), (normals @ turn.T).astype(np.float32), extents)

    def _around(self, camera: Camera, thing: SceneObject, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the pixels that may show an object."""
        x, y, z = _turned(self._bodies[thing.category].vertices * scale, thing.heading).T
        column, row, _ = project(
            camera, x + thing.position[0], y + thing.position[1], z + thing.position[2], *self._size
        )
        width, height = self._size
        left, right = (min(max(int(edge), 0), width) for edge in (column.min(), column.max() + 1))
        top, bottom = (min(max(int(edge), 0), height) for edge in (row.min(), row.max() + 1))
        rows, columns = np.mgrid[top:bottom, left:right]
        return rows.ravel(), columns.ravel()

    def _cast(
        self, body: "_Body", camera: Camera, rows: np.ndarray, columns: np.ndarray,
        thing: SceneObject | None = None, scale: float = 1.0,
    ) -> _Hits:  # fmt: skip
        """Where the rays of pixels meet a body, posed as an object or standing as it is; normals in world axes."""
        position, heading = (thing.position, thing.heading) if thing else ((0.0, 0.0, 0.0), 0.0)
        directions = np.stack(np.broadcast_arrays(*ray(camera, columns + 0.5, rows + 0.5, *self._size)), axis=-1)
        origin = np.subtract(camera.position, position)[None] / scale
        depth, normals = body.cast(_turned(origin, -heading)[0], _turned(directions, -heading))
        return depth * scale, _turned(normals, heading)

    def _extent(
        self, scene: Scene, i: int, scale: float, mask: np.ndarray, whole: tuple[np.ndarray, np.ndarray]
    ) -> Extent:
        thing = scene.objects[i]
        seen = np.nonzero(mask == i + 1)
        x, y, z = thing.position
        middle = z + scale * float(self._bodies[thing.category].vertices[:, 2].max()) / 2
        column, row, _ = project(scene.camera, x, y, middle, *self._size)
        share = len(seen[0]) / len(whole[0]) if len(whole[0]) else 0.0
        return Extent(
            i, thing.category, (round(column, 3), round(row, 3)), _box(*whole), _box(*seen), len(seen[0]), round(share, 6)
        )  # fmt: skip


class _Body:
    """A mesh as rays meet it: triangles in a tree, and at each corner the normal that it is shaded with."""

    def __init__(self, mesh: bpy.types.Mesh):
        mesh.calc_loop_triangles()
        triangles = mesh.loop_triangles
        self.vertices = _read(mesh.vertices, "co", 3, np.float32).astype(np.float64)
        corners = _read(triangles, "vertices", 3, np.int32)
        self._corners = self.vertices[corners]
        self._normals = _read(mesh.corner_normals, "vector", 3, np.float32)[_read(triangles, "loops", 3, np.int32)]
        self._tree = BVHTree.FromPolygons(self.vertices.tolist(), corners.tolist(), all_triangles=True)

    def cast(self, origin: np.ndarray, directions: np.ndarray) -> _Hits:
        """How far each ray goes, in lengths of its direction, until it meets the body; and the normals there."""
        start, found = Vector(origin), np.full(len(directions), -1)
        for k, direction in enumerate(directions.tolist()):
            triangle = self._tree.ray_cast(start, Vector(direction))[2]
            if triangle is not None:
                found[k] = triangle
        hit = found >= 0
        far, normals = np.full(len(found), math.inf), np.zeros((len(found), 3))
        far[hit], normals[hit] = self._meet(found[hit], origin, directions[hit])
        return far, normals

    def _meet(self, triangles: np.ndarray, origin: np.ndarray, directions: np.ndarray) -> _Hits:
        """Where rays meet the planes of triangles, in double precision, and the normals blended from the corners."""
        a, b, c = np.moveaxis(self._corners[triangles], 1, 0)
        across = np.cross(b - a, c - a)
        far = _dots(across, a - origin) / _dots(across, directions)
        point = origin + far[:, None] * directions
        area = _dots(across, across)
        of_b, of_c = _dots(np.cross(point - a, c - a), across) / area, _dots(np.cross(b - a, point - a), across) / area
        shares = np.stack([1 - of_b - of_c, of_b, of_c], axis=-1)
        normals = np.einsum("nk,nkx->nx", shares, self._normals[triangles].astype(np.float64))
        return far, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def _read(collection: bpy.types.bpy_prop_collection, name: str, width: int, kind: type) -> np.ndarray:
    values: np.ndarray = np.empty(len(collection) * width, kind)
    collection.foreach_get(name, values)
    return values.reshape(-1, width)


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    """Points [n, 3] turned about the vertical, counter-clockwise seen from above."""
    cos, sin = math.cos(angle), math.sin(angle)
    x, y, z = points.T
    return np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=-1)


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("nx,nx->n", a, b)


def _box(rows: np.ndarray, columns: np.ndarray) -> Box | None:
    if not len(rows):
        return None
    return (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
