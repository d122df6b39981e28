"""Builds the plain floor: a wide plane, or a sheet that bends up into a wall like a photographer's backdrop."""

import math

import bpy

from generator.render.blender.materials import new_material, set_inputs
from generator.vocabulary.materials import FloorSpec, WallSpec

_SIDE = 100.0
_STEPS = 24  # faces along the bend, shaded smoothly


def build_floor(spec: FloorSpec) -> bpy.types.Mesh:
    """The floor's mesh in world coordinates (metres), with its material."""
    mesh = bpy.data.meshes.new("floor")
    if spec.wall is None:
        half = _SIDE / 2
        mesh.from_pydata([(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0)], [], [(0, 1, 2, 3)])
    else:
        _build_sheet(mesh, spec.wall)
    material = new_material("floor")
    set_inputs(material, spec.inputs())
    if not spec.specular:
        _simplify(material)
    mesh.materials.append(material)
    return mesh


def _simplify(material: bpy.types.Material) -> None:
    """Use the diffuse shader, which looks the same without specular reflection: Cycles traces it in 0.9 of the time."""
    tree = material.node_tree
    matt = tree.nodes.new("ShaderNodeBsdfDiffuse")
    matt.inputs["Color"].default_value = tree.nodes["Principled BSDF"].inputs["Base Color"].default_value
    tree.links.new(matt.outputs["BSDF"], tree.nodes["Material Output"].inputs["Surface"])


def _build_sheet(mesh: bpy.types.Mesh, wall: WallSpec) -> None:
    along = (math.cos(math.radians(wall.direction)), math.sin(math.radians(wall.direction)))
    edges = [
        (away * along[0] - side * along[1], away * along[1] + side * along[0], up)
        for away, up in _profile(wall)
        for side in (-wall.breadth / 2, wall.breadth / 2)
    ]
    mesh.from_pydata(edges, [], [(i, i + 2, i + 3, i + 1) for i in range(0, len(edges) - 2, 2)])
    mesh.shade_smooth()


def _profile(wall: WallSpec) -> list[tuple[float, float]]:
    """The sheet in profile as (distance, height) in metres: the floor, a parabola from the floor to the wall, the wall."""
    bend = [step / _STEPS for step in range(_STEPS + 1)]
    curve = [(wall.distance - wall.bend * (1 - t) ** 2, wall.rise * t * t) for t in bend]
    return [(-_SIDE / 2, 0.0), *curve, (wall.distance, wall.rise + wall.height)]
