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
from generator.language.form import Form, Mention
from generator.language.grammar import Grammar
from generator.language.truth import Axes, decide
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from tests.generator.scenes import (
    RELATIONS,
    RELATIONS_TEXT,
    VOCABULARY,
    VOCABULARY_TEXT,
    facts_of,
    form_of,
    forms,
    random_scene,
    scene_of,
)

GRAMMAR = Grammar(VOCABULARY)
LEXICON = Lexicon.of(VOCABULARY_TEXT)
TERMS = Terms.of(VOCABULARY_TEXT)
ROW = [(-2.0, 2.0), (0.0, 0.0), (2.0, -2.0)]  # seen from the camera: along the line of sight, the first furthest away


def shown_of(scene: Scene):
    return read_scene(scene.to_json(), TERMS)


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
    ("text", "truth"),
    [
        ("a cube and a cube", True),
        ("a cube, a cube and a cube", False),
        ("two cubes", True),
        ("two red cubes", False),
        ("two objects", None),  # three objects: "two objects" may mean at least two
        ("two cubes and a red cube", None),  # is the red cube one of the two?
        ("a cube and no cone", True),
        ("a sphere and no blue cube", False),
        ("a red cube that is behind a sphere", True),
        ("a sphere that is behind a red cube", False),
        ("a red cube that is to the left of a sphere", None),  # on one line of sight
        ("a sphere that is not in front of a cube", None),  # in front of one of them
        ("a sphere that is not in front of a cone", None),  # there is no cone
        ("a cube that is not red", True),
        ("a sphere that is not gray", False),
        ("a red object that is not a cube", False),
        ("It is not true that there is a red cube.", False),
        ("It is not true that there are two cubes and a red cube.", None),
        ("In a bright studio with a plain floor, there is a cube.", True),
    ],
)
def test_truth_has_three_values(text: str, truth: bool | None) -> None:
    scene = scene_of(("cube", {"color": "red"}), ("sphere", {}), ("cube", {"color": "blue"}), positions=ROW)
    assert decide(form_of(text), facts_of(scene)) is truth
    elsewhere = facts_of(replace(scene, environment="desert"))
    assert "studio" not in text or decide(form_of(text), elsewhere) is False


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


AXES = Axes(RELATIONS)
SIDES, DEPTH, DISTANCE, STACKS = (AXES.axis_of(name) for name in ("left", "front", "near", "on"))


def test_axes_say_what_stands_for_what() -> None:
    """Distance and stacking share a slot; directions stand for one another; stacking is asked of its own pairs."""
    assert AXES.relations[SIDES] == ("left", "right")
    assert len(Axes(VOCABULARY).relations) == 2
    assert AXES.slots[DISTANCE] == AXES.slots[STACKS]
    assert len({AXES.slots[axis] for axis in (SIDES, DEPTH, DISTANCE)}) == 3
    assert set(AXES.general) == set(AXES.of_the_same_pairs(SIDES)) == {SIDES, DEPTH, DISTANCE}
    assert AXES.of_the_same_pairs(STACKS) == [STACKS]
    assert set(AXES.interchangeable(SIDES)) == {SIDES, DEPTH}
    assert AXES.interchangeable(DISTANCE) == [DISTANCE]


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
