"""Scenes of a plan: where everything stands, so that nothing is in doubt."""

import math
from dataclasses import replace

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.placement.ground import Ground
from generator.placement.object_positions import stand
from generator.plan.record import Planned
from generator.scene.exchange import exchanged, with_room
from generator.scene.relations import Point
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.schema import ObjectKind, Vocabulary

_TRIES = 100
_FREE_TRIES = 300


def place_scene(planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int) -> Scene:
    """A planned scene with everything in its place: see `place_scenes`."""
    return place_scenes(planned, vocabulary, seed, attempt, width, height)[planned.twin_of is not None]


def place_scenes(
    planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int
) -> tuple[Scene, ...]:
    """The scene, and its twin where it has one: the same for both, so that either can be rendered alone.

    Gives the planned objects places, and the camera and lamps their jitter; a function of the arguments alone. Objects
    stand in the orders of the plan, left to right and front to behind, `clearance` apart along every ground direction
    and `gap` apart, near, far and on one another as planned, wholly in view, none much hidden. A rejected placement is
    drawn again, never the content; where the vocabulary leaves orders free, another order in depth is drawn with it. Raises UserError when the placement rules of the vocabulary leave no room.
    """
    stream = Stream("scene", seed, planned.twin_of or planned.scene_id, attempt)
    roomy = with_room(planned.objects, planned.exchange, vocabulary)
    free = vocabulary.placement.orders == "free"
    for _ in range(_FREE_TRIES if free else _TRIES):
        camera = _draw_camera(vocabulary, stream)
        ground = Ground(camera, vocabulary, width, height)
        positions = stand(roomy, planned, ground, stream)
        if positions is not None:
            break
        if free:
            planned = replace(planned, depth_order=ground.depth_order(len(planned.objects), stream))
    else:
        raise UserError(
            f"No room for {len(planned.objects)} objects in an image of {width}x{height}: take fewer --objects, a family with more "
            f"room, such as clevr-many, or a --resolution nearer to a square; or lessen gap, clearance, min_visible or the "
            f"objects' scale in the family '{vocabulary.name}'."
        )
    objects = tuple(
        SceneObject(thing, attributes, position, _draw_heading(position, camera, vocabulary.objects[thing], stream))
        for (thing, attributes), position in zip(planned.objects, positions, strict=True)
    )
    scene = Scene(objects, camera, _draw_lamps(vocabulary, planned.environment, stream), planned.environment)
    return (scene,) if planned.exchange is None else (scene, exchanged(scene, planned.exchange))


def _jittered(position: Point, jitter: float, stream: Stream) -> Point:
    x, y, z = (round(c + stream.uniform(-jitter, jitter), 6) for c in position)
    return (x, y, z)


def _draw_camera(vocabulary: Vocabulary, stream: Stream) -> Camera:
    spec = vocabulary.camera
    return Camera(_jittered(spec.position, spec.jitter, stream), spec.target, spec.lens, spec.sensor)


def _draw_lamps(vocabulary: Vocabulary, environment: str, stream: Stream) -> dict[str, Lamp]:
    lamps = {**vocabulary.lamps, **vocabulary.environments[environment].lamps}
    return {
        name: Lamp(spec.kind, spec.energy, spec.size, spec.color, _jittered(spec.position, spec.jitter, stream))
        for name, spec in lamps.items()
    }


def _draw_heading(position: Point, camera: Camera, kind: ObjectKind, stream: Stream) -> float:
    facing = math.atan2(camera.position[1] - position[1], camera.position[0] - position[0])
    if kind.shows == "side":
        facing += math.pi * (stream.below(2) - 0.5)
    return round(facing + math.radians(kind.turn) * stream.uniform(-0.5, 0.5), 6)
