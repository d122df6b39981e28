"""Places a planned scene: draws its positions, headings, camera and lamps."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter

import numpy as np

from generator.assets.sets import find_mesh
from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.placement.ground import Footprint, Ground, Post
from generator.scene.exchange import exchanged, with_room
from generator.scene.layouts import Arranged, shift, slip
from generator.scene.planned import Planned
from generator.scene.projection import project
from generator.scene.scene import Camera, Lamp, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary
from generator.vocabulary.tables import ObjectSpec

_TRIES = 100
_FREE_TRIES = 300
_MOST_DRAWN = 30  # placements, before the best is taken


Contents = Sequence[tuple[str, dict[str, str]]]
"""Category and attribute values by kind of each object, listed from left to right."""


def place_scene(
    planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int
) -> Scene:
    """The placed scene of a plan; for the plan of a twin, the twin. See `place_scenes`."""
    return place_scenes(planned, vocabulary, seed, attempt, width, height)[
        planned.twin_of is not None
    ]


def place_scenes(
    planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int
) -> tuple[Scene, ...]:
    """The placed scene of a plan, and its twin if it has one. The result depends only on the
    arguments.

    Both plans of a minimal pair give the same two scenes, so that each can be rendered alone.
    `width`, `height`: of the image, in pixels. `attempt`: how many placements the renderer has
    rejected. Objects keep the planned orders from left to right and from front to behind, and the
    planned clumps and stacks. They are at least `clearance` apart along both directions and `gap`
    apart, wholly in view, and little of each is hidden. If the family sets `tallest`, the first
    placement that reaches it is taken, else the best of 30. A rejected placement is drawn again,
    the contents are not; with `orders = "free"`, a failed search also draws the depth order again.
    Raises UserError when the placement rules of the vocabulary leave no room.
    """
    stream = Stream("scene", seed, planned.twin_of or planned.scene_id, attempt)
    roomy = with_room(planned.objects, planned.exchange, vocabulary)
    free = vocabulary.placement.orders == "free"
    drawn: list[tuple[float, Camera, tuple[SceneObject, ...]]] = []
    for _ in range(_FREE_TRIES if free else _TRIES):
        camera = _draw_camera(vocabulary, stream)
        ground = Ground(camera, vocabulary, width, height)
        positions = draw_positions(roomy, planned, ground, stream)
        if positions is not None:
            camera = _moved_in(camera, positions, vocabulary, stream)
            ground = ground.seen_from(camera)
            objects = _turned(planned.objects, positions, camera, vocabulary, stream)
            tallest = _tallest(objects, camera, ground)
            zoom = _zoom(tallest, ground.fill(roomy, positions), vocabulary, stream)
            drawn.append(
                (tallest * zoom, replace(camera, lens=round(camera.lens * zoom, 3)), objects)
            )
            if drawn[-1][0] >= vocabulary.placement.tallest or len(drawn) == _MOST_DRAWN:
                break
        elif free:
            planned = planned._replace(depth_order=ground.depth_order(len(planned.objects), stream))
    if not drawn:
        raise UserError(
            f"No room for {len(planned.objects)} objects in an image of {width}x{height}: take "
            f"fewer --objects, a "
            "family with more room, such as clevr-many, or a --resolution nearer to a square; or "
            "lessen gap, "
            f"clearance, min_visible or the objects' scale in the family '{vocabulary.name}'."
        )
    _, camera, objects = max(drawn, key=itemgetter(0))
    lamps = _draw_lamps(vocabulary, planned.environment, planned.yaw, stream)
    scene = Scene(objects, camera, lamps, planned.environment, planned.yaw)
    return (scene,) if planned.exchange is None else (scene, exchanged(scene, planned.exchange))


def _turned(
    contents: Contents,
    positions: Sequence[Point],
    camera: Camera,
    vocabulary: Vocabulary,
    stream: Stream,
) -> tuple[SceneObject, ...]:
    """Objects at positions, each with a heading."""
    return tuple(
        SceneObject(
            category,
            attributes,
            position,
            _draw_heading(position, camera, vocabulary.objects[category], stream),
        )
        for (category, attributes), position in zip(contents, positions, strict=True)
    )


def _tallest(objects: Sequence[SceneObject], camera: Camera, ground: Ground) -> float:
    """About the height of the tallest object, as a share of the image height; 0 if the family sets
    no `tallest`.

    Rounded to four digits, so that rounding differences of sines between machines have no effect.
    """
    if not ground.vocabulary.placement.tallest:
        return 0.0
    tallest, contents = 0.0, [(each.category, each.attributes) for each in objects]
    bounds = ground.heights(contents, [each.position for each in objects])
    for bound, each in sorted(zip(bounds, objects, strict=True), key=itemgetter(0), reverse=True):
        if bound <= tallest:
            break
        tallest = max(tallest, _height(each, camera, ground))
    return tallest


def _height(each: SceneObject, camera: Camera, ground: Ground) -> float:
    """The height of an object in the image, from its vertices, as a share of the image height."""
    vocabulary, (width, height) = ground.vocabulary, ground.size
    x, y, z = _vertices(vocabulary.meshes[each.category], vocabulary.assets) * vocabulary.scale(
        each.category, each.attributes
    )
    right, behind, up = each.position
    cos, sin = math.cos(each.heading), math.sin(each.heading)
    x, y = x * cos - y * sin + right, x * sin + y * cos + behind
    _, row, _ = project(camera, x, y, z + up, width, height)
    return round(float(row.max() - row.min()) / height, 4)


@cache
def _vertices(mesh: str, assets: str) -> np.ndarray:
    """The vertices of a unit mesh: (3, n)."""
    return np.array(find_mesh(mesh, assets).vertices).T


def _jittered(position: Point, jitter: float, stream: Stream) -> Point:
    x, y, z = (round(c + stream.uniform(-jitter, jitter), 6) for c in position)
    return (x, y, z)


def _draw_camera(vocabulary: Vocabulary, stream: Stream) -> Camera:
    spec = vocabulary.camera
    return Camera(
        _jittered(spec.position, spec.jitter, stream), spec.target, spec.lens, spec.sensor
    )


_FULL = 0.96  # largest share of the frame's half width and height that objects fill
# least share of the way to the middle of the objects, and to the longest lens that they allow
_LEAST_SHARE = 0.6


def _moved_in(
    camera: Camera, positions: Sequence[Point], vocabulary: Vocabulary, stream: Stream
) -> Camera:
    """Move the camera over the ground towards the middle of the objects, if the vocabulary lets it
    come closer.

    It keeps its direction, and so the order of objects from left to right.
    """
    if vocabulary.closest == 1:
        return camera
    share = stream.uniform(_LEAST_SHARE, 1)
    x, y, _ = (share * (min(axis) + max(axis)) / 2 for axis in zip(*positions, strict=True))
    return replace(
        camera, position=_moved(camera.position, x, y), target=_moved(camera.target, x, y)
    )


def _zoom(tallest: float, fill: float, vocabulary: Vocabulary, stream: Stream) -> float:
    """A random factor for the focal length: the largest that the objects and the vocabulary allow,
    or somewhat less.

    `tallest`: the height of the tallest object. `fill`: how far objects reach towards the edges.
    Both are for the
    present lens. If the family sets `tallest`, the factor is large enough to reach it, or the
    largest allowed.
    """
    longest = max(1.0, min(vocabulary.closest, _FULL / fill))
    tall = vocabulary.placement.tallest / tallest if tallest else 1.0
    least = min(longest, max(tall, 1 + _LEAST_SHARE * (longest - 1)))
    return stream.uniform(least, longest)


def _moved(point: Point, x: float, y: float) -> Point:
    return (round(point[0] + x, 6), round(point[1] + y, 6), point[2])


def _draw_lamps(
    vocabulary: Vocabulary, environment: str, yaw: float, stream: Stream
) -> dict[str, Lamp]:
    place = vocabulary.environments[environment]
    lamps = {
        name: place.at_hour(spec, yaw) for name, spec in {**vocabulary.lamps, **place.lamps}.items()
    }
    return {
        name: Lamp(
            spec.type,
            spec.energy,
            spec.size,
            spec.color,
            _jittered(spec.position, spec.jitter, stream),
        )
        for name, spec in lamps.items()
    }


def _draw_heading(position: Point, camera: Camera, spec: ObjectSpec, stream: Stream) -> float:
    """A random heading (radians) within an object's `turn`, around the direction that shows its
    front or side."""
    facing = math.atan2(camera.position[1] - position[1], camera.position[0] - position[0])
    if spec.shows == "side":
        facing += math.pi * (stream.below(2) - 0.5)
    return round(facing + math.radians(spec.turn) * stream.uniform(-0.5, 0.5), 6)


def draw_positions(
    objects: Contents, planned: Arranged, ground: Ground, stream: Stream
) -> list[Point] | None:
    """Random positions of planned objects, in their order; None if the search finds no room."""
    vocabulary = ground.vocabulary
    carried_by = dict(enumerate(planned.rests_on or (None,) * len(objects)))
    carriers = [i for i, lower in carried_by.items() if lower is None]
    riders = {lower: upper for upper, lower in carried_by.items() if lower is not None}
    posts = [_post(objects, i, riders.get(i), vocabulary) for i in carriers]
    depths = sorted(planned.depth_order[i] for i in carriers)
    found = ground.find(
        posts,
        [depths.index(planned.depth_order[i]) for i in carriers],
        stream,
        [planned.clumps[i] for i in carriers] if planned.clumps else (),
    )
    if found is None:
        return None
    positions = dict(zip(carriers, found, strict=True))
    for lower, upper in riders.items():
        positions[upper] = _on_top(positions[lower], *objects[lower], ground, stream)
    return [positions[i] for i in range(len(objects))]


def _post(objects: Contents, lower: int, upper: int | None, vocabulary: Vocabulary) -> Post:
    """The footprints at one position: of an object, and of the object that rests on it."""
    own = _footprint(objects[lower], 0.0, 0.0, vocabulary)
    if upper is None:
        return (own,)
    height, _ = vocabulary.top(*objects[lower]) or (0.0, 0.0)
    return (own, _footprint(objects[upper], height, shift(vocabulary), vocabulary))


def _footprint(
    obj: tuple[str, dict[str, str]], height: float, aside: float, vocabulary: Vocabulary
) -> Footprint:
    """The footprint of an object that stands at a height and at most `aside` from the middle of its
    post, metres."""
    return Footprint(vocabulary.scale(*obj) + aside, height, vocabulary.reach(*obj) + aside)


def _on_top(
    position: Point, category: str, attributes: dict[str, str], ground: Ground, stream: Stream
) -> Point:
    """A random position on the top of an object, near its middle."""
    height, _ = ground.vocabulary.top(category, attributes) or (0.0, 0.0)
    most = slip(ground.vocabulary)
    x, y = ground.moved(position, stream.uniform(-most, most), stream.uniform(-most, most))
    return (x, y, round(position[2] + height, 6))
