"""Functions for the differences between the supported versions of Blender: 4.5 (Python 3.11) and
5.2 (Python 3.13)."""

from typing import NamedTuple

import bpy

_GROUPS = bpy.app.version >= (5, 0, 0)
"""Whether the compositor is a node group, and its nodes take their modes as inputs."""
DIFFUSE_COLOR, GLOSSY_COLOR, ENVIRONMENT = (
    ("Diffuse Color", "Glossy Color", "Environment") if _GROUPS else ("DiffCol", "GlossCol", "Env")
)
"""Names of passes."""


class Compositor(NamedTuple):
    """The compositor of a scene: its nodes, and the input that takes the finished image."""

    tree: bpy.types.NodeTree
    result: bpy.types.NodeSocket


def new_compositor(scene: bpy.types.Scene) -> Compositor:
    """Give a scene a compositor without other nodes."""
    if _GROUPS:
        tree = scene.compositing_node_group = bpy.data.node_groups.new(
            "compositor", "CompositorNodeTree"
        )
        tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
        return Compositor(tree, tree.nodes.new("NodeGroupOutput").inputs["Image"])
    scene.use_nodes = True
    tree = scene.node_tree
    tree.nodes.clear()
    return Compositor(tree, tree.nodes.new("CompositorNodeComposite").inputs["Image"])


def compositor_nodes(scene: bpy.types.Scene) -> bpy.types.Nodes:
    """The nodes of the compositor of a scene."""
    return (scene.compositing_node_group if _GROUPS else scene.node_tree).nodes


def set_denoiser(node: bpy.types.Node, quality: str, prefilter: str) -> None:
    """Set the modes of a Denoise node: `quality` HIGH, BALANCED or FAST; `prefilter` NONE, FAST or
    ACCURATE."""
    if _GROUPS:
        node.inputs["Quality"].default_value, node.inputs["Prefilter"].default_value = (
            quality.title(),
            prefilter.title(),
        )
    else:
        node.quality, node.prefilter = quality, prefilter


def layers_of(node: bpy.types.Node) -> tuple[bpy.types.NodeSocket, bpy.types.NodeSocket]:
    """The inputs of an Alpha Over node: the image below and the image above."""
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
