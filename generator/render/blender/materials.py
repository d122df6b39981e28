"""Materials of objects, which are set anew for every scene, and of grounds, props and water."""

from collections.abc import Mapping
from typing import Any

import bpy

from generator.render.blender.meshes import PAINT, Rgb, shaded
from generator.render.blender.nodes import Nodes, Socket
from generator.render.blender.textures import clear_texture, set_texture
from generator.scene.scene import SceneObject
from generator.vocabulary.environments import GroundSpec, color_of
from generator.vocabulary.schema import Vocabulary

_BLACK = (0.0, 0.0, 0.0)
"""The colour of an object without one; a texture covers it."""
_WHITE = (1.0, 1.0, 1.0)


def new_material(name: str) -> bpy.types.Material:
    """Make a material of one Principled BSDF."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    return material


def material_inputs(obj: SceneObject, vocabulary: Vocabulary) -> dict[str, Any]:
    """Collect the inputs that an object's attribute values declare.

    Args:
        obj: The object.
        vocabulary: The vocabulary that declares its values.

    Returns:
        By name the inputs of its material, and the `scale` of its mesh. Of an input that several
        values declare, the last counts.
    """
    inputs: dict[str, Any] = {}
    for kind, value in obj.attributes.items():
        inputs.update(vocabulary.attributes[kind][value].inputs())
    return inputs


def set_inputs(material: bpy.types.Material, inputs: Mapping[str, Any]) -> None:
    """Apply inputs to a material.

    Args:
        material: A material of `new_material`, new or of an earlier scene.
        inputs: As of `material_inputs`; docs/vocabularies.md explains each.
    """
    linear = inputs.get("linear", _BLACK)
    albedo = inputs.get("albedo", 1.0)
    red, green, blue = (channel / 255 * albedo for channel in linear)
    color = (red, green, blue)
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    shader["Base Color"].default_value = (*color, 1.0)

    # Materials are used again from scene to scene, so what an earlier scene added is removed.
    if "texture" in inputs:
        set_texture(material, inputs["texture"], object_color=color, scale=inputs["scale"])
    else:
        clear_texture(material)

    shader["Metallic"].default_value = inputs["metallic"]
    shader["Roughness"].default_value = inputs["roughness"]
    if "specular" in inputs:
        shader["Specular IOR Level"].default_value = inputs["specular"]
    if "brushed" in inputs:
        _set_metal(material, inputs, color)
    if "glaze" in inputs:
        _set_glaze(material, inputs["glaze"])


def _set_metal(material: bpy.types.Material, inputs: Mapping[str, Any], color: Rgb) -> None:
    """Set a polished and a brushed lobe, in place of the metal of the Principled BSDF."""
    nodes = material.node_tree.nodes
    if "Metal" not in nodes:
        _add_metal(Nodes(material.node_tree))
    brushed = inputs["brushed"]
    # The lobes replace the metal of the Principled BSDF, whose gloss changes with the angle.
    nodes["Principled BSDF"].inputs["Metallic"].default_value = 0.0
    # "Metal" mixes the lobes into the surface, "Lobes" the brushed into the polished one.
    nodes["Metal"].inputs["Fac"].default_value = inputs["metallic"]
    nodes["Lobes"].inputs["Fac"].default_value = brushed["share"]
    _set_gloss(nodes["Polished"], color, roughness=inputs["roughness"])
    _set_gloss(nodes["Brushed"], color, roughness=brushed["roughness"], stretch=brushed["stretch"])


def _set_glaze(material: bpy.types.Material, glaze: Mapping[str, Any]) -> None:
    """Set a white gloss over everything, stronger at grazing angles."""
    nodes = material.node_tree.nodes
    if "Glaze" not in nodes:
        _add_glaze(Nodes(material.node_tree))
    nodes["Fresnel"].inputs["IOR"].default_value = glaze["ior"]
    _set_gloss(nodes["Glaze"], _WHITE, roughness=glaze["roughness"])


def _set_gloss(node: bpy.types.Node, color: Rgb, *, roughness: float, stretch: float = 0.0) -> None:
    node.inputs["Color"].default_value = (*color, 1.0)
    node.inputs["Roughness"].default_value = roughness
    node.inputs["Anisotropy"].default_value = stretch


def _add_metal(nodes: Nodes) -> None:
    """Mix in a metal of two glossy lobes whose reflectance is the same at every angle.

    No tangent is set, so a lobe is stretched around the vertical axis of its object.
    """
    polished = _add_gloss(nodes, "Polished")
    brushed = _add_gloss(nodes, "Brushed")
    lobes = nodes.mix_shaders(polished, brushed, "Lobes")
    _cover(nodes, lobes, "Metal")


def _add_glaze(nodes: Nodes) -> None:
    """Add a white gloss over everything, stronger at grazing angles (Fresnel)."""
    glaze = _add_gloss(nodes, "Glaze")
    cover = _cover(nodes, glaze, "Glazed")
    fresnel = nodes.add("Fresnel", "Fresnel")
    nodes.set(cover.inputs["Fac"], fresnel.outputs[0])


def _cover(nodes: Nodes, layer: bpy.types.Node, name: str) -> bpy.types.Node:
    """Mix the present surface with a layer; returns the mixing node."""
    surface = nodes.surface.links[0].from_node
    mix = nodes.mix_shaders(surface, layer, name)
    nodes.set(nodes.surface, mix.outputs[0])
    return mix


def _add_gloss(nodes: Nodes, name: str) -> bpy.types.Node:
    node = nodes.add("BsdfAnisotropic", name)
    # Here and not in `_set_gloss`, because every change of it rebuilds the tree.
    node.distribution = "GGX"
    return node


_JOINT = 0.02
"""Width of a joint between stones, over the size of a stone."""
_SHADE = 0.8
"""Brightness of the darkest stones, over that of the brightest."""


def ground_material(name: str, look: GroundSpec) -> bpy.types.Material:
    """Make uneven ground of two colours in spots, stones or plates.

    The mesh's vertex colour covers the ground by its alpha.

    Args:
        name: The name of the environment.
        look: Its ground.
    """
    # Without a gloss: a gloss on bumps differs between versions of Blender.
    material = _new_matt(f"{name} ground", roughness=0.95, specular=0.0)
    nodes = Nodes(material.node_tree)
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    place = nodes.place()

    # A pattern with a fine grain over it.
    grain = nodes.noise(place, 8 / look.grain)
    add_pattern = _spots if look.pattern == "spots" else _bricks
    pattern = add_pattern(nodes, place, look)
    ground = nodes.mix(0.5, pattern, grain, blend_type="SOFT_LIGHT")

    # Over it the colour of the mesh: hills and haze.
    paint = _add_paint(nodes)
    painted = nodes.mix(paint["Alpha"], ground, paint["Color"])
    nodes.set(shader["Base Color"], painted)
    if look.bumps:
        normal = nodes.bump(grain, strength=look.bumps, depth=0.1 * look.grain)
        nodes.set(shader["Normal"], normal)
    return material


def painted_material(name: str) -> bpy.types.Material:
    """Make a matt material in the mesh's vertex colour, for an environment of that name."""
    material = _new_matt(f"{name} painted", roughness=0.85, specular=0.1)
    nodes = Nodes(material.node_tree)
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    nodes.set(shader["Base Color"], _add_paint(nodes)["Color"])
    return material


def water_material(name: str) -> bpy.types.Material:
    """Make a half-glossy material in the mesh's vertex colour, with small waves."""
    material = _new_matt(f"{name} water", roughness=0.3, specular=0.5)
    nodes = Nodes(material.node_tree)
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    paint = _add_paint(nodes)
    # Waves are longer from left to right, along the shore.
    along_shore = nodes.stretched(nodes.place(), (0.35, 1.2, 1.0))
    waves = nodes.noise(along_shore, 1.0)
    color = nodes.mix(0.6, paint["Color"], waves, blend_type="SOFT_LIGHT")
    nodes.set(shader["Base Color"], color)
    return material


def _new_matt(name: str, *, roughness: float, specular: float) -> bpy.types.Material:
    material = new_material(name)
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    shader["Roughness"].default_value = roughness
    shader["Specular IOR Level"].default_value = specular
    return material


def _add_paint(nodes: Nodes) -> Any:
    """The outputs of the mesh's vertex colour."""
    paint = nodes.add("Attribute")
    paint.attribute_name = PAINT
    return paint.outputs


def _spots(nodes: Nodes, place: Socket, look: GroundSpec) -> Socket:
    """Spots of two colours."""
    colors = [color_of(color) for color in look.colors]
    noise = nodes.noise(place, 1 / look.grain)
    # Noise is mostly near 0.5, so the colours change there.
    return nodes.ramp(noise, colors, (0.4, 0.6))


def _bricks(nodes: Nodes, place: Socket, look: GroundSpec) -> Socket:
    """Paving stones, each row shifted by half a stone, or plates."""
    stone, joint = (color_of(color) for color in look.colors)
    stones_per_metre = 1 / look.grain
    node = nodes.add("TexBrick", Vector=place, Scale=stones_per_metre, Mortar_Size=_JOINT)
    nodes.set(node.inputs["Mortar"], (*joint, 1.0))
    nodes.set(node.inputs["Color1"], (*stone, 1.0))
    nodes.set(node.inputs["Color2"], (*shaded(stone, _SHADE), 1.0))
    nodes.set(node.inputs["Brick Width"], 1.0)
    nodes.set(node.inputs["Row Height"], 1.0)
    node.offset = 0.5 if look.pattern == "paving" else 0.0
    return node.outputs[0]
