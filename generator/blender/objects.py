"""The unit meshes as Blender holds them."""

import bpy

from generator.shapes import unit_mesh


def build_mesh(shape: str) -> bpy.types.Mesh:
    """Build the unit mesh of a shape (see `generator.shapes.unit_mesh`), with smooth shading, its own normals and no material.

    No object uses it yet: it is the caller's to link or to remove.
    """
    vertices, normals, faces = unit_mesh(shape)
    mesh = bpy.data.meshes.new(shape)
    mesh.from_pydata(vertices, [], faces)
    mesh.shade_smooth()
    mesh.normals_split_custom_set_from_vertices(normals)
    return mesh
