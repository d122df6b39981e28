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
from generator.render.blender.nodes import Nodes, Socket
from generator.render.blender.photo import Photo
from generator.render.blender.props import FACING_CAMERA, build_prop
from generator.render.blender.room import build_room
from generator.render.blender.surroundings import PROPS_FACTOR, Sight, Surroundings, draw_place
from generator.render.blender.terrain import Terrain
from generator.scene.scene import Scene
from generator.vocabulary.environments import Environment, PropSpec, SkySpec, color_of
from generator.vocabulary.materials import FloorSpec, WallSpec
from generator.vocabulary.schema import Vocabulary

# Material slots of a landscape's mesh.
_GROUND, _PAINTED, _WATER = range(3)

_TRIES = 30
"""Places that are tried for a prop before it is left out."""
_APART = 0.5
"""Least distance of two props, over the sum of their sizes."""
_SINK = 0.03
"""How deep a prop stands in the ground, over its size; otherwise it would hover on a slope."""
_OPENING = 0.55
"""Half the breadth in which props are scattered, over the distance from the camera."""
_UNDER_WATER = -0.05
"""Height below which the water may cover the ground, metres."""


class Landscape(NamedTuple):
    """An environment as Blender shows it."""

    ground: bpy.types.Mesh
    """The mesh of the ground and all scenery on it, in world coordinates."""
    sky: bpy.types.World
    """What lights the scene besides its lamps, and what the camera sees behind it."""


class Landscapes:
    """Builds landscapes by the name of their environment, and keeps them."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._photos: dict[str, Photo] = {}
        self._built: dict[tuple[str, float, bool], Landscape] = {}

    def prepare(self, scene: Scene) -> Landscape:
        """Return the landscape of a scene. It does not depend on earlier calls.

        Args:
            scene: The scene. If it has an azimuth, a landscape that can goes all around.

        Returns:
            The landscape. In a photographed place the next call turns it.
        """
        name, yaw, camera = scene.environment, scene.yaw, scene.camera
        environment = self._vocabulary.environments[name]
        around = environment.around and scene.azimuth is not None
        if environment.photo is not None:
            if name not in self._photos:
                self._photos[name] = Photo(name, environment.photo)
            ground, sky = self._photos[name].turn(yaw, camera)
            return Landscape(ground, sky)
        key = (name, yaw, around)
        if key not in self._built:
            self._built[key] = self._build(name, environment, yaw, around=around)
        return self._built[key]

    def _build(self, name: str, environment: Environment, yaw: float, *, around: bool) -> Landscape:
        if environment.ground is None:
            ground = build_floor(self._vocabulary.floor)
        else:
            ground = self._build_ground(name, environment, yaw, around=around)
        light = self._vocabulary.sky if environment.light is None else environment.light
        sky = build_sky(name, light, look=environment.sky, yaw=yaw)
        return Landscape(ground, sky)

    def _build_ground(
        self, name: str, environment: Environment, yaw: float, *, around: bool
    ) -> bpy.types.Mesh:
        """The ground and the scenery on it, built as the camera looks and then turned."""
        camera = self._vocabulary.camera
        x = camera.position[0] - camera.target[0]
        y = camera.position[1] - camera.target[1]
        camera_distance = math.hypot(x, y)
        sight = Sight.in_place(self._vocabulary, environment, yaw) if around else None
        if sight is None:
            terrain = Terrain(environment, camera_distance, yaw)
        else:
            terrain = Surroundings(environment, sight, yaw)

        builder = MeshBuilder()
        sheet, sheet_colors = terrain.sheet()
        builder.add(sheet, sheet_colors, slot=_GROUND, smooth=True)
        water, water_colors = terrain.water()
        builder.add(water, water_colors, slot=_WATER)

        # Without a yaw the key is that of worlds before there were directions, whose images stay.
        key: tuple[str, ...] = ("environment", name)
        if yaw:
            key = (*key, f"{yaw:g}")
        if environment.room:
            room = build_room(environment.room, camera_distance, Stream(*key))
            for panel, color in room:
                builder.add(panel, (*color, 1.0), slot=_PAINTED)
        for group, props in environment.props.items():
            _scatter(
                props,
                builder=builder,
                terrain=terrain,
                camera_distance=camera_distance,
                sight=sight,
                stream=Stream(*key, group),
            )

        assert environment.ground is not None
        materials = [
            ground_material(name, environment.ground),
            painted_material(name),
            water_material(name),
        ]
        mesh = builder.build(name, materials)
        mesh.transform(_world_from_view(x / camera_distance, y / camera_distance))
        return mesh


def _scatter(
    props: PropSpec,
    *,
    builder: MeshBuilder,
    terrain: Terrain,
    camera_distance: float,
    sight: Sight | None,
    stream: Stream,
) -> None:
    """Scatter props apart from one another and outside the water, and where the shadow of none
    falls on objects that are seen from all sides; omits a prop if _TRIES tries find no place.

    Args:
        props: What the vocabulary declares of them.
        builder: Gets their meshes.
        terrain: The ground on which they stand.
        camera_distance: Of the camera from the origin, metres.
        sight: What they must not hide from cameras on all sides; None scatters them behind the
            objects.
        stream: Decides their places and looks.
    """
    near, far = (edge + camera_distance for edge in props.between)
    # Right, ahead and size of each prop so far, metres.
    placed: list[tuple[float, float, float]] = []
    count = props.count if sight is None else PROPS_FACTOR * props.count
    for _ in range(count):
        size = stream.uniform(*props.size)
        for _try in range(_TRIES):
            facing = 0.0
            if sight is not None:
                right, ahead, facing = draw_place(props, size, sight=sight, stream=stream)
            else:
                # The square root makes the density the same everywhere in a sector of a circle.
                from_camera = math.sqrt(stream.uniform(near * near, far * far))
                ahead = from_camera - camera_distance
                half_breadth = 1 + _OPENING * (ahead + camera_distance)
                right = stream.uniform(-1, 1) * half_breadth
            height, _ = terrain.at(right, ahead)
            is_dry = height > _UNDER_WATER
            if sight is not None and sight.is_shaded_by(right, ahead, size):
                continue
            if is_dry and _is_apart(right, ahead, size=size, placed=placed):
                break
        else:
            continue
        placed.append((right, ahead, size))
        turn = facing if props.type in FACING_CAMERA else stream.uniform(0, 2 * math.pi)
        place = (right, ahead, height - _SINK * size)
        for mesh, color in build_prop(props.type, props.colors, stream):
            placed_mesh = moved(mesh, place=place, size=size, turn=turn)
            builder.add(placed_mesh, (*color, 1.0), slot=_PAINTED)


def _is_apart(
    right: float, ahead: float, *, size: float, placed: list[tuple[float, float, float]]
) -> bool:
    """Whether a prop of a size keeps clear of those that are placed."""
    for other_right, other_ahead, other_size in placed:
        distance = math.hypot(right - other_right, ahead - other_ahead)
        if distance <= _APART * (size + other_size):
            return False
    return True


def _world_from_view(x: float, y: float) -> Matrix:
    """World axes from right, ahead and up as the camera looks (the columns); (x, y) is the unit
    direction to the camera.
    """
    return Matrix(
        ((-y, -x, 0.0, 0.0), (x, -y, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    )


_TOP = 0.35
"""Sine of the elevation at which the gradient reaches the colour of the zenith."""
_WHITE = (1.0, 1.0, 1.0)


def build_sky(name: str, light: float, *, look: SkySpec | None, yaw: float) -> bpy.types.World:
    """Build a world with even white light.

    Args:
        name: The name of the environment.
        light: The strength of the light.
        look: What the camera sees in place of the light; None shows the light.
        yaw: The direction in which the camera looks, degrees.
    """
    world = bpy.data.worlds.new(name)
    world.use_nodes = True
    tree = world.node_tree
    background = tree.nodes["Background"]
    background.inputs["Color"].default_value = (*_WHITE, 1.0)
    background.inputs["Strength"].default_value = light
    if light:
        # The light is even, so there is no bright part to find by sampling.
        world.cycles.sampling_method = "NONE"
    if look is not None:
        # Only rays of the camera see the sky; the light stays white, so that objects keep their
        # colours in every place.
        nodes = Nodes(tree)
        visible = nodes.add("Background", Color=_sky_color(nodes, look, yaw))
        mix = nodes.mix_shaders(background, visible)
        from_camera = nodes.add("LightPath").outputs["Is Camera Ray"]
        nodes.set(mix.inputs["Fac"], from_camera)
        nodes.set(tree.nodes["World Output"].inputs["Surface"], mix.outputs[0])
    return world


def _sky_color(nodes: Nodes, look: SkySpec, yaw: float) -> Socket:
    """The colour of the sky: a gradient from the horizon up, and over it clouds and stars."""
    direction = nodes.add("TexCoord").outputs["Generated"]
    if yaw:
        turned = nodes.add("VectorRotate", Vector=direction, Angle=math.radians(yaw))
        turned.rotation_type = "Z_AXIS"
        direction = turned.outputs[0]
    up = nodes.add("SeparateXYZ", Vector=direction).outputs["Z"]
    height = nodes.between(up, 0.0, _TOP)
    color = nodes.mix(height, color_of(look.horizon), color_of(look.zenith))
    if look.clouds:
        color = nodes.mix(_clouds(nodes, direction, look.clouds), color, _WHITE)
    if look.stars:
        stars = nodes.cells(direction, 45.0, 1.2)
        star = nodes.between(stars.outputs["Distance"], 0.2, 0.1)
        color = nodes.mix(star, color, _WHITE)
    return color


def _clouds(nodes: Nodes, direction: Socket, share: float) -> Socket:
    """Flat clouds that cover about a share of the sky: 0..1 by direction."""
    # Clouds are where the noise is above the edge.
    edge = 0.75 - 0.5 * share
    flattened = nodes.stretched(direction, (5.0, 5.0, 16.0))
    shapes = nodes.noise(flattened, 1.0, 5.0)
    return nodes.between(shapes, edge - 0.08, edge + 0.14)


_SIDE = 100.0
"""Side of the floor, metres."""
_STEPS = 24
"""Faces along the bend, shaded smoothly."""


def build_floor(spec: FloorSpec) -> bpy.types.Mesh:
    """Build the floor with its material.

    Args:
        spec: What the vocabulary declares of it.

    Returns:
        The mesh in world coordinates (metres).
    """
    mesh = bpy.data.meshes.new("floor")
    if spec.wall is None:
        half = _SIDE / 2
        corners = [(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0)]
        mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
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
    shader = material.node_tree.nodes["Principled BSDF"]
    nodes = Nodes(material.node_tree)
    matt = nodes.add("BsdfDiffuse", Color=shader.inputs["Base Color"].default_value)
    nodes.set(nodes.surface, matt.outputs["BSDF"])


def _build_sheet(mesh: bpy.types.Mesh, wall: WallSpec) -> None:
    """Fill a mesh with a floor that bends up into a wall."""
    direction = math.radians(wall.direction)
    cos, sin = math.cos(direction), math.sin(direction)
    vertices = []
    for away, up in _profile(wall):
        for side in (-wall.breadth / 2, wall.breadth / 2):
            vertices.append((away * cos - side * sin, away * sin + side * cos, up))
    faces = [(i, i + 2, i + 3, i + 1) for i in range(0, len(vertices) - 2, 2)]
    mesh.from_pydata(vertices, [], faces)
    mesh.shade_smooth()


def _profile(wall: WallSpec) -> list[tuple[float, float]]:
    """The sheet in profile as (distance, height) in metres: the floor, a parabola from the floor to
    the wall, the wall.
    """
    profile = [(-_SIDE / 2, 0.0)]
    for step in range(_STEPS + 1):
        t = step / _STEPS
        profile.append((wall.distance - wall.bend * (1 - t) ** 2, wall.rise * t * t))
    profile.append((wall.distance, wall.rise + wall.height))
    return profile
