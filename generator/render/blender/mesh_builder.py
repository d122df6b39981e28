"""Joins meshes into one of Blender's, with a colour for each corner, a material for each face, flat or smooth shading."""

from collections.abc import Sequence

import bpy
import numpy as np

Color = tuple[float, float, float, float]
"""Linear red, green and blue, and the share by which they cover the ground's own colour."""
PolygonMesh = tuple[Sequence[tuple[float, float, float]], Sequence[Sequence[int]]]
"""Vertices (x, y, z in metres), and faces as lists of vertex numbers, counter-clockwise from outside."""
PAINT = "paint"  # the name of the colour attribute; Cycles gives "color" a meaning of its own


class MeshBuilder:
    """Collects meshes and builds one mesh of them."""

    def __init__(self) -> None:
        self._vertices: list[tuple[float, float, float]] = []
        self._faces: list[list[int]] = []
        self._corners: list[Color] = []
        self._slots: list[int] = []
        self._smooth: list[bool] = []

    def add(self, mesh: PolygonMesh, color: Color | Sequence[Color], slot: int, smooth: bool = False) -> None:
        """Add a mesh in one colour, or in one for each vertex; `slot` is the place of its material in `build`."""
        vertices, faces = mesh
        first = len(self._vertices)
        self._vertices += vertices
        for face in faces:
            self._faces.append([first + corner for corner in face])
            self._corners += [color if isinstance(color, tuple) else color[corner] for corner in face]
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
