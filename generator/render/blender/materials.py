"""Materials of objects, which are set anew for every scene, and of grounds, props and water."""

from collections.abc import Mapping
from typing import Any

import bpy

from generator.render.blender.meshes import PAINT
from generator.render.blender.textures import Nodes, Socket, clear_texture, set_texture
from generator.scene.scene import SceneObject
from generator.vocabulary.environments import GroundSpec, color_of
from generator.vocabulary.schema import Vocabulary

_BLACK = (0.0, 0.0, 0.0)  # for an object without a colour; a texture covers it


def new_material(name: str) -> bpy.types.Material:
    """A material of one Principled BSDF."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    return material


def material_inputs(thing: SceneObject, vocabulary: Vocabulary) -> dict[str, Any]:
    """The inputs that an object's attribute values declare, by name: of its material, and the
    `scale` of its mesh."""
    return {
        name: value
        for kind, chosen in thing.attributes.items()
        for name, value in vocabulary.attributes[kind][chosen].inputs().items()
    }


def set_inputs(material: bpy.types.Material, inputs: Mapping[str, Any]) -> None:
    """Apply the inputs of `material_inputs` to a material (docs/vocabularies.md explains each
    input)."""
    nodes = material.node_tree.nodes
    red, green, blue = inputs.get("linear", _BLACK)
    shade = inputs.get("albedo", 1.0)
    color = (red / 255 * shade, green / 255 * shade, blue / 255 * shade)
    shader = nodes["Principled BSDF"].inputs
    shader["Base Color"].default_value = (*color, 1.0)
    if "texture" in inputs:
        set_texture(material, inputs["texture"], color, inputs["scale"])
    else:
        clear_texture(material)
    shader["Metallic"].default_value = inputs["metallic"]
    shader["Roughness"].default_value = inputs["roughness"]
    if "specular" in inputs:
        shader["Specular IOR Level"].default_value = inputs["specular"]
    if "brushed" in inputs:
        brushed = inputs["brushed"]
        if "Metal" not in nodes:
            _add_metal(Nodes(material.node_tree))
        shader["Metallic"].default_value = 0.0
        nodes["Metal"].inputs["Fac"].default_value = inputs["metallic"]
        nodes["Lobes"].inputs["Fac"].default_value = brushed["share"]
        _set_gloss(nodes["Polished"], color, inputs["roughness"], 0.0)
        _set_gloss(nodes["Brushed"], color, brushed["roughness"], brushed["stretch"])
    if "glaze" in inputs:
        if "Glaze" not in nodes:
            _add_glaze(Nodes(material.node_tree))
        nodes["Fresnel"].inputs["IOR"].default_value = inputs["glaze"]["ior"]
        _set_gloss(nodes["Glaze"], (1.0, 1.0, 1.0), inputs["glaze"]["roughness"], 0.0)


def _set_gloss(
    node: bpy.types.Node, color: tuple[float, ...], roughness: float, stretch: float
) -> None:
    node.inputs["Color"].default_value = (*color, 1.0)
    node.inputs["Roughness"].default_value = roughness
    node.inputs["Anisotropy"].default_value = stretch


def _add_metal(nodes: Nodes) -> None:
    """Mix in a metal of two glossy lobes whose reflectance is the same at every angle.

    No tangent is set, so a lobe is stretched around the vertical axis of its object.
    """
    polished, brushed = (_gloss(nodes, name) for name in ("Polished", "Brushed"))
    _cover(nodes, nodes.mix_shaders(polished, brushed, "Lobes"), "Metal")


def _add_glaze(nodes: Nodes) -> None:
    """Add a white gloss over everything, stronger at grazing angles (Fresnel)."""
    cover = _cover(nodes, _gloss(nodes, "Glaze"), "Glazed")
    nodes.set(cover.inputs["Fac"], nodes.add("Fresnel", "Fresnel").outputs[0])


def _cover(nodes: Nodes, layer: bpy.types.Node, name: str) -> bpy.types.Node:
    """Mix the present surface with a layer; returns the mixing node."""
    mix = nodes.mix_shaders(nodes.surface.links[0].from_node, layer, name)
    nodes.set(nodes.surface, mix.outputs[0])
    return mix


def _gloss(nodes: Nodes, name: str) -> bpy.types.Node:
    node = nodes.add("BsdfAnisotropic", name)
    node.distribution = "GGX"  # set once, because every change rebuilds the tree
    return node


_JOINT = 0.02  # width, over the size of a stone
_SHADE = 0.8  # brightness of every other stone


def ground_material(name: str, look: GroundSpec) -> bpy.types.Material:
    """Uneven ground of two colours in spots, stones or plates; the mesh's vertex colour covers it
    by its alpha."""
    material, nodes, shader = _matt(
        f"{name} ground", 0.95, 0.0
    )  # a gloss on bumps differs between versions of Blender
    place = nodes.place()
    fine = nodes.noise(place, 8 / look.grain)
    own = nodes.mix(
        0.5,
        _spots(nodes, place, look) if look.pattern == "spots" else _bricks(nodes, place, look),
        fine,
        "SOFT_LIGHT",
    )
    paint = _paint(nodes)
    nodes.set(shader["Base Color"], nodes.mix(paint["Alpha"], own, paint["Color"]))
    if look.bumps:
        nodes.set(shader["Normal"], nodes.bump(fine, look.bumps, 0.1 * look.grain))
    return material


def painted_material(name: str) -> bpy.types.Material:
    """A matt material in the mesh's vertex colour."""
    material, nodes, shader = _matt(f"{name} painted", 0.85, 0.1)
    nodes.set(shader["Base Color"], _paint(nodes)["Color"])
    return material


def water_material(name: str) -> bpy.types.Material:
    """A half-glossy material in the mesh's vertex colour, with small waves."""
    material, nodes, shader = _matt(f"{name} water", 0.3, 0.5)
    paint = _paint(nodes)
    waves = nodes.noise(nodes.stretched(nodes.place(), (0.35, 1.2, 1.0)), 1.0)
    nodes.set(shader["Base Color"], nodes.mix(0.6, paint["Color"], waves, "SOFT_LIGHT"))
    return material


def _matt(name: str, roughness: float, specular: float) -> tuple[bpy.types.Material, Nodes, Any]:
    """A material, its nodes, and the inputs of its shader."""
    material = new_material(name)
    shader = material.node_tree.nodes["Principled BSDF"].inputs
    shader["Roughness"].default_value = roughness
    shader["Specular IOR Level"].default_value = specular
    return material, Nodes(material.node_tree), shader


def _paint(nodes: Nodes) -> Any:
    """The outputs of the mesh's vertex colour."""
    paint = nodes.add("Attribute")
    paint.attribute_name = PAINT
    return paint.outputs


def _spots(nodes: Nodes, place: Socket, look: GroundSpec) -> Socket:
    return nodes.ramp(
        nodes.noise(place, 1 / look.grain), [color_of(color) for color in look.colors], (0.4, 0.6)
    )


def _bricks(nodes: Nodes, place: Socket, look: GroundSpec) -> Socket:
    """Paving stones, each row shifted by half a stone, or plates."""
    stone, joint = (color_of(color) for color in look.colors)
    node = nodes.add(
        "TexBrick", Vector=place, Scale=1 / look.grain, Mortar_Size=_JOINT, Mortar=(*joint, 1.0)
    )
    nodes.set(node.inputs["Color1"], (*stone, 1.0))
    nodes.set(node.inputs["Color2"], (*(_SHADE * channel for channel in stone), 1.0))
    nodes.set(node.inputs["Brick Width"], 1.0)
    nodes.set(node.inputs["Row Height"], 1.0)
    node.offset = 0.5 if look.pattern == "paving" else 0.0
    return node.outputs[0]
