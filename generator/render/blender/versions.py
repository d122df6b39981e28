"""Functions for the differences between the supported versions of Blender: 4.5 (Python 3.11) and
5.2 (Python 3.13)."""

from typing import NamedTuple

import bpy

_GROUPS = bpy.app.version >= (5, 0, 0)
"""Whether the compositor is a node group, and its nodes take their modes as inputs."""

# Names of passes.
DIFFUSE_COLOR = "Diffuse Color" if _GROUPS else "DiffCol"
GLOSSY_COLOR = "Glossy Color" if _GROUPS else "GlossCol"
ENVIRONMENT = "Environment" if _GROUPS else "Env"


class Compositor(NamedTuple):
    """The compositor of a scene."""

    tree: bpy.types.NodeTree
    """Its nodes."""
    result: bpy.types.NodeSocket
    """The input that takes the finished image."""


def new_compositor(scene: bpy.types.Scene) -> Compositor:
    """Give a scene a compositor without other nodes.

    Args:
        scene: The Blender scene that is rendered.

    Returns:
        The compositor, of which only the output node is there.
    """
    if _GROUPS:
        tree = bpy.data.node_groups.new("compositor", "CompositorNodeTree")
        scene.compositing_node_group = tree
        tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
        return Compositor(tree, tree.nodes.new("NodeGroupOutput").inputs["Image"])
    scene.use_nodes = True
    tree = scene.node_tree
    tree.nodes.clear()
    return Compositor(tree, tree.nodes.new("CompositorNodeComposite").inputs["Image"])


def compositor_nodes(scene: bpy.types.Scene) -> bpy.types.Nodes:
    """Return the nodes of the compositor of a scene."""
    tree = scene.compositing_node_group if _GROUPS else scene.node_tree
    return tree.nodes


def set_denoiser(node: bpy.types.Node, quality: str, prefilter: str) -> None:
    """Set the modes of a Denoise node.

    Args:
        node: The node of a compositor.
        quality: HIGH, BALANCED or FAST.
        prefilter: NONE, FAST or ACCURATE.
    """
    if _GROUPS:
        node.inputs["Quality"].default_value = quality.title()
        node.inputs["Prefilter"].default_value = prefilter.title()
    else:
        node.quality = quality
        node.prefilter = prefilter


def layers_of(node: bpy.types.Node) -> tuple[bpy.types.NodeSocket, bpy.types.NodeSocket]:
    """Return the inputs of an Alpha Over node: the image below and the image above."""
    if _GROUPS:
        return node.inputs["Background"], node.inputs["Foreground"]
    return node.inputs[1], node.inputs[2]


def save_all_passes(settings: bpy.types.ImageFormatSettings) -> None:
    """Have Blender save renders as EXR files of one part with all passes."""
    if _GROUPS:
        settings.media_type = "MULTI_LAYER_IMAGE"
        settings.use_exr_interleave = True  # else each pass is a separate part
    settings.file_format = "OPEN_EXR_MULTILAYER"


def save_image(settings: bpy.types.ImageFormatSettings) -> None:
    """Have Blender save renders as PNG files."""
    if _GROUPS:
        settings.media_type = "IMAGE"
    settings.file_format = "PNG"
