"""Places a planned scene: draws its positions, headings, camera and lamps."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np

from generator.assets.sets import find_mesh
from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.placement.ground import Column, Footprint, Ground
from generator.placement.headings import draw_headings
from generator.scene.exchange import exchanged, with_room
from generator.scene.layouts import HasLayout, max_axis_offset, max_offset
from generator.scene.planned import Planned
from generator.scene.projection import project
from generator.scene.scene import Camera, Lamp, Point, Scene, SceneObject
from generator.scene.steps import all_steps, own_place
from generator.scene.turning import turned, turned_camera
from generator.vocabulary.schema import Vocabulary

# Searches for positions before a scene counts as impossible. With free orders more, since each
# failed search also draws another depth order, and some orders have no room.
_TRIES, _TRIES_WITH_FREE_ORDERS = 100, 300

# Placements that are drawn to reach a family's `tallest`, before the best is taken.
_MOST_PLACEMENTS = 30

# The largest share of the frame's half width and height that objects fill, so that none touches
# the edge.
_FULL = 0.96

# The least share of the way from the family's camera to the closest view: to the middle of the
# objects, and to the longest lens that they allow.
_LEAST_SHARE = 0.6

# Objects that two cameras have to see find room with a focal length that is shorter by this factor.
# It grows again as far as they allow. Without this, one of five turns by 50 degrees of the family
# things, and by 90 degrees of two to four animals of pug, finds no room.
_WIDENING = 1.3

Contents = Sequence[tuple[str, dict[str, str]]]
"""Category and attribute values by kind of each object, listed from left to right."""


class _Placement(NamedTuple):
    """Placed objects, and the camera that sees them."""

    tallest: float
    """The height of the tallest object in the image, as a share of the image height, by the camera
    that sees it smallest; 0 if the family sets no `tallest`."""
    camera: Camera
    objects: tuple[SceneObject, ...]


def place_scene(
    planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int
) -> Scene:
    """The placed scene of a plan; for the plan of a twin or of a step, the twin or the step. See
    `place_scenes`."""
    scenes = place_scenes(planned, vocabulary, seed, attempt, width, height)
    return scenes[own_place(planned)]


def place_scenes(
    planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int
) -> tuple[Scene, ...]:
    """The placed scene of a plan, and its twin if it has one; or all scenes of its ladder.

    With an azimuth, the camera is turned about the vertical first; lamps stay where they are. The
    positions of a scene with a turn twin keep the rules as both cameras see them.

    Objects keep the planned orders from left to right and from front to behind, and the planned
    clumps and stacks. They are at least `clearance` apart along both directions and `gap` apart,
    wholly in view, and little of each is hidden. If the family sets `tallest`, the first placement
    that reaches it is taken, else the best of 30. A rejected placement is drawn again, the contents
    are not; with `orders = "free"`, a failed search also draws the depth order again.

    Args:
        planned: the plan of a scene, of its twin or of a step of its ladder. All give the same
            scenes, so that each can be rendered alone.
        vocabulary: has the placement rules, the camera and the lamps.
        seed: of the world.
        attempt: how many placements the renderer has rejected.
        width: of the image, in pixels.
        height: of the image, in pixels.

    Returns:
        One scene or two, or those of the ladder. The result depends only on the arguments.

    Raises:
        UserError: the placement rules of the vocabulary leave no room.
    """
    stream = Stream("scene", seed, planned.twin_of or planned.scene_id, attempt)
    placement = _draw_placement(planned, vocabulary, width=width, height=height, stream=stream)
    if placement is None:
        raise UserError(
            f"No room for {len(planned.objects)} objects in an image of {width}x{height}: take "
            f"fewer --objects, a family with more room, such as clevr-many, or a --resolution "
            f"nearer to a square; or lessen gap, clearance, min_visible or the objects' scale in "
            f"the family '{vocabulary.name}'."
        )
    lamps = _draw_lamps(vocabulary, planned.environment, yaw=planned.yaw, stream=stream)
    scene = Scene(
        placement.objects,
        placement.camera,
        lamps,
        planned.environment,
        planned.yaw,
        planned.azimuth,
    )
    if planned.ladder is not None:
        return all_steps(scene, planned)
    if planned.turn is not None:
        return (scene, turned(scene, planned.turn, vocabulary))
    if planned.exchange is None:
        return (scene,)
    return (scene, exchanged(scene, planned.exchange))


def _draw_placement(
    planned: Planned, vocabulary: Vocabulary, *, width: int, height: int, stream: Stream
) -> _Placement | None:
    """Draw placements until one is tall enough, and return the tallest; None if none keeps the
    rules. Arguments as those of `place_scenes`."""
    # Positions found for these objects fit both scenes of a minimal pair.
    roomy = with_room(planned.objects, planned.exchange, vocabulary)
    has_free_orders = vocabulary.placement.orders == "free"
    placements: list[_Placement] = []
    for _ in range(_TRIES_WITH_FREE_ORDERS if has_free_orders else _TRIES):
        family_camera = _draw_camera(vocabulary, stream)
        camera = turned_camera(family_camera, planned.azimuth or 0.0)
        camera = replace(camera, lens=camera.lens / _widening(planned))
        twin_camera = _twin_camera(camera, planned)
        ground = Ground(camera, vocabulary, width, height, twin_camera)
        positions = draw_positions(roomy, planned, ground=ground, stream=stream)
        if positions is None:
            if has_free_orders:
                depth_order = ground.draw_depth_order(len(planned.objects), stream)
                planned = planned._replace(depth_order=depth_order)
            continue

        placement = _frame_objects(
            planned, roomy, positions=positions, ground=ground, camera=camera, stream=stream
        )
        if placement is None:
            continue
        placements.append(placement)
        is_tall = placement.tallest >= vocabulary.placement.tallest
        if is_tall or len(placements) == _MOST_PLACEMENTS:
            break
    return max(placements, key=attrgetter("tallest"), default=None)


def _frame_objects(
    planned: Planned,
    roomy: Contents,
    *,
    positions: Sequence[Point],
    ground: Ground,
    camera: Camera,
    stream: Stream,
) -> _Placement | None:
    """Bring the camera closer to the positions that were found, and draw headings.

    Args:
        planned: the plan of the scene.
        roomy: contents that reach as far as those of the scene and of its twin.
        positions: of all objects.
        ground: on which they were found.
        camera: which sees it.
        stream: draws everything.

    Returns:
        The placement; None if the turn twin does not see the positions as the rules ask, or if
        these leave no room for a planned own direction.
    """
    vocabulary = ground.vocabulary
    camera = _move_to_objects(camera, positions, vocabulary=vocabulary, stream=stream)
    twin_camera = _twin_camera(camera, planned)
    cameras = [camera] if twin_camera is None else [camera, twin_camera]
    grounds = [ground.seen_from(view) for view in cameras]
    # The camera of the twin has moved with the other one, and turns about another point now.
    if twin_camera is not None and not _keeps_rules(
        roomy, positions, planned=planned, ground=grounds[1]
    ):
        return None
    headings = draw_headings(
        planned, positions, camera=camera, vocabulary=vocabulary, stream=stream
    )
    if headings is None:
        return None
    objects = _with_headings(planned.objects, positions, headings)

    # The lens grows as far as both cameras allow.
    heights = []
    fills = []
    for view, seen in zip(cameras, grounds, strict=True):
        heights.append(_tallest_height(objects, view, seen))
        fills.append(seen.frame_fill(roomy, positions))
    tallest = min(heights)
    fill = max(fills)
    zoom = _draw_zoom(tallest, fill, vocabulary, stream, _widening(planned))
    camera = replace(camera, lens=round(camera.lens * zoom, 3))
    return _Placement(tallest * zoom, camera, objects)


def draw_positions(
    objects: Contents, planned: HasLayout, *, ground: Ground, stream: Stream
) -> list[Point] | None:
    """Random positions of planned objects, in their order; None if the search finds no room.

    Args:
        objects: the contents, from left to right.
        planned: their layout.
        ground: finds the positions.
        stream: draws them.
    """
    on_ground, upper_of = _stacks(planned, len(objects))
    columns = [
        _column(objects, i, upper=upper_of.get(i), vocabulary=ground.vocabulary) for i in on_ground
    ]

    # Ranks among the columns: those of the upper objects are left out.
    depths = [planned.depth_order[i] for i in on_ground]
    in_order = sorted(depths)
    ranks = [in_order.index(depth) for depth in depths]
    clumps = [planned.clumps[i] for i in on_ground] if planned.clumps else ()
    column_positions = ground.find_positions(columns, ranks, stream=stream, clumps=clumps)
    if column_positions is None:
        return None

    positions = dict(zip(on_ground, column_positions, strict=True))
    for lower, upper in upper_of.items():
        on_top = _draw_position_on_top(positions[lower], *objects[lower], ground, stream)
        positions[upper] = on_top
    return [positions[i] for i in range(len(objects))]


def _stacks(planned: HasLayout, n_objects: int) -> tuple[list[int], dict[int, int]]:
    """The objects that stand on the ground, and for each that carries another, that other one."""
    rests_on = planned.rests_on or (None,) * n_objects
    on_ground = []
    upper_of = {}
    for i, lower in enumerate(rests_on):
        if lower is None:
            on_ground.append(i)
        else:
            upper_of[lower] = i
    return on_ground, upper_of


def _column(objects: Contents, lower: int, *, upper: int | None, vocabulary: Vocabulary) -> Column:
    """The footprints at one position: of an object, and of the object that rests on it."""
    lower_footprint = _footprint(objects[lower], 0.0, offset=0.0, vocabulary=vocabulary)
    if upper is None:
        return (lower_footprint,)
    top_height, _ = vocabulary.top(*objects[lower]) or (0.0, 0.0)
    # Where on the top it stands is drawn later, so it may be at any place up to the offset.
    offset = max_offset(vocabulary)
    upper_footprint = _footprint(objects[upper], top_height, offset=offset, vocabulary=vocabulary)
    return (lower_footprint, upper_footprint)


def _footprint(
    obj: tuple[str, dict[str, str]], height: float, *, offset: float, vocabulary: Vocabulary
) -> Footprint:
    """The footprint of an object that stands at a height and at most `offset` from the middle of
    its column, metres."""
    radius = vocabulary.scale(*obj) + offset
    reach = vocabulary.reach(*obj) + offset
    return Footprint(radius, height, reach)


def _draw_position_on_top(
    position: Point, category: str, attributes: dict[str, str], ground: Ground, stream: Stream
) -> Point:
    """A random position on the top of an object, near its middle."""
    top_height, _ = ground.vocabulary.top(category, attributes) or (0.0, 0.0)
    most = max_axis_offset(ground.vocabulary)
    right = stream.uniform(-most, most)
    behind = stream.uniform(-most, most)
    x, y = ground.offset_point(position, right, behind)
    return (x, y, round(position[2] + top_height, 6))


def _keeps_rules(
    objects: Contents, positions: Sequence[Point], *, planned: HasLayout, ground: Ground
) -> bool:
    """Whether positions that keep the placement rules as one camera sees them also do so as
    another does, whose `ground` this is."""
    on_ground, upper_of = _stacks(planned, len(objects))
    columns = [
        _column(objects, i, upper=upper_of.get(i), vocabulary=ground.vocabulary) for i in on_ground
    ]
    column_positions = [positions[i] for i in on_ground]
    return ground.keeps_rules(columns, column_positions)


def _with_headings(
    contents: Contents, positions: Sequence[Point], headings: Sequence[float]
) -> tuple[SceneObject, ...]:
    """The objects at their positions, with their headings (radians)."""
    objects = []
    for (category, attributes), position, heading in zip(
        contents, positions, headings, strict=True
    ):
        objects.append(SceneObject(category, attributes, position, heading))
    return tuple(objects)


def _tallest_height(objects: Sequence[SceneObject], camera: Camera, ground: Ground) -> float:
    """The height of the tallest object in the image, as a share of the image height; 0 if the
    family sets no `tallest`."""
    if not ground.vocabulary.placement.tallest:
        return 0.0
    contents = [(obj.category, obj.attributes) for obj in objects]
    bounds = ground.image_heights(contents, [obj.position for obj in objects])
    by_bound = sorted(zip(bounds, objects, strict=True), key=itemgetter(0), reverse=True)
    tallest = 0.0
    for bound, obj in by_bound:
        # No object from here on can be taller. Projecting a mesh costs much more than its bound.
        if bound <= tallest:
            break
        tallest = max(tallest, _height_in_image(obj, camera, ground))
    return tallest


def _height_in_image(obj: SceneObject, camera: Camera, ground: Ground) -> float:
    """The height of an object in the image, from its vertices, as a share of the image height.

    Rounded to four digits, so that rounding differences of sines between machines have no effect.
    """
    vocabulary, (width, height) = ground.vocabulary, ground.size
    unit_vertices = _vertices(vocabulary.meshes[obj.category], vocabulary.assets)
    x, y, z = unit_vertices * vocabulary.scale(obj.category, obj.attributes)
    cos, sin = math.cos(obj.heading), math.sin(obj.heading)
    at_x, at_y, at_z = obj.position
    world_x = x * cos - y * sin + at_x
    world_y = x * sin + y * cos + at_y
    _, row, _ = project(camera, world_x, world_y, z + at_z, width, height)
    return round(float(row.max() - row.min()) / height, 4)


@cache
def _vertices(mesh: str, assets: str) -> np.ndarray:
    """The vertices of a unit mesh: (3, n)."""
    return np.array(find_mesh(mesh, assets).vertices).T


def _draw_camera(vocabulary: Vocabulary, stream: Stream) -> Camera:
    spec = vocabulary.camera
    position = _jittered(spec.position, spec.jitter, stream)
    return Camera(position, spec.target, spec.lens, spec.sensor)


def _twin_camera(camera: Camera, planned: Planned) -> Camera | None:
    """The camera of a scene's turn twin; None without such a twin."""
    if planned.turn is None:
        return None
    return turned_camera(camera, planned.turn, about=camera.target)


def _widening(planned: Planned) -> float:
    """The family's focal length over the one with which positions are searched."""
    return 1.0 if planned.turn is None else _WIDENING


def _jittered(position: Point, jitter: float, stream: Stream) -> Point:
    """The position, each coordinate moved by at most `jitter` metres."""
    x, y, z = (round(c + stream.uniform(-jitter, jitter), 6) for c in position)
    return (x, y, z)


def _move_to_objects(
    camera: Camera, positions: Sequence[Point], *, vocabulary: Vocabulary, stream: Stream
) -> Camera:
    """Move the camera over the ground towards the middle of the objects, if the vocabulary lets it
    come closer.

    It keeps its direction, and so the order of objects from left to right.
    """
    if vocabulary.closest == 1:
        return camera
    share = stream.uniform(_LEAST_SHARE, 1)
    xs, ys, _ = zip(*positions, strict=True)
    x = share * (min(xs) + max(xs)) / 2
    y = share * (min(ys) + max(ys)) / 2
    return replace(
        camera,
        position=_moved_over_ground(camera.position, x, y),
        target=_moved_over_ground(camera.target, x, y),
    )


def _moved_over_ground(point: Point, x: float, y: float) -> Point:
    old_x, old_y, height = point
    return (round(old_x + x, 6), round(old_y + y, 6), height)


def _draw_zoom(
    tallest: float, fill: float, vocabulary: Vocabulary, stream: Stream, widening: float = 1.0
) -> float:
    """A random factor for the focal length: the largest that the objects and the vocabulary allow,
    or somewhat less.

    If the family sets `tallest`, the factor is large enough to reach it, or the largest allowed.

    Args:
        tallest: the height of the tallest object with the present lens, as a share of the image
            height; 0 if the family sets no `tallest`.
        fill: how far objects reach towards the edges with the present lens.
        vocabulary: says how close the camera may come.
        stream: draws the factor.
        widening: the family's focal length over the present one.
    """
    # Never below 1: with the present lens all objects are in view.
    fills_frame = _FULL / fill
    largest = max(1.0, min(widening * vocabulary.closest, fills_frame))
    reaches_tallest = vocabulary.placement.tallest / tallest if tallest else 1.0
    usual_least = 1 + _LEAST_SHARE * (largest - 1)
    least = min(largest, max(reaches_tallest, usual_least))
    return stream.uniform(least, largest)


def _draw_lamps(
    vocabulary: Vocabulary, environment: str, *, yaw: float, stream: Stream
) -> dict[str, Lamp]:
    """The lamps of a place, by name. Those of the environment replace the family's."""
    place = vocabulary.environments[environment]
    lamps = {}
    for name, family_spec in {**vocabulary.lamps, **place.lamps}.items():
        spec = place.at_hour(family_spec, yaw)
        position = _jittered(spec.position, spec.jitter, stream)
        lamps[name] = Lamp(spec.type, spec.energy, spec.size, spec.color, position)
    return lamps
