"""Places on the ground: in the planned orders, within the rules, whatever the sizes; and on tops
that carry others."""

import math
from dataclasses import replace
from itertools import combinations, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.placement.ground import Footprint, Ground
from generator.placement.scenes import draw_positions
from generator.scene.layouts import Layout, max_axis_offset
from generator.scene.projection import project
from generator.scene.relations import along, ground_directions
from generator.scene.scene import Camera, Point
from generator.vocabulary.schema import Vocabulary, read_vocabulary

MANY = read_vocabulary("clevr-many")
FEW = read_vocabulary("clevr")
STACKED = read_vocabulary("clevr-relations")


def still(vocabulary: Vocabulary) -> Camera:
    spec = vocabulary.camera
    return Camera(spec.position, spec.target, spec.lens, spec.sensor)


def jittered(vocabulary: Vocabulary, stream: Stream) -> Camera:
    jitter = vocabulary.camera.jitter
    x, y, z = (c + stream.uniform(-jitter, jitter) for c in vocabulary.camera.position)
    return replace(still(vocabulary), position=(x, y, z))


def ranks(places: list[Point], direction: tuple[float, float]) -> tuple[int, ...]:
    coordinates = [along(direction, place) for place in places]
    return tuple(sorted(coordinates).index(coordinate) for coordinate in coordinates)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_positions_keep_orders_gap_clearance_extent_and_frame(data: st.DataObject) -> None:
    vocabulary, most = data.draw(st.sampled_from([(FEW, 2), (MANY, 8)]))
    width, height = data.draw(st.sampled_from([(320, 240), (96, 96), (240, 320)]))
    n, seed = data.draw(st.integers(1, most)), data.draw(st.integers(0, 10**6))
    order = tuple(data.draw(st.permutations(range(n))))
    scales = [value.scale or 0 for value in vocabulary.attributes["size"].values()]
    radii = data.draw(st.lists(st.sampled_from(scales), min_size=n, max_size=n))
    stream, rules = Stream("x", seed), vocabulary.placement
    columns = [(Footprint(radius, 0.0, radius),) for radius in radii]
    places = None
    while places is None:
        camera = jittered(vocabulary, stream)
        places = Ground(camera, vocabulary, width, height).find_positions(
            columns, order, stream=stream
        )
    directions = ground_directions(camera)
    assert ranks(places, directions["right"]) == tuple(range(n))
    assert ranks(places, directions["behind"]) == order
    for (a, r), (b, s) in combinations(zip(places, radii, strict=True), 2):
        assert math.dist(a, b) - r - s >= rules.gap
        assert all(
            abs(round(along(directions[name], a) - along(directions[name], b), 6))
            >= rules.clearance
            for name in ("right", "behind")
        )
    for place, radius in zip(places, radii, strict=True):
        assert max(abs(place[0]), abs(place[1])) <= rules.extent
        assert in_frame(place, radius, camera, width, height)


def test_drawn_depth_orders_are_as_frequent_as_among_positions_on_the_ground() -> None:
    """CLEVR's camera sees the square ground from a corner, so what is outermost on one side is
    seldom so in depth."""
    vocabulary = read_vocabulary("clevr-original")
    stream, ground = Stream("x"), Ground(still(vocabulary), vocabulary, 320, 240)
    orders = [ground.draw_depth_order(6, stream) for _ in range(600)]
    assert all(sorted(order) == list(range(6)) for order in orders)
    counts = [
        sum(order[place] == rank for order in orders) for place, rank in product(range(6), repeat=2)
    ]
    assert min(counts) > 0
    corners = sum(order[place] in (0, 5) for order in orders for place in (0, 5))
    assert corners < 0.5 * sum(order[place] in (0, 5) for order in orders for place in (2, 3))


def in_frame(place: Point, radius: float, camera: Camera, width: int, height: int) -> bool:
    """Whether the cylinder that holds the object whatever its heading lies in the central square:
    point by point."""
    rim = (
        (math.cos(a) * radius, math.sin(a) * radius) for a in (k * math.pi / 16 for k in range(32))
    )
    side = min(width, height) / 2 + 1e-6
    return all(
        abs(column - width / 2) <= side and abs(row - height / 2) <= side
        for (x, y), z in product(rim, (0.0, 2 * radius))
        for column, row, _ in [project(camera, place[0] + x, place[1] + y, z, width, height)]
    )


def test_every_order_of_three_is_found_at_the_first_attempt() -> None:
    ground = Ground(still(MANY), MANY, 320, 240)
    for order in permutations(range(3)):
        assert all(
            ground.find_positions(
                [(Footprint(0.6, 0.0, 0.6),)] * 3, order, stream=Stream("x", seed)
            )
            for seed in range(20)
        )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_places_are_spread_over_the_ground(n: int) -> None:
    ground = Ground(still(MANY), MANY, 320, 240)
    places = []
    for seed in range(200):
        stream = Stream("y", seed)
        places += (
            ground.find_positions(
                [(Footprint(0.4, 0.0, 0.4),)] * n, stream.shuffled(range(n)), stream=stream
            )
            or []
        )
    for axis in range(2):
        line = [place[axis] for place in places]
        assert min(line) < -2.2
        assert max(line) > 2.2
        assert abs(sum(line) / len(line)) < 0.5


@pytest.mark.parametrize("aside", [-1.5, 1.5])
def test_a_camera_that_looks_beside_the_middle_has_all_objects_in_its_frame(aside: float) -> None:
    camera = still(FEW)
    x, y, z = camera.position
    target_x, target_y, target_z = camera.target
    camera = replace(
        camera, position=(x + aside, y, z), target=(target_x + aside, target_y, target_z)
    )
    ground = Ground(camera, FEW, 240, 240)
    columns = [(Footprint(0.4, 0.0, 0.4),)] * 2
    n_placed = 0
    for seed in range(40):
        places = ground.find_positions(columns, (0, 1), stream=Stream("aside", seed))
        for place in places or ():
            assert in_frame(place, 0.4, camera, 240, 240)
            n_placed += 1
    assert n_placed > 20


def test_no_position_is_behind_the_camera() -> None:
    camera = Camera((0.0, -1.0, 1.0), (0.0, 0.0, 0.35), 35.0, 32.0)
    assert (
        Ground(camera, MANY, 320, 240).find_positions(
            [(Footprint(0.6, 0.0, 0.6),)] * 6, range(6), stream=Stream("z")
        )
        is None
    )


VALUES = {"color": "red", "material": "rubber", "size": "small"}
GROUND = Ground(still(STACKED), STACKED, 320, 240)


def test_an_object_that_rests_stands_on_the_top_of_its_carrier() -> None:
    objects = [("cube", VALUES), ("sphere", VALUES), ("cone", VALUES)]
    top = STACKED.top("cube", VALUES)
    assert top is not None
    for n in range(20):
        positions = draw_positions(
            objects,
            Layout((0, 1, 2), (None, 0, None), (0, 0, 1)),
            ground=GROUND,
            stream=Stream("positions", n),
        )
        assert positions is not None
        cube, sphere, cone = positions
        assert (cube[2], sphere[2], cone[2]) == (0, round(top[0], 6), 0)
        # the camera looks along y, so both ground directions are axes of the world
        assert (
            max(abs(sphere[0] - cube[0]), abs(sphere[1] - cube[1]))
            <= max_axis_offset(STACKED) + 1e-6
        )


def test_a_full_ground_has_no_positions() -> None:
    objects = [("cube", {**VALUES, "size": "large"})] * 40
    assert (
        draw_positions(
            objects, Layout(tuple(range(40))), ground=GROUND, stream=Stream("positions", 0)
        )
        is None
    )
