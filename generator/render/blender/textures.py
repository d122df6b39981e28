"""Procedural textures in the object's own coordinates: fixed to the object, and of the same size on
every object."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import bpy

from generator.vocabulary.environments import color_of

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

    @property
    def surface(self) -> Socket:
        """The input of the material's output that takes its shader."""
        return self._tree.nodes["Material Output"].inputs["Surface"]

    def add(self, kind: str, name: str = "", **inputs: object) -> bpy.types.Node:
        """Add a node. Inputs are given by name, with `_` for a space, as a socket to link or as a
        value."""
        node = self._tree.nodes.new(f"ShaderNode{kind}")
        node.label, node.name = self._label, name or node.name
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
        """Noise with values around 0.5."""
        return self.add("TexNoise", Vector=place, Scale=scale, Detail=detail).outputs[0]

    def cells(self, place: Socket, scale: float, disorder: float) -> bpy.types.Node:
        """Cells of a lattice distorted by noise. Blender's own random cells differ between its
        versions."""
        noise = self.add("TexNoise", Vector=place, Scale=0.9 * scale, Detail=0.0).outputs["Color"]
        bent = self.add("VectorMath")
        bent.operation = "MULTIPLY_ADD"
        for target, value in zip(
            bent.inputs, (noise, (disorder / scale,) * 3, place), strict=False
        ):
            self.set(target, value)
        return self.add("TexVoronoi", Vector=bent.outputs[0], Scale=scale, Randomness=0.0)

    def compute(self, operation: str, *values: object) -> Socket:
        """Arithmetic on numbers."""
        node = self.add("Math")
        node.operation = operation
        for target, value in zip(node.inputs, values, strict=False):
            self.set(target, value)
        return node.outputs[0]

    def between(self, value: Socket, low: float, high: float) -> Socket:
        """A smooth step: 0 at `low`, 1 at `high`. `low` may be the larger number."""
        node = self.add("MapRange", Value=value, From_Min=min(low, high), From_Max=max(low, high))
        self.set(node.inputs["To Min"], float(low > high))
        self.set(node.inputs["To Max"], float(low < high))
        node.interpolation_type = "SMOOTHSTEP"
        return node.outputs[0]

    def mix(self, share: object, under: object, over: object, how: str = "MIX") -> Socket:
        """Blend colour `over` onto colour `under` by a share 0..1, in Blender's mode `how`.

        Colours are sockets or RGB.
        """
        node = self.add("Mix")
        node.data_type, node.blend_type = "RGBA", how
        for target, value in zip(
            (node.inputs[0], node.inputs[6], node.inputs[7]), (share, under, over), strict=True
        ):
            self.set(target, (*value, 1.0) if isinstance(value, tuple) else value)
        return node.outputs[2]

    def mix_shaders(
        self, first: bpy.types.Node, second: bpy.types.Node, name: str = ""
    ) -> bpy.types.Node:
        """A node that mixes two shaders."""
        mix = self.add("MixShader", name)
        self.set(mix.inputs[1], first.outputs[0])
        self.set(mix.inputs[2], second.outputs[0])
        return mix

    def ramp(
        self, value: Socket, colors: Sequence[Rgb], ends: tuple[float, float] = (0.0, 1.0)
    ) -> Socket:
        """A gradient of colours over a value that runs between the two `ends`."""
        node = self.add("ValToRGB", Fac=value)
        elements = node.color_ramp.elements
        while len(elements) < len(colors):
            elements.new(1.0)
        for i in range(
            len(colors)
        ):  # positions first, because Blender keeps the elements sorted by them
            elements[i].position = ends[0] + (ends[1] - ends[0]) * i / (len(colors) - 1)
        for element, color in zip(elements, colors, strict=True):
            element.color = (*color, 1.0)
        return node.outputs[0]

    def bump(self, height: Socket, strength: float, depth: float) -> Socket:
        """The normal of a surface raised by `height` (0..1) times `depth` metres, as the camera
        sees it.

        For reflected light the surface is flat, because bumps differ there between versions of
        Blender.
        """
        seen = self.compute("MULTIPLY", self.add("LightPath").outputs["Is Camera Ray"], strength)
        return self.add("Bump", Height=height, Strength=seen, Distance=depth).outputs[0]


_LABEL = "texture"
_DARKER = 0.3  # brightness of the second colour over the object's own, for textures without colours
_DEPTH = 0.25  # depth of the marks at full relief, over their size

Pattern = tuple[Socket, Socket]
"""The colour, and the height of the surface, 0..1."""


def clear_texture(material: bpy.types.Material) -> None:
    """Remove the texture of a material, if it has one."""
    Nodes(material.node_tree, _LABEL).clear()


def set_texture(
    material: bpy.types.Material, texture: dict[str, Any], own: Rgb, scale: float
) -> None:
    """Cover a material of one Principled BSDF with a texture; an earlier texture is removed.

    `texture` is declared in the vocabulary (docs/vocabularies.md). `own` is the object's colour
    (linear RGB), which a
    texture without colours uses. `scale` is the length of a unit of the object's mesh, metres.
    """
    nodes = Nodes(material.node_tree, _LABEL)
    nodes.clear()
    shader = material.node_tree.nodes["Principled BSDF"]
    if texture.get("colors"):
        colors = [color_of(color) for color in texture["colors"]]
    else:
        colors = [own, (own[0] * _DARKER, own[1] * _DARKER, own[2] * _DARKER)]
    marks = scale / texture["scale"]
    color, height = _PATTERNS[texture["pattern"]](
        nodes, nodes.stretched(nodes.place(), (marks,) * 3), colors
    )
    nodes.set(shader.inputs["Base Color"], color)
    if texture["relief"]:
        nodes.set(
            shader.inputs["Normal"],
            nodes.bump(height, texture["relief"], _DEPTH * texture["scale"]),
        )


def _noise(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    value = nodes.noise(place, 1.0)
    return nodes.ramp(value, colors, (0.38, 0.62)), value


def _blades(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Ragged upright blades, as of grass."""
    value = nodes.noise(nodes.stretched(place, (1.0, 1.0, 0.3)), 1.0, 2.0)
    return nodes.ramp(value, colors, (0.36, 0.62)), value


def _cobbles(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Stones; the first colour is for the joints, the others are for the stones."""
    edges, cells = nodes.cells(place, 1.0, 1.6), nodes.cells(place, 1.0, 1.6)
    edges.feature = "DISTANCE_TO_EDGE"
    stone = nodes.between(edges.outputs["Distance"], 0.03, 0.12)
    shades = colors[1:] if len(colors) > 2 else [tuple(0.7 * c for c in colors[1]), colors[1]]
    shade = nodes.ramp(nodes.noise(cells.outputs["Position"], 7.3, 0.0), shades, (0.35, 0.65))  # type: ignore[arg-type]
    grain = nodes.mix(0.5, shade, nodes.noise(place, 6.0), "SOFT_LIGHT")
    return nodes.mix(stone, colors[0], grain), stone


def _rings(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """The grain of wood: rings of a trunk that lies along the body."""
    long = nodes.stretched(place, (0.15, 1.0, 1.0))
    wave = nodes.add("TexWave", Vector=long, Scale=0.25, Distortion=9.0, Detail=3.0)
    wave.bands_direction = "Z"
    fibres = nodes.noise(nodes.stretched(long, (1.0, 4.0, 4.0)), 1.0, 3.0)
    return nodes.mix(
        0.8, nodes.ramp(wave.outputs["Fac"], colors), fibres, "SOFT_LIGHT"
    ), wave.outputs["Fac"]


def _brick(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Rows of bricks on every side; the first colour is for the mortar."""
    brick = nodes.add(
        "TexBrick", Vector=_wrapped(nodes, place), Scale=1.0, Mortar_Size=0.05, Mortar_Smooth=0.3
    )
    nodes.set(brick.inputs["Brick Width"], 1.0)
    nodes.set(brick.inputs["Row Height"], 0.5)
    for name, color in (("Mortar", colors[0]), ("Color1", colors[1]), ("Color2", colors[-1])):
        nodes.set(brick.inputs[name], (*color, 1.0))
    return brick.outputs["Color"], nodes.compute("SUBTRACT", 1.0, brick.outputs["Fac"])


def _wrapped(nodes: Nodes, place: Socket) -> Socket:
    """Box mapping: of three planes, coordinates on the plane that the surface faces most."""
    facing = nodes.add("SeparateXYZ", Vector=nodes.add("TexCoord").outputs["Normal"])
    across, along, up = (nodes.compute("ABSOLUTE", facing.outputs[axis]) for axis in range(3))
    at = nodes.add("SeparateXYZ", Vector=place)
    end_on = nodes.compute("GREATER_THAN", across, along)
    flat = nodes.compute("GREATER_THAN", up, 0.8)
    side = nodes.add("CombineXYZ", X=at.outputs["X"], Y=at.outputs["Z"]).outputs[0]
    front = nodes.add("CombineXYZ", X=at.outputs["Y"], Y=at.outputs["Z"]).outputs[0]
    top = nodes.add("CombineXYZ", X=at.outputs["X"], Y=at.outputs["Y"]).outputs[0]
    return nodes.mix(flat, nodes.mix(end_on, side, front), top)


def _veins(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Veins of the last colour through clouds of the others."""
    off = nodes.compute("ABSOLUTE", nodes.compute("SUBTRACT", nodes.noise(place, 0.7, 5.0), 0.5))
    vein = nodes.between(off, 0.045, 0.0)
    base = (
        nodes.ramp(nodes.noise(place, 0.5), colors[:-1], (0.3, 0.7))
        if len(colors) > 2
        else colors[0]
    )
    return nodes.mix(vein, base, colors[-1]), nodes.compute("SUBTRACT", 1.0, vein)


def _aslant(nodes: Nodes, place: Socket) -> Socket:
    """Coordinates turned so that no flat side of a body lies between two marks or within a mark."""
    return nodes.add("Mapping", Vector=place, Rotation=(0.0, 0.5, -0.5)).outputs[0]


def _stripes(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    wave = nodes.add(
        "TexWave", Vector=_aslant(nodes, place), Scale=0.314, Distortion=0.6, Detail=1.0
    )
    value = nodes.between(wave.outputs["Fac"], 0.42, 0.58)
    return nodes.ramp(value, colors), value


def _checker(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    node = nodes.add(
        "TexChecker", Vector=place, Scale=1.0, Color1=(*colors[0], 1.0), Color2=(*colors[-1], 1.0)
    )
    return node.outputs["Color"], node.outputs["Fac"]


def _dots(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Dots of the last colour on the first."""
    cells = nodes.cells(_aslant(nodes, place), 1.0, 0.5)
    dot = nodes.between(cells.outputs["Distance"], 0.48, 0.42)
    return nodes.mix(dot, colors[0], colors[-1]), dot


def _scales(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Scales with edges of the first colour."""
    cells = nodes.cells(place, 1.0, 1.0)
    middle = nodes.between(cells.outputs["Distance"], 0.7, 0.1)
    return nodes.ramp(middle, colors), middle


_PATTERNS: dict[str, Callable[[Nodes, Socket, Sequence[Rgb]], Pattern]] = {
    "noise": _noise,
    "blades": _blades,
    "cobbles": _cobbles,
    "rings": _rings,
    "brick": _brick,
    "veins": _veins,
    "stripes": _stripes,
    "checker": _checker,
    "dots": _dots,
    "scales": _scales,
}
