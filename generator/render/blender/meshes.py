"""Builds Blender meshes from unit meshes and from simple solids."""

import math
from collections.abc import Sequence
from itertools import pairwise

import bpy
import numpy as np

from generator.assets.sets import BUILTIN, find_mesh
from generator.base.streams import Stream


def build_mesh(name: str, assets: str = BUILTIN) -> bpy.types.Mesh:
    """Build a shape or a mesh of an asset set (see `generator.assets.shapes.unit_mesh`), without
    material.

    No object uses it yet; the caller links or removes it. Raises UserError where the set has no
    such mesh.
    """
    unit = find_mesh(name, assets)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(unit.vertices, [], unit.faces)
    mesh.shade_smooth()
    if unit.normals is not None:
        mesh.normals_split_custom_set_from_vertices(unit.normals)
    return mesh


def read_vectors(collection: bpy.types.bpy_prop_collection, name: str, kind: type) -> np.ndarray:
    """A property of three numbers of every member of a Blender collection: [n, 3]."""
    values: np.ndarray = np.empty(len(collection) * 3, kind)
    collection.foreach_get(name, values)
    return values.reshape(-1, 3)


Color = tuple[float, float, float, float]
"""Linear red, green and blue, and the share by which they cover the ground's own colour."""
PolygonMesh = tuple[Sequence[tuple[float, float, float]], Sequence[Sequence[int]]]
"""Vertices (x, y, z in metres), and faces as lists of vertex numbers, counter-clockwise from
outside."""
PAINT = "paint"  # the name of the colour attribute; Cycles treats "color" specially


class MeshBuilder:
    """Collects meshes and builds one mesh of them."""

    def __init__(self) -> None:
        self._vertices: list[tuple[float, float, float]] = []
        self._faces: list[list[int]] = []
        self._corners: list[Color] = []
        self._slots: list[int] = []
        self._smooth: list[bool] = []

    def add(
        self, mesh: PolygonMesh, color: Color | Sequence[Color], slot: int, smooth: bool = False
    ) -> None:
        """Add a mesh in one colour, or in a colour per vertex; `slot` is the index of its material
        in `build`."""
        vertices, faces = mesh
        first = len(self._vertices)
        self._vertices += vertices
        for face in faces:
            self._faces.append([first + corner for corner in face])
            self._corners += [
                color if isinstance(color, tuple) else color[corner] for corner in face
            ]
        self._slots += [slot] * len(faces)
        self._smooth += [smooth] * len(faces)

    def build(self, name: str, materials: Sequence[bpy.types.Material]) -> bpy.types.Mesh:
        """The joined mesh; `materials` are in the order of the slots."""
        mesh = bpy.data.meshes.new(name)
        mesh.from_pydata(self._vertices, [], self._faces)
        for material in materials:
            mesh.materials.append(material)
        mesh.polygons.foreach_set("material_index", self._slots)
        mesh.polygons.foreach_set("use_smooth", self._smooth)
        colors = mesh.color_attributes.new(PAINT, "FLOAT_COLOR", "CORNER")
        colors.data.foreach_set("color", np.array(self._corners, np.float32).ravel())
        mesh.update()
        return mesh


Vector = tuple[float, float, float]


def revolved(
    profile: Sequence[tuple[float, float]], sides: int, lean: Sequence[tuple[float, float]] = ()
) -> PolygonMesh:
    """A surface of revolution: a profile of (radius, height) from the foot up, turned about the
    vertical axis, with a lid.

    `lean` moves each ring aside by (x, y).
    """
    shifts = lean or [(0.0, 0.0)] * len(profile)
    vertices = [
        (radius * math.cos(turn) + dx, radius * math.sin(turn) + dy, height)
        for (radius, height), (dx, dy) in zip(profile, shifts, strict=True)
        for turn in (2 * math.pi * side / sides for side in range(sides))
    ]
    faces = [
        [low + side, low + (side + 1) % sides, high + (side + 1) % sides, high + side]
        for low, high in pairwise(range(0, len(vertices), sides))
        for side in range(sides)
    ]
    return vertices, [*faces, list(range(len(vertices) - sides, len(vertices)))]


def lump(
    stream: Stream, center: Vector, radii: Vector, rough: float, steps: int = 5
) -> PolygonMesh:
    """An ellipsoid with an uneven surface: each vertex is nearer to the centre by up to the share
    `rough`."""
    sides = 2 * steps
    vertices = [_on_ball(0.0, 0.0)]
    vertices += [
        _on_ball(math.pi * i / steps, 2 * math.pi * (j + i / 2) / sides)
        for i in range(1, steps)
        for j in range(sides)
    ]
    vertices.append(_on_ball(math.pi, 0.0))
    shrunk = [(1 - stream.uniform(0, rough), vertex) for vertex in vertices]
    placed = [
        (
            center[0] + s * v[0] * radii[0],
            center[1] + s * v[1] * radii[1],
            center[2] + s * v[2] * radii[2],
        )
        for s, v in shrunk
    ]
    last, faces = len(vertices) - 1, []
    for j in range(sides):
        k = (j + 1) % sides
        faces += [[0, 1 + j, 1 + k], [last, last - sides + k, last - sides + j]]
        for i in range(steps - 2):
            low, high = 1 + (i + 1) * sides, 1 + i * sides
            faces += [[high + j, low + j, low + k], [high + j, low + k, high + k]]
    return placed, faces


def _on_ball(down: float, turn: float) -> Vector:
    return math.sin(down) * math.cos(turn), math.sin(down) * math.sin(turn), math.cos(down)


def box(center: Vector, size: Vector) -> PolygonMesh:
    """A box with the given centre and edge lengths."""
    x, y, z = center
    vertices = [
        (x + a * size[0] / 2, y + b * size[1] / 2, z + c * size[2] / 2)
        for c in (-1, 1)
        for b in (-1, 1)
        for a in (-1, 1)
    ]
    faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    return vertices, faces


def moved(mesh: PolygonMesh, place: Vector, size: float, turn: float) -> PolygonMesh:
    """A mesh scaled, turned about the vertical by `turn` radians, and moved to a place."""
    cos, sin = math.cos(turn) * size, math.sin(turn) * size
    vertices = [
        (x * cos - y * sin + place[0], x * sin + y * cos + place[1], z * size + place[2])
        for x, y, z in mesh[0]
    ]
    return vertices, mesh[1]
