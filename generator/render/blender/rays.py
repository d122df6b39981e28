"""Casts rays from the camera through the centres of pixels: masks, depths and normals, and from
them each object's boxes.

The rays are cast on the rendered meshes. The engine's own passes blend neighbouring surfaces at
every edge, and differ between engines, qualities and devices.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import bpy
import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from generator.base.errors import UserError
from generator.dataset.outputs import Box, ObjectBoxes, PixelOutputs
from generator.render.blender.meshes import read_vectors
from generator.scene.projection import axes, project, ray
from generator.scene.scene import Camera, Point, Scene
from generator.vocabulary.schema import Vocabulary

_TOLERANCE = 1e-4  # in units of an object's scale
_RINGS, _SPOKES = 6, 24

Hits = tuple[np.ndarray, np.ndarray]
"""Depths float64 [n], infinite for a ray that hits nothing, and unit normals float64 [n, 3], 0 for
such a ray."""


class RayMesh:
    """A mesh in a search tree of Embree, for rays in the coordinates of the mesh. `vertices`:
    float32 [n, 3]."""

    def __init__(self, mesh: bpy.types.Mesh):
        mesh.calc_loop_triangles()
        triangles = mesh.loop_triangles
        self.vertices = read_vectors(mesh.vertices, "co", np.float32)
        self._normals = read_vectors(mesh.corner_normals, "vector", np.float32)[
            read_vectors(triangles, "loops", np.int32)
        ]
        self._tree = EmbreeScene(robust=True)  # no ray slips through between two triangles
        TriangleMesh(self._tree, self.vertices[read_vectors(triangles, "vertices", np.int32)])

    def hits(self, origins: np.ndarray, directions: np.ndarray) -> Hits:
        """Where rays from `origins` ([3] or [n, 3]) along `directions` [n, 3] meet the mesh, to
        single precision.

        Depths are in units of the direction's length; normals are the shading normals, on the side
        that the ray hits.
        """
        start = np.broadcast_to(origins, directions.shape).astype(np.float32)
        found = self._tree.run(start, directions.astype(np.float32), output=True)
        hit = found["primID"] >= 0
        depths, normals = (
            np.where(hit, found["tfar"].astype(np.float64), math.inf),
            np.zeros(directions.shape),
        )
        u, v = (found[name][hit, None].astype(np.float64) for name in ("u", "v"))
        a, b, c = np.moveaxis(self._normals[found["primID"][hit]], 1, 0)
        shaded = (1 - u - v) * a + u * b + v * c
        across = found["Ng"][hit]  # the triangle's normal, on either side
        behind = _dots(across, directions[hit]) * _dots(across, shaded) > 0
        shaded[behind] *= -1
        normals[hit] = shaded / np.linalg.norm(shaded, axis=-1, keepdims=True)
        return depths, normals


class PosedMesh:
    """A mesh at its pose in a scene, for rays from the scene's camera.

    `size` is the image's width and height in pixels. The mesh is scaled, turned about the vertical
    by `heading`
    (radians, counter-clockwise seen from above), and moved to `position` (metres).
    """

    def __init__(
        self,
        mesh: RayMesh,
        camera: Camera,
        size: tuple[int, int],
        position: Point = (0.0, 0.0, 0.0),
        heading: float = 0.0,
        scale: float = 1.0,
    ):
        self._mesh, self._camera, self._size = mesh, camera, size
        self._position, self._heading, self._scale = position, heading, scale

    def box(self) -> Box:
        """Whole pixels left, top, right, bottom (the last two exclusive) around the outline,
        clipped to the image.

        Its width or height is 0 if the outline lies outside the image.
        """
        x, y, z = (_turned(self._mesh.vertices * self._scale, self._heading) + self._position).T
        column, row, _ = project(self._camera, x, y, z, *self._size)
        width, height = self._size
        return (
            min(max(math.floor(column.min()), 0), width),
            min(max(math.floor(row.min()), 0), height),
            max(min(math.ceil(column.max()), width), 0),
            max(min(math.ceil(row.max()), height), 0),
        )

    def center(self) -> tuple[float, float]:
        """Column and row of the middle of the mesh: at half its height above the point it stands
        on."""
        x, y, z = self._position
        middle = z + self._scale * float(self._mesh.vertices[:, 2].max()) / 2
        column, row, _ = project(self._camera, x, y, middle, *self._size)
        return column, row

    def hits(self, rows: np.ndarray, columns: np.ndarray) -> Hits:
        """Cast rays through the centres of pixels. Returns depths in metres along the viewing axis
        (not along the ray), and normals in world axes."""
        directions = np.stack(ray(self._camera, columns + 0.5, rows + 0.5, *self._size), axis=-1)
        origin = np.subtract(self._camera.position, self._position)[None] / self._scale
        depths, normals = self._mesh.hits(
            _turned(origin, -self._heading), _turned(directions, -self._heading)
        )
        return depths * self._scale, _turned(normals, self._heading)


class RayCaster:
    """Poses the meshes of a world's objects and grounds as its scenes say; builds the tree of each
    mesh once.

    `meshes`: the unit mesh of every object category. `ground`: returns the mesh of a scene's
    ground, in world
    coordinates. `width`, `height`: of the images, in pixels.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        meshes: Mapping[str, bpy.types.Mesh],
        ground: Callable[[Scene], bpy.types.Mesh],
        width: int,
        height: int,
    ):
        self.meshes = {name: RayMesh(mesh) for name, mesh in meshes.items()}
        self.size = (width, height)
        self._vocabulary, self._ground = vocabulary, ground
        self._grounds: dict[str, RayMesh] = {}

    def objects(self, scene: Scene) -> list[PosedMesh]:
        """The objects of a scene, in its order."""
        scales = [
            self._vocabulary.scale(thing.category, thing.attributes) for thing in scene.objects
        ]
        return [
            PosedMesh(
                self.meshes[thing.category],
                scene.camera,
                self.size,
                thing.position,
                thing.heading,
                scale,
            )
            for thing, scale in zip(scene.objects, scales, strict=True)
        ]

    def ground(self, scene: Scene) -> PosedMesh:
        """The ground of a scene."""
        mesh = self._ground(scene)
        if mesh.name not in self._grounds:
            self._grounds[mesh.name] = RayMesh(mesh)
        return PosedMesh(self._grounds[mesh.name], scene.camera, self.size)


def check_flat_tops(vocabulary: Vocabulary, meshes: Mapping[str, RayMesh]) -> None:
    """Cast vertical rays over the declared discs of each unit mesh.

    Raises UserError where a declared top is not the flat, highest part of the mesh, or where no
    part of the mesh touches the ground within a declared foot.
    """
    for name, declared in vocabulary.objects.items():
        mesh = meshes[name]
        if declared.top is not None:
            highest = float(mesh.vertices[:, 2].max())
            lowest, *_ = sorted(_heights(mesh, declared.top.radius, 10.0))
            if max(abs(height - declared.top.height) for height in (highest, lowest)) > _TOLERANCE:
                raise UserError(
                    f"objects.{name}.top: height = {declared.top.height} and radius = "
                    f"{declared.top.radius}, but the mesh is {highest:.5f} high and within that "
                    f"radius as low as {lowest:.5f}; declare the disc on which it is flat, or no "
                    f"top."
                )
        if (
            declared.foot is not None
            and min(_heights(mesh, declared.foot, -10.0)) > 10 * _TOLERANCE
        ):
            raise UserError(
                f"objects.{name}.foot = {declared.foot}: the mesh does not touch the ground within "
                f"that radius of its axis; declare a larger radius, or no foot."
            )


def _heights(mesh: RayMesh, radius: float, start: float) -> np.ndarray:
    """Heights where vertical rays, which start at height `start` over a disc about the axis, hit a
    mesh; infinitely far from `start` for a miss.
    """
    way = -math.copysign(1, start)
    rings, turns = np.meshgrid(
        np.linspace(0, radius, _RINGS + 1), 2 * math.pi * np.arange(_SPOKES) / _SPOKES
    )
    places = [(rings * np.cos(turns)).ravel(), (rings * np.sin(turns)).ravel()]
    origins = np.stack([*places, np.full(rings.size, start)], axis=-1)
    return start + way * mesh.hits(origins, np.tile((0.0, 0.0, way), (len(origins), 1)))[0]


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("nx,nx->n", a, b)


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    """Points [n, 3] turned about the vertical, counter-clockwise seen from above."""
    cos, sin = math.cos(angle), math.sin(angle)
    x, y, z = points.T
    return np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=-1)


def trace_objects(scene: Scene, caster: RayCaster) -> PixelOutputs:
    """The outputs of a scene's objects for each pixel; without an object, depth is infinite and the
    normal 0."""
    width, height = caster.size
    mask, depth = np.zeros((height, width), np.uint8), np.full((height, width), np.inf, np.float32)
    normals = np.zeros((height, width, 3), np.float32)
    objects = caster.objects(scene)
    boxes, whole = [posed.box() for posed in objects], []
    for i, (posed, (left, top, right, bottom)) in enumerate(zip(objects, boxes, strict=True)):
        rows, columns = np.mgrid[top:bottom, left:right].reshape(2, -1)
        depths, facing = posed.hits(rows, columns)
        whole.append(int(np.isfinite(depths).sum()))
        nearer = depths < depth[rows, columns]
        there = rows[nearer], columns[nearer]
        mask[there], depth[there], normals[there] = i + 1, depths[nearer], facing[nearer]
    found = []
    for i, (thing, posed) in enumerate(zip(scene.objects, objects, strict=True)):
        rows, columns = np.nonzero(mask == i + 1)
        column, row = posed.center()
        fraction = round(len(rows) / whole[i], 6) if whole[i] else 0.0
        around = _box_around(rows, columns) if len(rows) else None
        center = (round(column, 3), round(row, 3))
        found.append(ObjectBoxes(i, thing.category, center, boxes[i], around, len(rows), fraction))
    return PixelOutputs(mask, depth, normals @ _camera_from_world(scene).T, found)


def with_ground(objects: PixelOutputs, scene: Scene, caster: RayCaster) -> PixelOutputs:
    """Add the ground's depth and normal to pixels without an object."""
    depth, normals = objects.depth.copy(), objects.normals.copy()
    rows, columns = np.nonzero(objects.mask == 0)
    depth[rows, columns], facing = caster.ground(scene).hits(rows, columns)
    normals[rows, columns] = facing @ _camera_from_world(scene).T
    return replace(objects, depth=depth, normals=normals)


def _camera_from_world(scene: Scene) -> np.ndarray:
    return np.array(axes(scene.camera.position, scene.camera.target), np.float32)


def _box_around(rows: np.ndarray, columns: np.ndarray) -> Box:
    return (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
