from dataclasses import replace

from generator.language.truth import Axes
from tests.generator.scenes import RELATIONS, VOCABULARY, facts_of, scene_of

AXES = Axes(RELATIONS)
SIDES, DEPTH, DISTANCE, STACKS = (AXES.axis_of(name) for name in ("left", "front", "near", "on"))


def test_an_axis_is_a_relation_and_its_opposite() -> None:
    assert AXES.relations[SIDES] == ("left", "right")
    assert {AXES.axis_of(name) for name in ("near", "far")} == {DISTANCE}
    assert len(Axes(VOCABULARY).relations) == 2


def test_distance_and_stacking_share_a_slot() -> None:
    assert AXES.slots[DISTANCE] == AXES.slots[STACKS]
    assert len({AXES.slots[axis] for axis in (SIDES, DEPTH, DISTANCE)}) == 3


def test_any_two_objects_can_be_asked_about_all_axes_but_stacking() -> None:
    assert set(AXES.general) == {SIDES, DEPTH, DISTANCE}


def test_directions_are_interchangeable_with_one_another_only() -> None:
    assert set(AXES.interchangeable(SIDES)) == {SIDES, DEPTH}
    assert AXES.interchangeable(DISTANCE) == [DISTANCE]


def test_stacking_applies_to_other_pairs_than_the_other_axes() -> None:
    assert AXES.of_the_same_pairs(STACKS) == [STACKS]
    assert set(AXES.of_the_same_pairs(SIDES)) == {SIDES, DEPTH, DISTANCE}


def test_between_gives_the_relation_that_holds_and_for_a_stack_which_rests_on_which() -> None:
    scene = scene_of(
        ("cube", {}), ("cone", {}), ("torus", {}), positions=[(0, 0), (0, 0), (2.5, 2.5)], vocabulary=RELATIONS
    )
    cube, cone, torus = scene.objects
    top = RELATIONS.top("cube", cube.attributes)
    assert top is not None
    facts = facts_of(replace(scene, objects=(cube, replace(cone, position=(0.0, 0.0, top[0])), torus)), RELATIONS)
    assert AXES.between(facts, SIDES, 1, 0) == (STACKS, "on")
    assert AXES.between(facts, DEPTH, 0, 1) == (STACKS, "beneath")
    assert AXES.between(facts, DISTANCE, 0, 1) == (DISTANCE, "near")
    assert AXES.between(facts, SIDES, 0, 2) == (SIDES, "left")
    assert AXES.between(facts, SIDES, 2, 0) == (SIDES, "right")


def test_between_gives_none_for_a_pair_within_the_margin() -> None:
    facts = facts_of(scene_of(("cube", {}), ("cone", {}), positions=[(-2.0, 2.0), (0.0, 0.0)]))
    assert Axes(VOCABULARY).between(facts, Axes(VOCABULARY).axis_of("left"), 0, 1) is None
