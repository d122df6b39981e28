"""Builds skies: objects are lit by even white light, while the camera sees a gradient, clouds or stars."""

import bpy

from generator.render.blender.nodes import Nodes, Socket
from generator.vocabulary.environments import SkySpec, color_of

_TOP = 0.35  # sine of the elevation at which the gradient reaches the colour of the zenith
_WHITE = (1.0, 1.0, 1.0)


def build_sky(name: str, light: float, look: SkySpec | None) -> bpy.types.World:
    """A world with even white light of strength `light`; without a `look` the camera sees that light."""
    world = bpy.data.worlds.new(name)
    world.use_nodes = True
    tree = world.node_tree
    even = tree.nodes["Background"]
    even.inputs["Color"].default_value = (*_WHITE, 1.0)
    even.inputs["Strength"].default_value = light
    if look is not None:
        world.cycles.sampling_method = "NONE"  # the light is even, so there is nothing to sample
        nodes = Nodes(tree)
        visible = nodes.add("Background", Color=_color(nodes, look))
        mix = nodes.add("MixShader", Fac=nodes.add("LightPath").outputs["Is Camera Ray"])
        nodes.set(mix.inputs[1], even.outputs[0])
        nodes.set(mix.inputs[2], visible.outputs[0])
        nodes.set(tree.nodes["World Output"].inputs["Surface"], mix.outputs[0])
    return world


def _color(nodes: Nodes, look: SkySpec) -> Socket:
    direction = nodes.add("TexCoord").outputs["Generated"]
    up = nodes.add("SeparateXYZ", Vector=direction).outputs["Z"]
    color = nodes.mix(nodes.between(up, 0.0, _TOP), color_of(look.horizon), color_of(look.zenith))
    if look.clouds:
        color = nodes.mix(_clouds(nodes, direction, look.clouds), color, _WHITE)
    if look.stars:
        stars = nodes.add("TexVoronoi", Vector=direction, Scale=45.0)
        color = nodes.mix(nodes.between(stars.outputs["Distance"], 0.2, 0.1), color, _WHITE)
    return color


def _clouds(nodes: Nodes, direction: Socket, share: float) -> Socket:
    """Flat clouds that cover about a share of the sky: 0..1 by direction."""
    edge = 0.75 - 0.5 * share
    shapes = nodes.noise(nodes.stretched(direction, (5.0, 5.0, 16.0)), 1.0, 5.0)
    return nodes.between(shapes, edge - 0.08, edge + 0.14)
