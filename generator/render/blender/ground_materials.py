"""Materials of landscapes: ground in spots, stones or plates; water; surfaces painted by vertex colour."""

import bpy

from generator.render.blender.mesh_builder import PAINT
from generator.render.blender.nodes import Nodes, Socket
from generator.vocabulary.environments import GroundSpec, color_of

_JOINT = 0.02  # width, over the size of a stone
_SHADE = 0.8  # brightness of every other stone


def ground_material(name: str, look: GroundSpec) -> bpy.types.Material:
    """Uneven ground of two colours in spots, stones or plates; the mesh's vertex colour covers it by its alpha."""
    material, nodes, shader = _matt(f"{name} ground", 0.95, 0.1)
    place = nodes.place()
    fine = nodes.noise(place, 8 / look.grain)
    own = nodes.mix(
        0.5, _spots(nodes, place, look) if look.pattern == "spots" else _bricks(nodes, place, look), fine, "SOFT_LIGHT"
    )
    paint = nodes.add("Attribute")
    paint.attribute_name = PAINT
    nodes.set(shader.inputs["Base Color"], nodes.mix(paint.outputs["Alpha"], own, paint.outputs["Color"]))
    if look.bumps:
        nodes.set(shader.inputs["Normal"], nodes.bump(fine, look.bumps, 0.1 * look.grain))
    return material


def painted_material(name: str) -> bpy.types.Material:
    """A matt material in the mesh's vertex colour."""
    material, nodes, shader = _matt(f"{name} painted", 0.85, 0.1)
    paint = nodes.add("Attribute")
    paint.attribute_name = PAINT
    nodes.set(shader.inputs["Base Color"], paint.outputs["Color"])
    return material


def water_material(name: str) -> bpy.types.Material:
    """A half-glossy material in the mesh's vertex colour, with small waves."""
    material, nodes, shader = _matt(f"{name} water", 0.3, 0.5)
    paint = nodes.add("Attribute")
    paint.attribute_name = PAINT
    waves = nodes.noise(nodes.stretched(nodes.place(), (0.35, 1.2, 1.0)), 1.0)
    nodes.set(shader.inputs["Base Color"], nodes.mix(0.6, paint.outputs["Color"], waves, "SOFT_LIGHT"))
    return material


def _matt(name: str, roughness: float, specular: float) -> tuple[bpy.types.Material, Nodes, bpy.types.Node]:
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Specular IOR Level"].default_value = specular
    return material, Nodes(material.node_tree), shader


def _spots(nodes: Nodes, place: Socket, look: GroundSpec) -> Socket:
    return nodes.ramp(nodes.noise(place, 1 / look.grain), [color_of(color) for color in look.colors], (0.4, 0.6))


def _bricks(nodes: Nodes, place: Socket, look: GroundSpec) -> Socket:
    """Paving stones, each row shifted by half a stone, or plates."""
    stone, joint = (color_of(color) for color in look.colors)
    node = nodes.add("TexBrick", Vector=place, Scale=1 / look.grain, Mortar_Size=_JOINT, Mortar=(*joint, 1.0))
    nodes.set(node.inputs["Color1"], (*stone, 1.0))
    nodes.set(node.inputs["Color2"], (*(_SHADE * channel for channel in stone), 1.0))
    nodes.set(node.inputs["Brick Width"], 1.0)
    nodes.set(node.inputs["Row Height"], 1.0)
    node.offset = 0.5 if look.pattern == "paving" else 0.0
    return node.outputs[0]
