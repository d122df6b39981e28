"""What a plan says of space, against the scenes that come of it."""

from collections import Counter
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.placement.scenes import place_scene
from generator.scene.layouts import (
    Layout,
    can_carry,
    certain_relations,
    draw_layout,
    is_consistent,
    max_axis_offset,
    open_relations,
)
from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr-relations")
CATEGORIES = list(VOCABULARY.objects)
STACKS = [
    (lower, upper)
    for lower, upper in permutations(CATEGORIES, 2)
    if can_carry(VOCABULARY, lower, upper)
]


def plan(seed: int, n: int) -> Planned:
    stream = Stream("plan", seed)
    categories = stream.shuffled(stream.sample(CATEGORIES, n))
    if seed % 2:  # of the categories that can be stacked more often than by chance
        lower, upper = STACKS[stream.below(len(STACKS))]
        categories = [
            lower,
            upper,
            *[category for category in categories if category not in (lower, upper)],
        ][:n]
    layout = draw_layout(categories, stream, VOCABULARY)
    objects = tuple(
        (name, {kind: VOCABULARY.values(kind)[stream.below(2)] for kind in VOCABULARY.attributes})
        for name in categories
    )
    return Planned(
        "000000", "", objects, layout.depth_order, "studio", layout.rests_on, layout.clumps
    )


@pytest.mark.parametrize("examples", [50, pytest.param(250, marks=pytest.mark.full)])
def test_every_scene_bears_out_what_its_plan_says(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.integers(0, 10**9), st.integers(1, 4), st.sampled_from([(320, 240), (96, 96)]))
    def check(seed: int, n: int, size: tuple[int, int]) -> None:
        planned = plan(seed, n)
        scene = place_scene(planned, VOCABULARY, seed, 0, *size)
        expected = dict.fromkeys(certain_relations(planned, VOCABULARY), True) | dict.fromkeys(
            open_relations(planned, VOCABULARY)
        )
        for i, j, name, edge in scene_graph(scene, VOCABULARY).edges(keys=True, data=True):
            assert edge["holds"] is expected.get((i, name, j), False), (planned, i, name, j, edge)
        stacked = {(i, j) for i, j in enumerate(planned.rests_on) if j is not None}
        assert {(i, j) for i, name, j in open_relations(planned, VOCABULARY)} == stacked | {
            (j, i) for i, j in stacked
        }

    check()


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.full)])
def test_a_stacked_object_stands_on_the_middle_of_a_top(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.integers(0, 10**9))
    def check(seed: int) -> None:
        planned = plan(2 * seed + 1, 3)
        scene = place_scene(planned, VOCABULARY, seed, 0, 96, 96)
        for i, obj in enumerate(scene.objects):
            lower = planned.rests_on[i] if planned.rests_on else None
            if lower is None:
                assert obj.position[2] == 0
                continue
            under = scene.objects[lower]
            top = VOCABULARY.objects[under.category].top
            assert top is not None
            scale = VOCABULARY.scale(under.category, under.attributes)
            assert obj.position[2] == pytest.approx(top.height * scale, abs=1e-6)
            assert all(
                abs(a - b) <= max_axis_offset(VOCABULARY) * 2**0.5 + 1e-6
                for a, b in zip(obj.position[:2], under.position[:2], strict=True)
            )

    check()


def test_where_only_orders_are_known_a_layout_is_a_shuffled_order() -> None:
    clevr = read_vocabulary("clevr")
    for n in range(1, 9):
        assert draw_layout(CATEGORIES[:n], Stream("a", n), clevr) == Layout(
            tuple(Stream("a", n).shuffled(range(n)))
        )


def test_near_is_as_frequent_as_far_and_either_rests_on_the_other() -> None:
    near, stacks, n = Counter(), Counter(), 6000
    for k in range(n):
        layout = draw_layout(["cube", "cylinder", "sphere"], Stream("b", k), VOCABULARY)
        near.update(
            pair
            for pair in combinations(range(3), 2)
            if layout.clumps[pair[0]] == layout.clumps[pair[1]]
        )
        stacks.update((i, j) for i, j in enumerate(layout.rests_on) if j is not None)
    assert all(abs(count / n - 0.5) < 0.03 for count in near.values())
    assert set(stacks) == {(0, 1), (1, 0), (2, 1)}
    assert abs(stacks[0, 1] - stacks[1, 0]) < 0.1 * stacks[0, 1]


LAYOUTS = [
    (Layout((0, 1, 2)), True),
    (Layout((0, 1, 2), (), (0, 0, 1)), True),
    (Layout((0, 1, 2), (), (0, 1, 0)), False),  # far from both, and between them
    (Layout((0, 2, 1), (), (0, 1, 0)), True),
    (Layout((0, 2, 1, 3), (), (0, 0, 0, 0)), False),  # a row of all near
    (Layout((0, 2, 3, 1), (), (0, 0, 0, 0)), True),
    (Layout((0, 1, 2, 3), (), (0, 1, 0, 1)), False),  # two clumps, one in the other's way
    (Layout((0, 1, 2), (None, 0, None)), True),
    (Layout((0, 2, 1), (None, 0, None)), False),  # no neighbours from front to behind
    (Layout((0, 1, 2), (2, None, None)), False),  # no neighbours from left to right
    (Layout((0, 1, 2), (None, 0, None), (0, 1, 0)), False),  # rests on what is far
    (Layout((0, 1, 2), (1, None, None)), True),
    (Layout((0, 1, 2), (None, None, 1)), False),  # nothing rests on a sphere
    (Layout((0, 1, 2), (1, 0, None)), False),  # each on the other
]


@pytest.mark.parametrize(("layout", "fits"), LAYOUTS)
def test_layouts_without_room_are_refused(layout: Layout, fits: bool) -> None:
    names = ["cube", "sphere", "torus", "cone"]
    if layout.rests_on == (1, None, None):
        names = ["sphere", "cube", "torus"]
    assert is_consistent(layout, names, VOCABULARY) is fits


def test_only_what_stands_on_a_flat_top_whatever_the_sizes_is_put_there() -> None:
    assert {lower for lower, _ in STACKS} == {"cube", "cylinder", "hourglass"}
    assert {upper for _, upper in STACKS} == set(CATEGORIES) - {"torus", "star", "arch"}


def test_a_hovering_or_sunken_object_is_in_doubt_and_never_on_top() -> None:
    usual = {kind: VOCABULARY.values(kind)[0] for kind in VOCABULARY.attributes}
    top = VOCABULARY.top("cube", usual)
    assert top is not None
    for lift, holds in [
        (0.0, True),
        (0.0009, True),
        (0.0011, None),
        (0.05, None),
        (-0.05, None),
        (0.2, False),
    ]:
        objects = (
            SceneObject("cube", usual, (0.0, 0.0, 0.0), 0.0),
            SceneObject("cone", usual, (0.01, 0.0, top[0] + lift), 0.0),
        )
        scene = Scene(objects, Camera((0.0, -9.0, 6.0), (0.0, 0.0, 0.3), 35.0, 32.0), {}, "studio")
        graph = scene_graph(scene, VOCABULARY)
        assert graph.edges[1, 0, "on"]["holds"] is holds
        assert graph.edges[0, 1, "beneath"] == graph.edges[1, 0, "on"]
        assert graph.edges[0, 1, "on"]["holds"] is False


def test_orders_that_a_plan_does_not_keep_are_undecided() -> None:
    original = read_vocabulary("clevr-original")
    assert {name for _, name, _ in certain_relations(Layout((1, 0)), original)} <= {"left", "right"}
    assert {(0, "front", 1), (1, "behind", 0)} <= set(open_relations(Layout((1, 0)), original))
    assert set(certain_relations(Layout((1, 0)), read_vocabulary("clevr"))) == {
        (0, "left", 1),
        (1, "right", 0),
        (1, "front", 0),
        (0, "behind", 1),
    }


def test_more_objects_than_can_be_near_or_far_are_refused() -> None:
    with pytest.raises(UserError, match="--objects: 30 objects can hardly all be near or far"):
        draw_layout(["cone"] * 30, Stream("c"), VOCABULARY)
