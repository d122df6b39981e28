"""Procedural textures in the object's own coordinates: fixed to the object, and of the same size on
every object."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import bpy

from generator.vocabulary.environments import color_of

Socket: TypeAlias = bpy.types.NodeSocket
Rgb = tuple[float, float, float]
"""Linear red, green and blue, 0..1."""


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
        node = self.add("MapRange", Value=value, From_Min=min(low, high), From_Max=max(low, high))
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
        for target, color in ((node.inputs[6], under), (node.inputs[7], over)):
            self.set(target, (*color, 1.0) if isinstance(color, tuple) else color)
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
        # Positions first, because Blender keeps the elements sorted by them.
        for i in range(len(colors)):
            elements[i].position = start + (end - start) * i / (len(colors) - 1)
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


_LABEL = "texture"
_DARKER = 0.3
"""Brightness of the second colour over the object's own, for textures without colours."""
_DEPTH = 0.25
"""Depth of the marks at full relief, over their size."""

Pattern = tuple[Socket, Socket]
"""The colour, and the height of the surface, 0..1."""


def clear_texture(material: bpy.types.Material) -> None:
    """Remove the texture of a material, if it has one."""
    Nodes(material.node_tree, _LABEL).clear()


def set_texture(
    material: bpy.types.Material, texture: dict[str, Any], *, object_color: Rgb, scale: float
) -> None:
    """Cover a material of one Principled BSDF with a texture; an earlier texture is removed.

    Args:
        material: The material.
        texture: What the vocabulary declares (docs/vocabularies.md).
        object_color: The object's own colour, which a texture without colours uses.
        scale: The length of a unit of the object's mesh, metres.
    """
    nodes = Nodes(material.node_tree, _LABEL)
    nodes.clear()
    shader = material.node_tree.nodes["Principled BSDF"]
    if texture.get("colors"):
        colors = [color_of(color) for color in texture["colors"]]
    else:
        red, green, blue = object_color
        colors = [object_color, (red * _DARKER, green * _DARKER, blue * _DARKER)]
    # The size of marks is declared in metres, coordinates are in units of the mesh.
    marks_per_unit = scale / texture["scale"]
    place = nodes.stretched(nodes.place(), (marks_per_unit,) * 3)
    color, height = _PATTERNS[texture["pattern"]](nodes, place, colors)
    nodes.set(shader.inputs["Base Color"], color)
    if texture["relief"]:
        normal = nodes.bump(height, texture["relief"], _DEPTH * texture["scale"])
        nodes.set(shader.inputs["Normal"], normal)


def _noise(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Clouds of the colours. Noise is mostly near 0.5, so the colours lie close about it."""
    value = nodes.noise(place, 1.0)
    return nodes.ramp(value, colors, (0.38, 0.62)), value


def _blades(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Ragged upright blades, as of grass."""
    upright = nodes.stretched(place, (1.0, 1.0, 0.3))
    value = nodes.noise(upright, 1.0, 2.0)
    return nodes.ramp(value, colors, (0.36, 0.62)), value


def _cobbles(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Stones; the first colour is for the joints, the others are for the stones."""
    # The same cells twice: one node tells the distance to their edges, the other their positions.
    edges = nodes.cells(place, 1.0, 1.6)
    cells = nodes.cells(place, 1.0, 1.6)
    edges.feature = "DISTANCE_TO_EDGE"
    stone = nodes.between(edges.outputs["Distance"], 0.03, 0.12)

    joint_color, *stone_colors = colors
    if len(stone_colors) == 1:
        # A darker shade beside it, so that stones differ.
        red, green, blue = stone_colors[0]
        stone_colors.insert(0, (0.7 * red, 0.7 * green, 0.7 * blue))
    # Noise at the middle of each stone gives the whole stone one colour.
    stone_noise = nodes.noise(cells.outputs["Position"], 7.3, 0.0)
    shade = nodes.ramp(stone_noise, stone_colors, (0.35, 0.65))
    grain = nodes.mix(0.5, shade, nodes.noise(place, 6.0), blend_type="SOFT_LIGHT")
    return nodes.mix(stone, joint_color, grain), stone


def _rings(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """The grain of wood: rings of a trunk that lies along the body."""
    along_trunk = nodes.stretched(place, (0.15, 1.0, 1.0))
    wave = nodes.add("TexWave", Vector=along_trunk, Scale=0.25, Distortion=9.0, Detail=3.0)
    wave.bands_direction = "Z"
    across_fibres = nodes.stretched(along_trunk, (1.0, 4.0, 4.0))
    fibres = nodes.noise(across_fibres, 1.0, 3.0)
    rings = nodes.ramp(wave.outputs["Fac"], colors)
    color = nodes.mix(0.8, rings, fibres, blend_type="SOFT_LIGHT")
    return color, wave.outputs["Fac"]


def _brick(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Rows of bricks on every side; the first colour is for the mortar."""
    on_side = _wrapped(nodes, place)
    brick = nodes.add("TexBrick", Vector=on_side, Scale=1.0, Mortar_Size=0.05, Mortar_Smooth=0.3)
    nodes.set(brick.inputs["Brick Width"], 1.0)
    nodes.set(brick.inputs["Row Height"], 0.5)
    nodes.set(brick.inputs["Mortar"], (*colors[0], 1.0))
    nodes.set(brick.inputs["Color1"], (*colors[1], 1.0))
    nodes.set(brick.inputs["Color2"], (*colors[-1], 1.0))
    # "Fac" is 1 in the mortar, which lies deeper.
    height = nodes.compute("SUBTRACT", 1.0, brick.outputs["Fac"])
    return brick.outputs["Color"], height


def _wrapped(nodes: Nodes, place: Socket) -> Socket:
    """Box mapping: of three planes, coordinates on the plane that the surface faces most."""
    normal = nodes.add("SeparateXYZ", Vector=nodes.add("TexCoord").outputs["Normal"])
    facing_x, facing_y, facing_z = (
        nodes.compute("ABSOLUTE", normal.outputs[axis]) for axis in range(3)
    )
    point = nodes.add("SeparateXYZ", Vector=place)
    x, y, z = point.outputs
    faces_x = nodes.compute("GREATER_THAN", facing_x, facing_y)
    # Walls that lean are still walls.
    faces_up = nodes.compute("GREATER_THAN", facing_z, 0.8)
    on_y_side = nodes.add("CombineXYZ", X=x, Y=z).outputs[0]
    on_x_side = nodes.add("CombineXYZ", X=y, Y=z).outputs[0]
    on_top = nodes.add("CombineXYZ", X=x, Y=y).outputs[0]
    on_wall = nodes.mix(faces_x, on_y_side, on_x_side)
    return nodes.mix(faces_up, on_wall, on_top)


def _veins(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Veins of the last colour through clouds of the others."""
    # A vein is where noise crosses its mean.
    difference = nodes.compute("SUBTRACT", nodes.noise(place, 0.7, 5.0), 0.5)
    distance_from_vein = nodes.compute("ABSOLUTE", difference)
    vein = nodes.between(distance_from_vein, 0.045, 0.0)
    *cloud_colors, vein_color = colors
    clouds: object = cloud_colors[0]
    if len(cloud_colors) > 1:
        clouds = nodes.ramp(nodes.noise(place, 0.5), cloud_colors, (0.3, 0.7))
    color = nodes.mix(vein, clouds, vein_color)
    height = nodes.compute("SUBTRACT", 1.0, vein)
    return color, height


def _aslant(nodes: Nodes, place: Socket) -> Socket:
    """Coordinates turned so that no flat side of a body lies between two marks or within a mark."""
    return nodes.add("Mapping", Vector=place, Rotation=(0.0, 0.5, -0.5)).outputs[0]


def _stripes(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Slightly wavy stripes of the colours, with narrow borders."""
    slanted = _aslant(nodes, place)
    wave = nodes.add("TexWave", Vector=slanted, Scale=0.314, Distortion=0.6, Detail=1.0)
    value = nodes.between(wave.outputs["Fac"], 0.42, 0.58)
    return nodes.ramp(value, colors), value


def _checker(nodes: Nodes, place: Socket, colors: Sequence[Rgb]) -> Pattern:
    """Cubes of the first and the last colour."""
    first = (*colors[0], 1.0)
    last = (*colors[-1], 1.0)
    node = nodes.add("TexChecker", Vector=place, Scale=1.0, Color1=first, Color2=last)
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
"""Adds the nodes of each pattern of the vocabulary; coordinates are in units of its marks."""
