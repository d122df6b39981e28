"""Materials: one per object of a scene, recoloured from scene to scene."""

from collections.abc import Mapping
from typing import Any

import bpy

_FLOOR_GRAY = 0.8


def new_material(name: str) -> bpy.types.Material:
    """A material of one Principled BSDF."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    return material


def floor_material() -> bpy.types.Material:
    """The matt default grey of CLEVR's ground."""
    material = new_material("floor")
    set_inputs(material, {"linear": (255 * _FLOOR_GRAY,) * 3, "metallic": 0.0, "roughness": 0.9})
    return material


def set_inputs(material: bpy.types.Material, inputs: Mapping[str, Any]) -> None:
    """Set what the attribute values of an object declare: `linear` (0..255), `metallic`, `roughness`."""
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    shader["Base Color"].default_value = (*(channel / 255 for channel in inputs["linear"]), 1.0)
    shader["Metallic"].default_value = inputs["metallic"]
    shader["Roughness"].default_value = inputs["roughness"]
