"""From a planned scene to a placed one: positions, headings, camera and lamps."""

import math
from dataclasses import replace

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.placement.ground import Ground
from generator.placement.object_positions import draw_positions
from generator.plan.record import Planned
from generator.scene.exchange import exchanged, with_room
from generator.scene.scene import Camera, Lamp, Point, Scene, SceneObject
from generator.vocabulary.objects import ObjectSpec
from generator.vocabulary.schema import Vocabulary

_TRIES = 100
_FREE_TRIES = 300


def place_scene(planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int) -> Scene:
    """The placed scene of a plan, one of a minimal pair where the plan has a twin: see `place_scenes`."""
    return place_scenes(planned, vocabulary, seed, attempt, width, height)[planned.twin_of is not None]


def place_scenes(
    planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int
) -> tuple[Scene, ...]:
    """The placed scene of a plan, and its twin where it has one; a function of the arguments alone.

    Both scenes are the same for either of the two plans, so that each can be rendered alone. `width` and `height` are
    those of the image, in pixels; `attempt` counts the placements that the renderer has rejected. Objects stand in
    the planned orders from left to right and from front to behind, at least `clearance` apart along both directions
    and `gap` apart; near, far and on one another as planned; wholly in view, with little of each hidden. A rejected
    placement is drawn again, the content never; with `orders = "free"` the order in depth is drawn again with it.
    Raises UserError when the placement rules of the vocabulary leave no room.
    """
    stream = Stream("scene", seed, planned.twin_of or planned.scene_id, attempt)
    roomy = with_room(planned.objects, planned.exchange, vocabulary)
    free = vocabulary.placement.orders == "free"
    for _ in range(_FREE_TRIES if free else _TRIES):
        camera = _draw_camera(vocabulary, stream)
        ground = Ground(camera, vocabulary, width, height)
        positions = draw_positions(roomy, planned, ground, stream)
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
        SceneObject(
            category, attributes, position, _draw_heading(position, camera, vocabulary.objects[category], stream)
        )
        for (category, attributes), position in zip(planned.objects, positions, strict=True)
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
        name: Lamp(spec.type, spec.energy, spec.size, spec.color, _jittered(spec.position, spec.jitter, stream))
        for name, spec in lamps.items()
    }


def _draw_heading(position: Point, camera: Camera, spec: ObjectSpec, stream: Stream) -> float:
    """A random heading (radians) within an object's `turn`, about the direction in which it shows its front or side."""
    facing = math.atan2(camera.position[1] - position[1], camera.position[0] - position[0])
    if spec.shows == "side":
        facing += math.pi * (stream.below(2) - 0.5)
    return round(facing + math.radians(spec.turn) * stream.uniform(-0.5, 0.5), 6)
