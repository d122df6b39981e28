"""Rays from the camera through points of the image: what they meet, how far away, and how the surface is turned there.

`passes.py` casts some hundred rays an object before it is rendered, and one through every pixel for masks and depth.
"""

import cmath
import math
from collections.abc import Callable, Mapping

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from generator.base.errors import UserError
from generator.dataset.outputs import Box
from generator.render.blender.materials import material_inputs
from generator.scene.projection import project, ray
from generator.scene.scene import Camera, Point, Scene
from generator.vocabulary.schema import Vocabulary

Hits = tuple[np.ndarray, np.ndarray]
"""Depths float64 [n], infinite for a ray that meets nothing, and unit normals float64 [n, 3], 0 there."""


class RayMesh:
    """A mesh in a search tree (a bounding volume hierarchy), for rays in the coordinates of the mesh.

    `vertices`: float64 [n, 3]. `tree`: the tree over the mesh's triangles.
    """

    def __init__(self, mesh: bpy.types.Mesh):
        mesh.calc_loop_triangles()
        triangles = mesh.loop_triangles
        corners = _read(triangles, "vertices", np.int32)
        self.vertices = _read(mesh.vertices, "co", np.float32).astype(np.float64)
        self.tree = BVHTree.FromPolygons(self.vertices.tolist(), corners.tolist(), all_triangles=True)
        self._corners = self.vertices[corners]
        self._normals = _read(mesh.corner_normals, "vector", np.float32)[_read(triangles, "loops", np.int32)]

    def distances(self, origin: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """How far rays from `origin` [3] along `directions` [n, 3] go until they meet the mesh: float64 [n].

        To single precision, in units of the mesh; infinite for a miss. Four fifths of the time of `hits`.
        """
        cast, start = self.tree.ray_cast, Vector(origin)
        found = [cast(start, direction)[3] for direction in directions.tolist()]
        return np.array([math.inf if distance is None else distance for distance in found])

    def hits(self, origin: np.ndarray, directions: np.ndarray) -> Hits:
        """Where rays from `origin` [3] along `directions` [n, 3] meet the mesh, to double precision.

        Depths are in lengths of the ray's direction; normals are those that the surface is shaded with.
        """
        cast, start = self.tree.ray_cast, Vector(origin)
        found = [cast(start, direction)[2] for direction in directions.tolist()]
        triangles = np.array([-1 if triangle is None else triangle for triangle in found], np.int64)
        hit = triangles >= 0
        depths, normals = np.full(len(triangles), math.inf), np.zeros((len(triangles), 3))
        depths[hit], normals[hit] = self._meet_planes(triangles[hit], origin, directions[hit])
        return depths, normals

    def _meet_planes(self, triangles: np.ndarray, origin: np.ndarray, directions: np.ndarray) -> Hits:
        """Where each ray meets the plane of its triangle, and the normals of the corners blended there."""
        a, b, c = np.moveaxis(self._corners[triangles], 1, 0)
        across = np.cross(b - a, c - a)
        depths = _dots(across, a - origin) / _dots(across, directions)
        point = origin + depths[:, None] * directions
        area = _dots(across, across)
        of_b, of_c = _dots(np.cross(point - a, c - a), across) / area, _dots(np.cross(b - a, point - a), across) / area
        weights = np.stack([1 - of_b - of_c, of_b, of_c], axis=-1)
        normals = np.einsum("nk,nkx->nx", weights, self._normals[triangles].astype(np.float64))
        return depths, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


class PosedMesh:
    """A mesh where it stands in a scene, for rays from the scene's camera.

    `size` is the image's width and height in pixels. The mesh is scaled, turned about the vertical by `heading`
    (radians, counter-clockwise seen from above), and moved to `position` (metres). Points of the image are float [n,
    2], column and row in pixels.
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
        corners = [ray(camera, column, row, *size) for column, row in ((0, 0), (size[0], 0), (0, size[1]))]
        seen_from = np.subtract(camera.position, position) / scale
        self._origin, self._first, right, low = _turned(np.array([seen_from, *corners]), -heading)
        self._across, self._down = (right - self._first) / size[0], (low - self._first) / size[1]

    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the outline in the image, in pixels; not clipped to the image."""
        x, y, z = _turned(self._mesh.vertices * self._scale, self._heading).T + np.array(self._position)[:, None]
        column, row, _ = project(self._camera, x, y, z, *self._size)
        return float(column.min()), float(row.min()), float(column.max()), float(row.max())

    def center(self) -> tuple[float, float]:
        """Column and row of the middle of the mesh: at half its height above the point it stands on."""
        x, y, z = self._position
        middle = z + self._scale * float(self._mesh.vertices[:, 2].max()) / 2
        column, row, _ = project(self._camera, x, y, middle, *self._size)
        return column, row

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Metres from the camera to the mesh along the rays through points of the image: float64 [n], to single
        precision; infinite for a miss."""
        return self._mesh.distances(self._origin, self._directions(points)) * self._scale

    def hits(self, points: np.ndarray) -> Hits:
        """Depths in metres along the viewing axis (not along the ray), and normals in world axes, of what the rays
        through points of the image meet."""
        depths, normals = self._mesh.hits(self._origin, self._directions(points))
        return depths * self._scale, _turned(normals, self._heading)

    def _directions(self, points: np.ndarray) -> np.ndarray:
        """Directions [n, 3] of rays in the axes of the mesh, each one metre deep along the viewing axis."""
        return self._first + points[:, :1] * self._across + points[:, 1:] * self._down


class RayCaster:
    """Poses the meshes of a world's objects and grounds as its scenes say; builds the tree of each mesh once.

    `meshes` has the unit mesh of every object kind. `ground` gives the mesh of an environment's ground, in world
    coordinates. `width` and `height` are those of the images, in pixels.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        meshes: Mapping[str, bpy.types.Mesh],
        ground: Callable[[str], bpy.types.Mesh],
        width: int,
        height: int,
    ):
        self.meshes = {name: RayMesh(mesh) for name, mesh in meshes.items()}
        self.size = (width, height)
        self._vocabulary, self._ground = vocabulary, ground
        self._grounds: dict[str, RayMesh] = {}

    def objects(self, scene: Scene) -> list[PosedMesh]:
        """The objects of a scene, in its order."""
        scales = [material_inputs(thing, self._vocabulary)["scale"] for thing in scene.objects]
        return [
            PosedMesh(self.meshes[thing.category], scene.camera, self.size, thing.position, thing.heading, scale)
            for thing, scale in zip(scene.objects, scales, strict=True)
        ]

    def ground(self, scene: Scene) -> PosedMesh:
        """The ground of a scene."""
        if scene.environment not in self._grounds:
            self._grounds[scene.environment] = RayMesh(self._ground(scene.environment))
        return PosedMesh(self._grounds[scene.environment], scene.camera, self.size)


def amodal_box(bounds: tuple[float, float, float, float], size: tuple[int, int]) -> Box:
    """Whole pixels left, top, right, bottom (the last two exclusive) around the bounds of an outline, clipped to an
    image of that width and height; of no width or height where the outline lies outside.

    >>> amodal_box((-3.2, 10.5, 20.0, 30.1), (64, 48))
    (0, 10, 20, 31)
    """
    left, top, right, bottom = bounds
    width, height = size
    return (
        min(max(math.floor(left), 0), width),
        min(max(math.floor(top), 0), height),
        max(min(math.ceil(right), width), 0),
        max(min(math.ceil(bottom), height), 0),
    )


def _read(collection: bpy.types.bpy_prop_collection, name: str, kind: type) -> np.ndarray:
    """A property of three numbers of all members of a collection of Blender's: [n, 3]."""
    values: np.ndarray = np.empty(len(collection) * 3, kind)
    collection.foreach_get(name, values)
    return values.reshape(-1, 3)


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    """Points [n, 3] turned about the vertical, counter-clockwise seen from above."""
    cos, sin = math.cos(angle), math.sin(angle)
    x, y, z = points.T
    return np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=-1)


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("nx,nx->n", a, b)


_TOLERANCE = 1e-4  # in units of an object's scale
_RINGS, _SPOKES = 6, 24


def check_flat_tops(vocabulary: Vocabulary, meshes: Mapping[str, RayMesh]) -> None:
    """Cast vertical rays over the declared discs of each unit mesh.

    Raises UserError where a declared top is not the flat, highest part of the mesh, or where no part of the mesh
    touches the ground within a declared foot.
    """
    for name, declared in vocabulary.objects.items():
        mesh = meshes[name]
        if declared.top is not None:
            highest = float(mesh.vertices[:, 2].max())
            heights = _heights(mesh, declared.top.radius, 10.0)
            if max(abs(height - declared.top.height) for height in (highest, *heights)) > _TOLERANCE:
                raise UserError(
                    f"objects.{name}.top: height = {declared.top.height} and radius = {declared.top.radius}, where the "
                    "mesh "
                    f"is {highest:.5f} high and within that radius as low as {min(heights):.5f}; declare the disc on "
                    "which "
                    f"it is flat, or no top."
                )
        if declared.foot is not None and min(_heights(mesh, declared.foot, -10.0)) > 10 * _TOLERANCE:
            raise UserError(
                f"objects.{name}.foot = {declared.foot}: the mesh does not touch the ground within that radius of its "
                "axis; "
                f"declare a larger one, or no foot."
            )


def _heights(mesh: RayMesh, radius: float, start: float) -> list[float]:
    """Heights at which vertical rays from the height `start` over a disc about the axis meet a mesh; -start for a
    miss.
    """
    way = Vector((0.0, 0.0, -math.copysign(1, start)))
    places = [
        cmath.rect(radius * ring / _RINGS, 2 * math.pi * spoke / _SPOKES)
        for ring in range(_RINGS + 1)
        for spoke in range(_SPOKES)
    ]
    found = [mesh.tree.ray_cast(Vector((place.real, place.imag, start)), way)[0] for place in places]
    return [-start if hit is None else hit.z for hit in found]
