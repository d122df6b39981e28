"""The landscapes of a vocabulary: each one mesh and one sky, built when a scene first needs them."""

import math
from typing import NamedTuple

import bpy
from mathutils import Matrix

from generator.dataset.streams import Stream
from generator.render.blender.floor import build_floor
from generator.render.blender.ground_materials import ground_material, painted_material, water_material
from generator.render.blender.primitives import moved
from generator.render.blender.room import build_hall
from generator.render.blender.scattered_objects import UNTURNED, build_thing
from generator.render.blender.sculpture import Sculpture
from generator.render.blender.sky import build_sky
from generator.render.blender.terrain import Terrain
from generator.vocabulary.environments import Environment, Scattered
from generator.vocabulary.schema import Vocabulary

_GROUND, _PAINTED, _WATER = range(3)
_TRIES = 30
_APART = 0.5  # least distance of two things over the sum of their sizes
_SINK = 0.03  # how deep a thing stands in the ground, lest it hover on a slope, share of its size
_OPENING = 0.55  # half the breadth in which things stand over the distance from the camera


class Landscape(NamedTuple):
    """The ground with all that stands on it but objects, in world coordinates; and the sky."""

    ground: bpy.types.Mesh
    sky: bpy.types.World


class Landscapes:
    """The landscapes of a vocabulary by the name of their environment."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._built: dict[str, Landscape] = {}
        self._floor: bpy.types.Mesh | None = None

    def of(self, name: str) -> Landscape:
        """The landscape of an environment; the same whatever was built before."""
        if name not in self._built:
            where = self._vocabulary.environments[name]
            light = self._vocabulary.sky if where.light is None else where.light
            ground = self._plain() if where.ground is None else self._landscape(name, where)
            self._built[name] = Landscape(ground, build_sky(name, light, where.sky))
        return self._built[name]

    def _plain(self) -> bpy.types.Mesh:
        self._floor = self._floor or build_floor(self._vocabulary.floor)
        return self._floor

    def _landscape(self, name: str, where: Environment) -> bpy.types.Mesh:
        x, y = (
            a - b for a, b in zip(self._vocabulary.camera.position[:2], self._vocabulary.camera.target[:2], strict=True)
        )
        far = math.hypot(x, y)
        terrain, heap = Terrain(where, far), Sculpture()
        heap.add(*terrain.sheet(), _GROUND, smooth=True)
        heap.add(*terrain.water(), _WATER)
        stream = Stream("environment", name)
        if where.hall:
            for part, color in build_hall(where.hall, far, stream):
                heap.add(part, (*color, 1.0), _PAINTED)
        for kind, things in where.things.items():
            _scatter(heap, terrain, things, far, Stream("environment", name, kind))
        assert where.ground is not None
        mesh = heap.build(name, [ground_material(name, where.ground), painted_material(name), water_material(name)])
        mesh.transform(_world_from_view(x / far, y / far))
        return mesh


def _scatter(heap: Sculpture, terrain: Terrain, things: Scattered, far: float, stream: Stream) -> None:
    """Put things where they keep apart from one another and out of the water; those that find no place are left out."""
    placed: list[tuple[float, float, float]] = []
    for _ in range(things.count):
        size = stream.uniform(*things.size)
        for _try in range(_TRIES):
            near, last = (edge + far for edge in things.between)  # as many on each square metre
            ahead = math.sqrt(stream.uniform(near * near, last * last)) - far
            right = stream.uniform(-1, 1) * (1 + _OPENING * (ahead + far))
            height, _ = terrain.at(right, ahead)
            if height > -0.05 and all(
                math.hypot(right - x, ahead - y) > _APART * (size + other) for x, y, other in placed
            ):
                break
        else:
            continue
        placed.append((right, ahead, size))
        turn = 0.0 if things.kind in UNTURNED else stream.uniform(0, 2 * math.pi)
        for part, color in build_thing(things.kind, things.colors, stream):
            heap.add(moved(part, (right, ahead, height - _SINK * size), size, turn), (*color, 1.0), _PAINTED)


def _world_from_view(x: float, y: float) -> Matrix:
    """Turns right and ahead into world axes, (x, y) being the direction to the camera; columns right, ahead, up."""
    return Matrix(((-y, -x, 0.0, 0.0), (x, -y, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
