"""Turns unit meshes into Blender's meshes."""

import bpy

from generator.assets.lookup import find_mesh
from generator.assets.sets import BUILTIN


def build_mesh(name: str, assets: str = BUILTIN) -> bpy.types.Mesh:
    """Build a shape or a mesh of an asset set (see `generator.assets.shapes.unit_mesh`) with its own normals, without material.

    No object uses it yet; the caller links or removes it. Raises UserError where the set has no such mesh.
    """
    vertices, normals, faces = find_mesh(name, assets)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    mesh.shade_smooth()
    mesh.normals_split_custom_set_from_vertices(normals)
    return mesh
