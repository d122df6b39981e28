"""Procedural textures in the object's own coordinates: fixed to the object, and of the same size on
every object."""

from collections.abc import Callable, Sequence
from typing import Any

import bpy

from generator.render.blender.meshes import Rgb, shaded
from generator.render.blender.nodes import Nodes, Socket
from generator.vocabulary.environments import color_of

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
        colors = [object_color, shaded(object_color, _DARKER)]
    # The size of marks is declared in metres, coordinates are in units of the mesh.
    marks_per_unit = scale / texture["scale"]
    place = nodes.stretched(nodes.place(), (marks_per_unit,) * 3)
    add_pattern = _PATTERNS[texture["pattern"]]
    color, height = add_pattern(nodes, place, colors)
    nodes.set(shader.inputs["Base Color"], color)
    if texture["relief"]:
        depth = _DEPTH * texture["scale"]
        normal = nodes.bump(height, strength=texture["relief"], depth=depth)
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
        stone_colors.insert(0, shaded(stone_colors[0], 0.7))
    # Noise at the middle of each stone gives the whole stone one colour.
    stone_noise = nodes.noise(cells.outputs["Position"], 7.3, 0.0)
    shade = nodes.ramp(stone_noise, stone_colors, (0.35, 0.65))
    grain = nodes.noise(place, 6.0)
    grained = nodes.mix(0.5, shade, grain, blend_type="SOFT_LIGHT")
    return nodes.mix(stone, joint_color, grained), stone


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
    normal_vector = nodes.add("TexCoord").outputs["Normal"]
    normal = nodes.add("SeparateXYZ", Vector=normal_vector)
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
    value = nodes.noise(place, 0.7, 5.0)
    difference = nodes.compute("SUBTRACT", value, 0.5)
    distance_from_vein = nodes.compute("ABSOLUTE", difference)
    vein = nodes.between(distance_from_vein, 0.045, 0.0)
    *cloud_colors, vein_color = colors
    clouds: object = cloud_colors[0]
    if len(cloud_colors) > 1:
        cloud_noise = nodes.noise(place, 0.5)
        clouds = nodes.ramp(cloud_noise, cloud_colors, (0.3, 0.7))
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
