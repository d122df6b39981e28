"""Adds shader nodes to a tree by their effect: noise, cells, blends, gradients, bumps."""

from collections.abc import Sequence
from typing import TypeAlias

import bpy

from generator.render.blender.meshes import Rgb

Socket: TypeAlias = bpy.types.NodeSocket


class Nodes:
    """Adds nodes to a tree. All get one label, by which `clear` finds them again."""

    def __init__(self, tree: bpy.types.NodeTree, label: str = ""):
        self._tree = tree
        self._label = label

    def clear(self) -> None:
        """Remove all nodes that have the label."""
        labelled = [node for node in self._tree.nodes if node.label == self._label]
        for node in labelled:
            self._tree.nodes.remove(node)

    @property
    def surface(self) -> Socket:
        """The input of the material's output that takes its shader."""
        return self._tree.nodes["Material Output"].inputs["Surface"]

    def add(self, kind: str, name: str = "", **inputs: object) -> bpy.types.Node:
        """Add a node.

        Args:
            kind: Its type in Blender, without `ShaderNode`.
            name: Its name in the tree; empty for Blender's own.
            **inputs: Its inputs by name, with `_` for a space: a socket to link, or a value.
        """
        node = self._tree.nodes.new(f"ShaderNode{kind}")
        node.label = self._label
        if name:
            node.name = name
        for input_name, value in inputs.items():
            self.set(node.inputs[input_name.replace("_", " ")], value)
        return node

    def set(self, target: Socket, value: object) -> None:
        """Link an input to a socket, or give it a value.

        Args:
            target: The input of a node.
            value: An output of a node, or what the input takes.
        """
        if isinstance(value, bpy.types.NodeSocket):
            self._tree.links.new(value, target)
        else:
            target.default_value = value

    def place(self) -> Socket:
        """Add coordinates in the object's own axes, in units of its mesh."""
        return self.add("TexCoord").outputs["Object"]

    def stretched(self, place: Socket, scale: tuple[float, float, float]) -> Socket:
        """Multiply coordinates by a factor along each axis.

        Args:
            place: Coordinates.
            scale: The factors along x, y and z.

        Returns:
            The product; marks of a texture that uses it become smaller by the factors.
        """
        return self.add("Mapping", Vector=place, Scale=scale).outputs[0]

    def noise(self, place: Socket, scale: float, detail: float = 4.0) -> Socket:
        """Add noise.

        Args:
            place: Coordinates.
            scale: Bumps per unit of the coordinates, about.
            detail: The number of octaves above the first.

        Returns:
            Values around 0.5.
        """
        return self.add("TexNoise", Vector=place, Scale=scale, Detail=detail).outputs[0]

    def cells(self, place: Socket, scale: float, disorder: float) -> bpy.types.Node:
        """Add cells of a lattice distorted by noise.

        Blender's own random cells differ between its versions.

        Args:
            place: Coordinates.
            scale: Cells per unit of the coordinates.
            disorder: How far the noise moves points, in cells.

        Returns:
            The node of the cells, with outputs such as Distance and Position.
        """
        noise = self.add("TexNoise", Vector=place, Scale=0.9 * scale, Detail=0.0)
        distorted = self.add("VectorMath")
        distorted.operation = "MULTIPLY_ADD"
        factor, multiplier, addend = distorted.inputs[:3]
        self.set(factor, noise.outputs["Color"])
        self.set(multiplier, (disorder / scale,) * 3)
        self.set(addend, place)
        return self.add("TexVoronoi", Vector=distorted.outputs[0], Scale=scale, Randomness=0.0)

    def compute(self, operation: str, *values: object) -> Socket:
        """Add arithmetic on numbers.

        Args:
            operation: Its name in Blender, such as MULTIPLY.
            *values: The operands: sockets or numbers.
        """
        node = self.add("Math")
        node.operation = operation
        for target, value in zip(node.inputs, values, strict=False):
            self.set(target, value)
        return node.outputs[0]

    def between(self, value: Socket, low: float, high: float) -> Socket:
        """Add a smooth step.

        Args:
            value: The number to compare.
            low: Where the result is 0. It may be the larger number.
            high: Where the result is 1.
        """
        least, most = min(low, high), max(low, high)
        node = self.add("MapRange", Value=value, From_Min=least, From_Max=most)
        # The node wants its range ascending, so a falling step is one from 1 to 0.
        self.set(node.inputs["To Min"], float(low > high))
        self.set(node.inputs["To Max"], float(low < high))
        node.interpolation_type = "SMOOTHSTEP"
        return node.outputs[0]

    def mix(self, share: object, under: object, over: object, *, blend_type: str = "MIX") -> Socket:
        """Blend a colour onto another.

        Args:
            share: How much of `over` is blended, 0..1: a socket or a number.
            under: The colour below: a socket or RGB.
            over: The colour above: a socket or RGB.
            blend_type: Blender's blend mode.
        """
        node = self.add("Mix")
        node.data_type = "RGBA"
        node.blend_type = blend_type
        # A Mix node has inputs for every type of data: 0 is the factor, 6 and 7 are the colours.
        self.set(node.inputs[0], share)
        self.set(node.inputs[6], _opaque(under))
        self.set(node.inputs[7], _opaque(over))
        return node.outputs[2]

    def mix_shaders(
        self, first: bpy.types.Node, second: bpy.types.Node, name: str = ""
    ) -> bpy.types.Node:
        """Add a node that mixes two shaders.

        Args:
            first: The shader at factor 0.
            second: The shader at factor 1.
            name: The name of the new node; empty for Blender's own.
        """
        mix = self.add("MixShader", name)
        self.set(mix.inputs[1], first.outputs[0])
        self.set(mix.inputs[2], second.outputs[0])
        return mix

    def ramp(
        self, value: Socket, colors: Sequence[Rgb], ends: tuple[float, float] = (0.0, 1.0)
    ) -> Socket:
        """Add a gradient of colours over a value.

        Args:
            value: A number.
            colors: At least two colours, evenly spaced between the ends.
            ends: The values of the first and the last colour.
        """
        node = self.add("ValToRGB", Fac=value)
        elements = node.color_ramp.elements
        while len(elements) < len(colors):
            elements.new(1.0)
        start, end = ends
        n_steps = len(colors) - 1
        # Positions first, because Blender keeps the elements sorted by them.
        for i in range(len(colors)):
            elements[i].position = start + (end - start) * i / n_steps
        for element, color in zip(elements, colors, strict=True):
            element.color = (*color, 1.0)
        return node.outputs[0]

    def bump(self, height: Socket, strength: float, depth: float) -> Socket:
        """Add the normal of a raised surface, as the camera sees it.

        For reflected light the surface is flat, because bumps differ there between versions of
        Blender.

        Args:
            height: How far the surface is raised, 0..1.
            strength: The strength of the effect, 0..1.
            depth: What the height is multiplied by, metres.
        """
        from_camera = self.add("LightPath").outputs["Is Camera Ray"]
        visible_strength = self.compute("MULTIPLY", from_camera, strength)
        bump = self.add("Bump", Height=height, Strength=visible_strength, Distance=depth)
        return bump.outputs[0]


def _opaque(color: object) -> object:
    """RGB with an alpha of 1; a socket as it is."""
    return (*color, 1.0) if isinstance(color, tuple) else color
