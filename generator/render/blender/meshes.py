"""Builds Blender meshes from unit meshes and from simple solids."""

import math
from collections.abc import Sequence
from itertools import pairwise

import bpy
import numpy as np

from generator.assets.sets import BUILTIN, find_mesh
from generator.base.streams import Stream

Vector = tuple[float, float, float]
"""x, y and z, metres."""
Color = tuple[float, float, float, float]
"""Linear red, green and blue, and the share by which they cover the ground's own colour."""
Rgb = tuple[float, float, float]
"""Linear red, green and blue, 0..1."""
PolygonMesh = tuple[Sequence[Vector], Sequence[Sequence[int]]]
"""Vertices, and faces as lists of vertex numbers, counter-clockwise from outside."""
Colored = tuple[PolygonMesh, Rgb]
"""A mesh and its colour."""
PAINT = "paint"
"""The name of the colour attribute; Cycles treats "color" specially."""


def build_mesh(name: str, assets: str = BUILTIN) -> bpy.types.Mesh:
    """Build a shape or a mesh of an asset set, without material.

    No object uses it yet; the caller links or removes it.

    Args:
        name: The name of a shape, or of a mesh of the set.
        assets: The name of the asset set.

    Returns:
        A unit mesh (see `generator.assets.shapes.unit_mesh`), shaded smoothly.

    Raises:
        UserError: The set has no such mesh.
    """
    unit = find_mesh(name, assets)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(unit.vertices, [], unit.faces)
    mesh.shade_smooth()
    if unit.normals is not None:
        mesh.normals_split_custom_set_from_vertices(unit.normals)
    return mesh


def read_vectors(collection: bpy.types.bpy_prop_collection, name: str, kind: type) -> np.ndarray:
    """Read a property of three numbers of every member of a Blender collection.

    Args:
        collection: Such as the vertices of a mesh.
        name: The property, such as `co`.
        kind: The dtype of its numbers.

    Returns:
        [n, 3].
    """
    values: np.ndarray = np.empty(len(collection) * 3, kind)
    collection.foreach_get(name, values)
    return values.reshape(-1, 3)


class MeshBuilder:
    """Collects meshes and builds one mesh of them."""

    def __init__(self) -> None:
        self._vertices: list[Vector] = []
        self._faces: list[list[int]] = []
        self._corner_colors: list[Color] = []
        self._slots: list[int] = []
        self._smooth: list[bool] = []

    def add(
        self, mesh: PolygonMesh, color: Color | Sequence[Color], *, slot: int, smooth: bool = False
    ) -> None:
        """Add a mesh.

        Args:
            mesh: The mesh, where it is to be.
            color: Its colour, or a colour for each vertex.
            slot: The index of its material in `build`.
            smooth: Whether its faces are shaded smoothly.
        """
        vertices, faces = mesh
        first = len(self._vertices)
        self._vertices += vertices
        for face in faces:
            self._faces.append([first + vertex for vertex in face])
            for vertex in face:
                vertex_color = color if isinstance(color, tuple) else color[vertex]
                self._corner_colors.append(vertex_color)
        self._slots += [slot] * len(faces)
        self._smooth += [smooth] * len(faces)

    def build(self, name: str, materials: Sequence[bpy.types.Material]) -> bpy.types.Mesh:
        """Build the joined mesh.

        Args:
            name: The name of the mesh in Blender.
            materials: In the order of the slots.
        """
        mesh = bpy.data.meshes.new(name)
        mesh.from_pydata(self._vertices, [], self._faces)
        for material in materials:
            mesh.materials.append(material)
        mesh.polygons.foreach_set("material_index", self._slots)
        mesh.polygons.foreach_set("use_smooth", self._smooth)
        colors = mesh.color_attributes.new(PAINT, "FLOAT_COLOR", "CORNER")
        corner_colors = np.array(self._corner_colors, np.float32)
        colors.data.foreach_set("color", corner_colors.ravel())
        mesh.update()
        return mesh


def revolved(
    profile: Sequence[tuple[float, float]], sides: int, lean: Sequence[tuple[float, float]] = ()
) -> PolygonMesh:
    """Turn a profile about the vertical axis, and close it with a lid.

    Args:
        profile: (radius, height) from the foot up.
        sides: The number of vertices of each ring.
        lean: For each ring how far it is moved aside, (x, y); empty for none.

    Returns:
        The mesh; its foot is open.
    """
    shifts = lean or [(0.0, 0.0)] * len(profile)
    turns = [2 * math.pi * side / sides for side in range(sides)]
    vertices = []
    for (radius, height), (dx, dy) in zip(profile, shifts, strict=True):
        for turn in turns:
            x = radius * math.cos(turn) + dx
            y = radius * math.sin(turn) + dy
            vertices.append((x, y, height))

    # Four-sided faces between each ring and the next.
    faces = []
    ring_starts = range(0, len(vertices), sides)
    for low, high in pairwise(ring_starts):
        for side in range(sides):
            following = (side + 1) % sides
            faces.append([low + side, low + following, high + following, high + side])
    lid = list(range(len(vertices) - sides, len(vertices)))
    return vertices, [*faces, lid]


def lump(
    stream: Stream, *, center: Vector, radii: Vector, rough: float, steps: int = 5
) -> PolygonMesh:
    """Build an ellipsoid with an uneven surface.

    Args:
        stream: Decides the surface.
        center: The middle of the ellipsoid.
        radii: Its half-axes along x, y and z.
        rough: Each vertex is nearer to the centre by up to this share of its distance, 0..1.
        steps: The number of rows of faces from top to bottom.

    Returns:
        A closed mesh of triangles.
    """
    # Twice as many sides as rows make faces about as wide as high.
    sides = 2 * steps
    directions = [_direction(0.0, 0.0)]
    for i in range(1, steps):
        from_top = math.pi * i / steps
        for j in range(sides):
            # Each ring is turned by half a face: its vertices lie between those of the next.
            turn = 2 * math.pi * (j + i / 2) / sides
            directions.append(_direction(from_top, turn))
    directions.append(_direction(math.pi, 0.0))

    # Each vertex lies a little inside the ellipsoid.
    vertices = []
    for direction in directions:
        distance = 1 - stream.uniform(0, rough)
        x, y, z = (
            middle + distance * component * radius
            for middle, component, radius in zip(center, direction, radii, strict=True)
        )
        vertices.append((x, y, z))

    # Fans about the top and the bottom, and two triangles for each side between two rings.
    top = 0
    bottom = len(directions) - 1
    faces = []
    for j in range(sides):
        k = (j + 1) % sides
        faces.append([top, 1 + j, 1 + k])
        faces.append([bottom, bottom - sides + k, bottom - sides + j])
        for i in range(steps - 2):
            high = 1 + i * sides
            low = high + sides
            faces.append([high + j, low + j, low + k])
            faces.append([high + j, low + k, high + k])
    return vertices, faces


def _direction(from_top: float, turn: float) -> Vector:
    """The unit vector at an angle from the vertical and a turn about it, radians."""
    out = math.sin(from_top)
    x, y = out * math.cos(turn), out * math.sin(turn)
    return x, y, math.cos(from_top)


def box(center: Vector, size: Vector) -> PolygonMesh:
    """Build a box.

    Args:
        center: Its middle.
        size: Its edges along x, y and z.

    Returns:
        A closed mesh of six faces.
    """
    x, y, z = center
    half_x, half_y, half_z = (edge / 2 for edge in size)
    vertices = []
    for corner_z in (z - half_z, z + half_z):
        for corner_y in (y - half_y, y + half_y):
            for corner_x in (x - half_x, x + half_x):
                vertices.append((corner_x, corner_y, corner_z))
    # Each face by the numbers of its corners, counter-clockwise from outside.
    bottom, top = [0, 2, 3, 1], [4, 5, 7, 6]
    front, back = [0, 1, 5, 4], [2, 6, 7, 3]
    left, right = [0, 4, 6, 2], [1, 3, 7, 5]
    return vertices, [bottom, top, front, back, left, right]


def moved(mesh: PolygonMesh, *, place: Vector, size: float, turn: float) -> PolygonMesh:
    """Scale a mesh, turn it about the vertical, and move it.

    Args:
        mesh: The mesh at the origin.
        place: Where its origin goes.
        size: The factor of its size.
        turn: Radians, counter-clockwise seen from above.
    """
    vertices, faces = mesh
    place_x, place_y, place_z = place
    cos = math.cos(turn) * size
    sin = math.sin(turn) * size
    moved_vertices = []
    for x, y, z in vertices:
        moved_x = x * cos - y * sin + place_x
        moved_y = x * sin + y * cos + place_y
        moved_vertices.append((moved_x, moved_y, z * size + place_z))
    return moved_vertices, faces


def shaded(color: Rgb, factor: float) -> Rgb:
    """A colour times a factor."""
    return color[0] * factor, color[1] * factor, color[2] * factor
