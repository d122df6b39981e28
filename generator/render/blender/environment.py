"""Builds the environments of a vocabulary: for each one mesh and one sky, when a scene first needs them."""

import math
from typing import NamedTuple

import bpy
from mathutils import Matrix

from generator.base.streams import Stream
from generator.render.blender.floor import build_floor
from generator.render.blender.ground_materials import ground_material, painted_material, water_material
from generator.render.blender.mesh_builder import MeshBuilder
from generator.render.blender.primitives import moved
from generator.render.blender.props import FACING_CAMERA, build_prop
from generator.render.blender.room import build_room
from generator.render.blender.sky import build_sky
from generator.render.blender.terrain import Terrain
from generator.vocabulary.environments import Environment, PropSpec
from generator.vocabulary.schema import Vocabulary

_GROUND, _PAINTED, _WATER = range(3)
_TRIES = 30
_APART = 0.5  # least distance of two props, over the sum of their sizes
_SINK = 0.03  # how deep a prop stands in the ground, over its size: on a slope it would hover
_OPENING = 0.55  # half the breadth in which props are scattered, over the distance from the camera


class Landscape(NamedTuple):
    """The mesh of the ground and all scenery on it, in world coordinates; and the sky."""

    ground: bpy.types.Mesh
    sky: bpy.types.World


class Landscapes:
    """Builds landscapes by the name of their environment, and keeps them."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._built: dict[str, Landscape] = {}
        self._floor: bpy.types.Mesh | None = None

    def of(self, name: str) -> Landscape:
        """The landscape of an environment. It does not depend on what was built before."""
        if name not in self._built:
            environment = self._vocabulary.environments[name]
            light = self._vocabulary.sky if environment.light is None else environment.light
            ground = self._plain() if environment.ground is None else self._landscape(name, environment)
            self._built[name] = Landscape(ground, build_sky(name, light, environment.sky))
        return self._built[name]

    def _plain(self) -> bpy.types.Mesh:
        self._floor = self._floor or build_floor(self._vocabulary.floor)
        return self._floor

    def _landscape(self, name: str, environment: Environment) -> bpy.types.Mesh:
        x, y = (
            a - b for a, b in zip(self._vocabulary.camera.position[:2], self._vocabulary.camera.target[:2], strict=True)
        )
        distance = math.hypot(x, y)
        terrain, builder = Terrain(environment, distance), MeshBuilder()
        builder.add(*terrain.sheet(), _GROUND, smooth=True)
        builder.add(*terrain.water(), _WATER)
        stream = Stream("environment", name)
        if environment.room:
            for panel, color in build_room(environment.room, distance, stream):
                builder.add(panel, (*color, 1.0), _PAINTED)
        for group, props in environment.props.items():
            _scatter(builder, terrain, props, distance, Stream("environment", name, group))
        assert environment.ground is not None
        mesh = builder.build(
            name, [ground_material(name, environment.ground), painted_material(name), water_material(name)]
        )
        mesh.transform(_world_from_view(x / distance, y / distance))
        return mesh


def _scatter(builder: MeshBuilder, terrain: Terrain, props: PropSpec, distance: float, stream: Stream) -> None:
    """Scatter props apart from one another and out of the water; a prop that finds no place in some tries is left out.

    `distance` is that of the camera from the origin, metres.
    """
    placed: list[tuple[float, float, float]] = []
    for _ in range(props.count):
        size = stream.uniform(*props.size)
        for _try in range(_TRIES):
            near, last = (edge + distance for edge in props.between)  # equally many on each square metre
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
            builder.add(moved(mesh, (right, ahead, height - _SINK * size), size, turn), (*color, 1.0), _PAINTED)


def _world_from_view(x: float, y: float) -> Matrix:
    """World axes from right, ahead and up as the camera looks (the columns); (x, y) is the unit direction to the camera."""
    return Matrix(((-y, -x, 0.0, 0.0), (x, -y, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
