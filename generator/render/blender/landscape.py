"""Builds the environments of a vocabulary, each a ground mesh and a sky, when a scene first needs
them."""

import math
from typing import NamedTuple

import bpy
from mathutils import Matrix

from generator.base.streams import Stream
from generator.render.blender.materials import (
    ground_material,
    new_material,
    painted_material,
    set_inputs,
    water_material,
)
from generator.render.blender.meshes import MeshBuilder, moved
from generator.render.blender.photo import Photo
from generator.render.blender.scenery import FACING_CAMERA, Terrain, build_prop, build_room
from generator.render.blender.textures import Nodes, Socket
from generator.scene.scene import Camera
from generator.vocabulary.environments import Environment, PropSpec, SkySpec, color_of
from generator.vocabulary.materials import FloorSpec, WallSpec
from generator.vocabulary.schema import Vocabulary

_GROUND, _PAINTED, _WATER = range(3)
_TRIES = 30
_APART = 0.5  # least distance of two props, over the sum of their sizes
_SINK = 0.03  # how deep a prop stands in the ground, over its size; else it would hover on a slope
_OPENING = 0.55  # half the breadth in which props are scattered, over the distance from the camera


class Landscape(NamedTuple):
    """The mesh of the ground and all scenery on it, in world coordinates; and the sky."""

    ground: bpy.types.Mesh
    sky: bpy.types.World


class Landscapes:
    """Builds landscapes by the name of their environment, and keeps them."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._photos: dict[str, Photo] = {}
        self._built: dict[tuple[str, float], Landscape] = {}

    def of(self, name: str, yaw: float, camera: Camera) -> Landscape:
        """The landscape of an environment in the direction `yaw`, degrees. It does not depend on
        earlier calls."""
        environment = self._vocabulary.environments[name]
        if environment.photo is not None:
            if name not in self._photos:
                self._photos[name] = Photo(name, environment.photo)
            return Landscape(*self._photos[name].turned(yaw, camera))
        if (name, yaw) not in self._built:
            light = self._vocabulary.sky if environment.light is None else environment.light
            bare = environment.ground is None
            ground = (
                build_floor(self._vocabulary.floor)
                if bare
                else self._landscape(name, environment, yaw)
            )
            self._built[name, yaw] = Landscape(ground, build_sky(name, light, environment.sky, yaw))
        return self._built[name, yaw]

    def _landscape(self, name: str, environment: Environment, yaw: float) -> bpy.types.Mesh:
        x, y = (
            a - b
            for a, b in zip(
                self._vocabulary.camera.position[:2],
                self._vocabulary.camera.target[:2],
                strict=True,
            )
        )
        distance = math.hypot(x, y)
        terrain, builder = Terrain(environment, distance, yaw), MeshBuilder()
        builder.add(*terrain.sheet(), _GROUND, smooth=True)
        builder.add(*terrain.water(), _WATER)
        key = ("environment", name, *([f"{yaw:g}"] if yaw else []))
        stream = Stream(*key)
        if environment.room:
            for panel, color in build_room(environment.room, distance, stream):
                builder.add(panel, (*color, 1.0), _PAINTED)
        for group, props in environment.props.items():
            _scatter(builder, terrain, props, distance, Stream(*key, group))
        assert environment.ground is not None
        mesh = builder.build(
            name,
            [
                ground_material(name, environment.ground),
                painted_material(name),
                water_material(name),
            ],
        )
        mesh.transform(_world_from_view(x / distance, y / distance))
        return mesh


def _scatter(
    builder: MeshBuilder, terrain: Terrain, props: PropSpec, distance: float, stream: Stream
) -> None:
    """Scatter props apart from one another and outside the water; omits a prop if _TRIES tries find
    no place.

    `distance`: of the camera from the origin, metres.
    """
    placed: list[tuple[float, float, float]] = []
    for _ in range(props.count):
        size = stream.uniform(*props.size)
        for _try in range(_TRIES):
            near, last = (edge + distance for edge in props.between)  # the same density everywhere
            ahead = math.sqrt(stream.uniform(near * near, last * last)) - distance
            right = stream.uniform(-1, 1) * (1 + _OPENING * (ahead + distance))
            height, _ = terrain.at(right, ahead)
            if height > -0.05 and all(
                math.hypot(right - x, ahead - y) > _APART * (size + other) for x, y, other in placed
            ):
                break
        else:
            continue
        placed.append((right, ahead, size))
        turn = 0.0 if props.type in FACING_CAMERA else stream.uniform(0, 2 * math.pi)
        for mesh, color in build_prop(props.type, props.colors, stream):
            builder.add(
                moved(mesh, (right, ahead, height - _SINK * size), size, turn),
                (*color, 1.0),
                _PAINTED,
            )


def _world_from_view(x: float, y: float) -> Matrix:
    """World axes from right, ahead and up as the camera looks (the columns); (x, y) is the unit
    direction to the camera.
    """
    return Matrix(
        ((-y, -x, 0.0, 0.0), (x, -y, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    )


_TOP = 0.35  # sine of the elevation at which the gradient reaches the colour of the zenith
_WHITE = (1.0, 1.0, 1.0)


def build_sky(name: str, light: float, look: SkySpec | None, yaw: float) -> bpy.types.World:
    """A world with even white light of strength `light`; without a `look` the camera sees that
    light.

    `yaw`: the direction in which the camera looks, degrees.
    """
    world = bpy.data.worlds.new(name)
    world.use_nodes = True
    tree = world.node_tree
    even = tree.nodes["Background"]
    even.inputs["Color"].default_value = (*_WHITE, 1.0)
    even.inputs["Strength"].default_value = light
    if light:
        world.cycles.sampling_method = "NONE"  # the light is even, so there is nothing to sample
    if look is not None:
        nodes = Nodes(tree)
        visible = nodes.add("Background", Color=_color(nodes, look, yaw))
        mix = nodes.mix_shaders(even, visible)
        nodes.set(mix.inputs["Fac"], nodes.add("LightPath").outputs["Is Camera Ray"])
        nodes.set(tree.nodes["World Output"].inputs["Surface"], mix.outputs[0])
    return world


def _color(nodes: Nodes, look: SkySpec, yaw: float) -> Socket:
    direction = nodes.add("TexCoord").outputs["Generated"]
    if yaw:
        turned = nodes.add("VectorRotate", Vector=direction, Angle=math.radians(yaw))
        turned.rotation_type = "Z_AXIS"
        direction = turned.outputs[0]
    up = nodes.add("SeparateXYZ", Vector=direction).outputs["Z"]
    color = nodes.mix(nodes.between(up, 0.0, _TOP), color_of(look.horizon), color_of(look.zenith))
    if look.clouds:
        color = nodes.mix(_clouds(nodes, direction, look.clouds), color, _WHITE)
    if look.stars:
        stars = nodes.cells(direction, 45.0, 1.2)
        color = nodes.mix(nodes.between(stars.outputs["Distance"], 0.2, 0.1), color, _WHITE)
    return color


def _clouds(nodes: Nodes, direction: Socket, share: float) -> Socket:
    """Flat clouds that cover about a share of the sky: 0..1 by direction."""
    edge = 0.75 - 0.5 * share
    shapes = nodes.noise(nodes.stretched(direction, (5.0, 5.0, 16.0)), 1.0, 5.0)
    return nodes.between(shapes, edge - 0.08, edge + 0.14)


_SIDE = 100.0
_STEPS = 24  # faces along the bend, shaded smoothly


def build_floor(spec: FloorSpec) -> bpy.types.Mesh:
    """The floor's mesh in world coordinates (metres), with its material."""
    mesh = bpy.data.meshes.new("floor")
    if spec.wall is None:
        half = _SIDE / 2
        mesh.from_pydata(
            [(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0)],
            [],
            [(0, 1, 2, 3)],
        )
    else:
        _build_sheet(mesh, spec.wall)
    material = new_material("floor")
    set_inputs(material, spec.inputs())
    if not spec.specular:
        _simplify(material)
    mesh.materials.append(material)
    return mesh


def _simplify(material: bpy.types.Material) -> None:
    """Use the diffuse shader, which looks the same without specular reflection: Cycles traces it in
    90% of the time."""
    nodes, shader = Nodes(material.node_tree), material.node_tree.nodes["Principled BSDF"]
    matt = nodes.add("BsdfDiffuse", Color=shader.inputs["Base Color"].default_value)
    nodes.set(nodes.surface, matt.outputs["BSDF"])


def _build_sheet(mesh: bpy.types.Mesh, wall: WallSpec) -> None:
    along = (math.cos(math.radians(wall.direction)), math.sin(math.radians(wall.direction)))
    edges = [
        (away * along[0] - side * along[1], away * along[1] + side * along[0], up)
        for away, up in _profile(wall)
        for side in (-wall.breadth / 2, wall.breadth / 2)
    ]
    mesh.from_pydata(edges, [], [(i, i + 2, i + 3, i + 1) for i in range(0, len(edges) - 2, 2)])
    mesh.shade_smooth()


def _profile(wall: WallSpec) -> list[tuple[float, float]]:
    """The sheet in profile as (distance, height) in metres: the floor, a parabola from the floor to
    the wall, the wall.
    """
    bend = [step / _STEPS for step in range(_STEPS + 1)]
    curve = [(wall.distance - wall.bend * (1 - t) ** 2, wall.rise * t * t) for t in bend]
    return [(-_SIDE / 2, 0.0), *curve, (wall.distance, wall.rise + wall.height)]
