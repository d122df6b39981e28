"""Short ways to add shader nodes to a tree; each returns the output socket of the result."""

from collections.abc import Sequence
from typing import TypeAlias

import bpy

Socket: TypeAlias = bpy.types.NodeSocket
Rgb = tuple[float, float, float]


class Nodes:
    """Adds nodes to a tree. All get one `label`, by which `clear` finds them again."""

    def __init__(self, tree: bpy.types.NodeTree, label: str = ""):
        self._tree, self._label = tree, label

    def clear(self) -> None:
        """Remove all nodes that have the label."""
        for node in [node for node in self._tree.nodes if node.label == self._label]:
            self._tree.nodes.remove(node)

    def add(self, kind: str, **inputs: object) -> bpy.types.Node:
        """Add a node. Inputs are given by name, with `_` for a space, as a socket to link or as a value."""
        node = self._tree.nodes.new(f"ShaderNode{kind}")
        node.label = self._label
        for name, value in inputs.items():
            self.set(node.inputs[name.replace("_", " ")], value)
        return node

    def set(self, target: Socket, value: object) -> None:
        """Link an input to a socket, or give it a value."""
        if isinstance(value, bpy.types.NodeSocket):
            self._tree.links.new(value, target)
        else:
            target.default_value = value

    def place(self) -> Socket:
        """Coordinates in the object's own axes, in units of its mesh."""
        return self.add("TexCoord").outputs["Object"]

    def stretched(self, place: Socket, scale: tuple[float, float, float]) -> Socket:
        """Coordinates times a factor along each axis."""
        return self.add("Mapping", Vector=place, Scale=scale).outputs[0]

    def noise(self, place: Socket, scale: float, detail: float = 4.0) -> Socket:
        """Noise about 0.5."""
        return self.add("TexNoise", Vector=place, Scale=scale, Detail=detail).outputs[0]

    def compute(self, operation: str, *values: object) -> Socket:
        """Arithmetic on numbers."""
        node = self.add("Math")
        node.operation = operation
        for target, value in zip(node.inputs, values, strict=False):
            self.set(target, value)
        return node.outputs[0]

    def between(self, value: Socket, low: float, high: float) -> Socket:
        """A smooth step: 0 at `low`, 1 at `high`. `low` may be the larger number."""
        ends = {"To_Min": float(low > high), "To_Max": float(low < high)}
        node = self.add("MapRange", Value=value, From_Min=min(low, high), From_Max=max(low, high), **ends)
        node.interpolation_type = "SMOOTHSTEP"
        return node.outputs[0]

    def mix(self, share: object, under: object, over: object, how: str = "MIX") -> Socket:
        """Blend colour `over` onto colour `under` by a share 0..1, in Blender's mode `how`. Colours are sockets or RGB."""
        node = self.add("Mix")
        node.data_type, node.blend_type = "RGBA", how
        for target, value in zip((node.inputs[0], node.inputs[6], node.inputs[7]), (share, under, over), strict=True):
            self.set(target, (*value, 1.0) if isinstance(value, tuple) else value)
        return node.outputs[2]

    def ramp(self, value: Socket, colors: Sequence[Rgb], ends: tuple[float, float] = (0.0, 1.0)) -> Socket:
        """A gradient through colours as a value goes from one end to the other."""
        node = self.add("ValToRGB", Fac=value)
        elements = node.color_ramp.elements
        while len(elements) < len(colors):
            elements.new(1.0)
        for i in range(len(colors)):  # positions first, because Blender keeps the elements sorted by them
            elements[i].position = ends[0] + (ends[1] - ends[0]) * i / (len(colors) - 1)
        for element, color in zip(elements, colors, strict=True):
            element.color = (*color, 1.0)
        return node.outputs[0]

    def bump(self, height: Socket, strength: float, depth: float) -> Socket:
        """The normal of a surface raised by `height` (0..1) times `depth` metres."""
        return self.add("Bump", Height=height, Strength=strength, Distance=depth).outputs[0]
