import random
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.decide import decide as judge
from generator.judge.geometry import Terms, read_scene
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.truth import Axes, both, decide
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from tests.generator.scenes import (
    RELATIONS,
    RELATIONS_TEXT,
    VOCABULARY,
    VOCABULARY_TEXT,
    facts_of,
    forms,
    random_scene,
    scene_of,
)

GRAMMAR = Grammar(VOCABULARY)
LEXICON = Lexicon.of(VOCABULARY_TEXT)
TERMS = Terms.of(VOCABULARY_TEXT)
RED = (("color", "red"),)
BLUE = (("color", "blue"),)
ROW = [(-2.0, 2.0), (0.0, 0.0), (2.0, -2.0)]  # seen from the camera: along the line of sight, the first furthest away


def shown_of(scene: Scene):
    return read_scene(scene.to_json(), TERMS)


def said(*objects: Mention, links: tuple[Link, ...] = (), **more: object) -> Form:
    return Form(objects, links, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("examples", [300, pytest.param(1500, marks=pytest.mark.full)])
def test_the_judge_decides_every_form_alike(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(forms(), st.integers(0, 10**6), st.sampled_from(["any", "few"]))
    def check(form: Form, seed: int, which: str) -> None:
        scene = random_scene(random.Random(seed), 1, 7, list(VOCABULARY.objects)[:4] if which == "few" else None)
        text = GRAMMAR.realise(form, GRAMMAR.templates(form)[0])
        assert decide(form, facts_of(scene)) is judge(read_text(text, LEXICON), shown_of(scene)), text

    check()


@pytest.mark.parametrize("examples", [60, pytest.param(250, marks=pytest.mark.full)])
def test_near_far_on_and_beneath_are_said_read_and_decided_alike(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(forms(vocabulary=RELATIONS), st.integers(0, 10**6))
    def check(form: Form, seed: int) -> None:
        scene = random_scene(random.Random(seed), 1, 7, list(RELATIONS.objects)[:4], RELATIONS)
        grammar, lexicon = Grammar(RELATIONS), Lexicon.of(RELATIONS_TEXT)
        shown = read_scene(scene.to_json(), Terms.of(RELATIONS_TEXT))
        for name in grammar.templates(form):
            read = read_text(grammar.realise(form, name), lexicon)
            assert read.to_json() == form.to_json()
        assert decide(form, facts_of(scene, RELATIONS)) is judge(read, shown)

    check()


def test_a_near_pair_is_near_from_either_end_and_a_stack_stands_in_no_order() -> None:
    scene = scene_of(
        ("cube", {}), ("cone", {}), ("torus", {}), positions=[(0, 0), (0.02, 0), (0, 2.2)], vocabulary=RELATIONS
    )
    cube, cone, torus = scene.objects
    top = RELATIONS.top("cube", cube.attributes)
    assert top is not None
    facts = facts_of(replace(scene, objects=(cube, replace(cone, position=(0.02, 0.0, top[0])), torus)), RELATIONS)
    assert facts.holds["on"] == [[None, False, False], [True, None, False], [False, False, None]]
    assert facts.holds["beneath"] == [[None, True, False], [False, None, False], [False, False, None]]
    assert facts.holds["near"][0][1] is facts.holds["near"][1][0] is True
    assert facts.holds["near"][0][2] is facts.holds["far"][2][0] is None
    assert {facts.holds[name][i][1 - i] for name in ("left", "right", "front", "behind") for i in (0, 1)} == {None}


things = st.tuples(st.sampled_from(["red", "blue"]), st.sampled_from(["cube", "sphere"]))


@given(st.lists(things, min_size=1, max_size=3), st.lists(things, min_size=1, max_size=4))
def test_truth_is_a_matching_to_different_objects(named: list[tuple[str, str]], there: list[tuple[str, str]]) -> None:
    expected = any(
        all(s == there[i] for s, i in zip(named, chosen, strict=True))
        for chosen in permutations(range(len(there)), len(named))
    )
    form = Form(tuple(Mention(thing, (("color", color),)) for color, thing in named))
    scene = scene_of(*((thing, {"color": color}) for color, thing in there))
    assert decide(form, facts_of(scene)) is expected


@pytest.mark.parametrize(
    ("form", "truth"),
    [
        (said(Mention("cube"), Mention("cube")), True),
        (said(Mention("cube"), Mention("cube"), Mention("cube")), False),
        (said(Mention("cube", count=2)), True),
        (said(Mention("cube", RED, count=2)), False),
        (said(Mention(None, count=2)), None),  # three objects: "two objects" may mean at least two
        (said(Mention("cube", count=2), Mention("cube", RED)), None),  # is the red cube one of the two?
        (said(Mention("cone", count=0)), True),
        (said(Mention("cube", BLUE, count=0)), False),
        (said(Mention("cube", RED), Mention("sphere"), links=(Link(0, "behind", 1),)), True),
        (said(Mention("sphere"), Mention("cube", RED), links=(Link(0, "behind", 1),)), False),
        (said(Mention("cube", RED), Mention("sphere"), links=(Link(0, "left", 1),)), None),  # on one line of sight
        (
            said(Mention("sphere"), Mention("cube"), links=(Link(0, "front", 1, False),)),
            None,
        ),  # in front of one of them
        (said(Mention("sphere"), Mention("cone"), links=(Link(0, "front", 1, False),)), None),  # there is no cone
        (said(Mention("cube", without=RED)), True),
        (said(Mention("sphere", without=(("color", "gray"),))), False),
        (said(Mention(None, RED, (("shape", "cube"),))), False),
        (said(Mention("cube", RED), negated=True), False),
        (said(Mention("cube", count=2), Mention("cube", RED), negated=True), None),
        (said(Mention("cube"), environment="studio"), True),
        (said(Mention("cube"), environment="desert"), False),
    ],
)
def test_truth_has_three_values(form: Form, truth: bool | None) -> None:
    scene = scene_of(("cube", {"color": "red"}), ("sphere", {}), ("cube", {"color": "blue"}), positions=ROW)
    assert decide(form, facts_of(scene)) is truth


def test_facts_agree_with_the_scene_graph() -> None:
    scene = random_scene(random.Random(7), 8, 8)
    facts = facts_of(scene)
    for i, j, name, data in scene_graph(scene, VOCABULARY).edges(keys=True, data=True):
        assert facts.holds[name][i][j] is data["holds"]
    scene = random_scene(random.Random(8), 8, 8, ["cube", "cylinder"], RELATIONS)
    facts = facts_of(scene, RELATIONS)
    assert any(map(any, facts.holds["on"]))
    for i, j, name, data in scene_graph(scene, RELATIONS).edges(keys=True, data=True):
        assert facts.holds[name][i][j] is data["holds"]


def test_and_is_kleenes() -> None:
    assert [[both(a, b) for b in (True, None, False)] for a in (True, None, False)] == [
        [True, None, False],
        [None, None, False],
        [False, False, False],
    ]


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
