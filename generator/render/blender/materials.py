"""Materials of objects: one for each object of a scene, set anew for every scene."""

from collections.abc import Mapping
from typing import Any

import bpy

from generator.render.blender.textures import clear_texture, set_texture
from generator.scene.scene import SceneObject
from generator.vocabulary.schema import Vocabulary

_BLACK = (0.0, 0.0, 0.0)  # of an object without a colour, which a texture covers


def new_material(name: str) -> bpy.types.Material:
    """A material of one Principled BSDF."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    return material


def material_inputs(thing: SceneObject, vocabulary: Vocabulary) -> dict[str, Any]:
    """What the attribute values of an object declare, by input name: its material, and the `scale` of its mesh."""
    return {
        name: value
        for kind, chosen in thing.attributes.items()
        for name, value in vocabulary.attributes[kind][chosen].inputs().items()
    }


def set_inputs(material: bpy.types.Material, inputs: Mapping[str, Any]) -> None:
    """Set a material to what `material_inputs` gives (docs/vocabularies.md says what each input means)."""
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
        if "Metal" not in nodes:
            _add_metal(material.node_tree)
        shader["Metallic"].default_value = 0.0
        nodes["Metal"].inputs["Fac"].default_value = inputs["metallic"]
        brushed = inputs["brushed"]
        nodes["Lobes"].inputs["Fac"].default_value = brushed["share"]
        _set_gloss(nodes["Polished"], color, inputs["roughness"], 0.0)
        _set_gloss(nodes["Brushed"], color, brushed["roughness"], brushed["stretch"])
    if "glaze" in inputs:
        if "Glaze" not in nodes:
            _add_glaze(material.node_tree)
        nodes["Fresnel"].inputs["IOR"].default_value = inputs["glaze"]["ior"]
        _set_gloss(nodes["Glaze"], (1.0, 1.0, 1.0), inputs["glaze"]["roughness"], 0.0)


def _set_gloss(node: bpy.types.Node, color: tuple[float, ...], roughness: float, stretch: float) -> None:
    node.inputs["Color"].default_value = (*color, 1.0)
    node.inputs["Roughness"].default_value = roughness
    node.inputs["Anisotropy"].default_value = stretch


def _add_metal(tree: bpy.types.NodeTree) -> None:
    """Mix in a metal of two glossy lobes whose reflectance is the same at every angle.

    No tangent is set, so a lobe is stretched around the vertical axis of its object.
    """
    polished, brushed = (_gloss(tree, name) for name in ("Polished", "Brushed"))
    _cover(tree, _mix(tree, "Lobes", polished, brushed), "Metal")


def _add_glaze(tree: bpy.types.NodeTree) -> None:
    """Add a white gloss over everything, stronger at grazing angles (Fresnel)."""
    cover = _cover(tree, _gloss(tree, "Glaze"), "Glazed")
    tree.links.new(_add(tree, "ShaderNodeFresnel", "Fresnel").outputs[0], cover.inputs["Fac"])


def _cover(tree: bpy.types.NodeTree, layer: bpy.types.Node, name: str) -> bpy.types.Node:
    """Mix the surface so far with a layer; returns the mixing node."""
    surface = tree.nodes["Material Output"].inputs["Surface"]
    mix = _mix(tree, name, surface.links[0].from_node, layer)
    tree.links.new(mix.outputs[0], surface)
    return mix


def _mix(tree: bpy.types.NodeTree, name: str, first: bpy.types.Node, second: bpy.types.Node) -> bpy.types.Node:
    mix = _add(tree, "ShaderNodeMixShader", name)
    tree.links.new(first.outputs[0], mix.inputs[1])
    tree.links.new(second.outputs[0], mix.inputs[2])
    return mix


def _gloss(tree: bpy.types.NodeTree, name: str) -> bpy.types.Node:
    node = _add(tree, "ShaderNodeBsdfAnisotropic", name)
    node.distribution = "GGX"  # set once, because every change rebuilds the tree
    return node


def _add(tree: bpy.types.NodeTree, kind: str, name: str) -> bpy.types.Node:
    node = tree.nodes.new(kind)
    node.name = name
    return node
