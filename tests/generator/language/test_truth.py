import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.decide import decide as judge
from generator.judge.geometry import Terms, read_scene
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.form import Form
from generator.language.grammar import Grammar
from generator.language.truth import Axes, Facts, decide
from generator.scene.relations import scene_graph
from generator.vocabulary.schema import Vocabulary
from tests.generator.scenes import (
    RELATIONS,
    RELATIONS_TEXT,
    VOCABULARY,
    facts_of,
    form_of,
    forms,
    random_scene,
    scene_of,
)

ROW = [
    (-2.0, 2.0),
    (0.0, 0.0),
    (2.0, -2.0),
]  # seen from the camera: along the line of sight, the first furthest away


@pytest.mark.parametrize("examples", [300, pytest.param(1500, marks=pytest.mark.full)])
def test_every_form_is_read_back_from_every_template_and_decided_alike_by_the_judge(
    examples: int,
) -> None:
    grammar, lexicon, terms = (
        Grammar(RELATIONS),
        Lexicon.from_toml(RELATIONS_TEXT),
        Terms.from_toml(RELATIONS_TEXT),
    )

    @settings(max_examples=examples, deadline=None)
    @given(
        forms(vocabulary=RELATIONS),
        st.integers(0, 10**6),
        st.sampled_from([None, list(RELATIONS.objects)[:4]]),
    )
    def check(form: Form, seed: int, categories: list[str] | None) -> None:
        scene = random_scene(random.Random(seed), 1, 7, categories, RELATIONS)
        names = grammar.templates(form)
        assert names, form
        for name in names:
            read = read_text(grammar.realise(form, name), lexicon)
            assert read.to_json() == form.to_json(), name
        assert decide(form, facts_of(scene, RELATIONS)) is judge(
            read, read_scene(scene.to_json(), terms)
        )

    check()


@pytest.fixture
def stack() -> Facts:
    """A cone rests on a cube; a torus stands to their right, neither near nor far."""
    places = [(0, 0), (0.02, 0), (1.44, 1.66)]
    scene = scene_of(
        ("cube", {}), ("cone", {}), ("torus", {}), positions=places, vocabulary=RELATIONS
    )
    cube, cone, torus = scene.objects
    height, _ = RELATIONS.top("cube", cube.attributes)
    return facts_of(
        replace(scene, objects=(cube, replace(cone, position=(0.02, 0.0, height)), torus)),
        RELATIONS,
    )


def test_a_near_pair_is_near_from_either_end_and_a_stack_stands_in_no_order(stack: Facts) -> None:
    assert stack.holds["on"] == [[None, False, False], [True, None, False], [False, False, None]]
    assert stack.holds["beneath"] == [
        [None, True, False],
        [False, None, False],
        [False, False, None],
    ]
    assert stack.holds["near"][0][1] is stack.holds["near"][1][0] is True
    assert stack.holds["near"][0][2] is stack.holds["far"][2][0] is None
    assert {
        stack.holds[name][i][1 - i] for name in ("left", "right", "front", "behind") for i in (0, 1)
    } == {None}


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
    scene = scene_of(
        ("cube", {"color": "red"}), ("sphere", {}), ("cube", {"color": "blue"}), positions=ROW
    )
    assert decide(form_of(text), facts_of(scene)) is truth
    elsewhere = facts_of(replace(scene, environment="desert"))
    assert "studio" not in text or decide(form_of(text), elsewhere) is False


@pytest.mark.parametrize(
    ("seed", "categories", "vocabulary"),
    [(7, None, VOCABULARY), (8, ["cube", "cylinder"], RELATIONS)],
)
def test_facts_agree_with_the_scene_graph(
    seed: int, categories: list[str] | None, vocabulary: Vocabulary
) -> None:
    scene = random_scene(random.Random(seed), 8, 8, categories, vocabulary)
    facts = facts_of(scene, vocabulary)
    assert vocabulary is VOCABULARY or any(map(any, facts.holds["on"]))
    for i, j, name, data in scene_graph(scene, vocabulary).edges(keys=True, data=True):
        assert facts.holds[name][i][j] is data["holds"]


AXES = Axes(RELATIONS)
SIDES, DEPTH, DISTANCE, STACKS = (AXES.axis_of(name) for name in ("left", "front", "near", "on"))


def test_axes_have_slots_pairs_and_interchangeable_relations() -> None:
    """Distance and stacking share a slot; directions stand for one another; stacking is asked of
    its own pairs."""
    assert AXES.relations[SIDES] == ("left", "right")
    assert len(Axes(VOCABULARY).relations) == 2
    assert AXES.slots[DISTANCE] == AXES.slots[STACKS]
    assert len({AXES.slots[axis] for axis in (SIDES, DEPTH, DISTANCE)}) == 3
    assert set(AXES.general) == set(AXES.of_the_same_pairs(SIDES)) == {SIDES, DEPTH, DISTANCE}
    assert AXES.of_the_same_pairs(STACKS) == [STACKS]
    assert set(AXES.interchangeable(SIDES)) == {SIDES, DEPTH}
    assert AXES.interchangeable(DISTANCE) == [DISTANCE]


def test_between_returns_the_relation_that_holds_and_of_a_stack_the_stacking_relation(
    stack: Facts,
) -> None:
    assert AXES.between(stack, SIDES, 1, 0) == (STACKS, "on")
    assert AXES.between(stack, DEPTH, 0, 1) == (STACKS, "beneath")
    assert AXES.between(stack, DISTANCE, 0, 1) == (DISTANCE, "near")
    assert AXES.between(stack, SIDES, 0, 2) == (SIDES, "left")
    assert AXES.between(stack, SIDES, 2, 0) == (SIDES, "right")


def test_between_gives_none_for_a_pair_within_the_margin() -> None:
    facts = facts_of(scene_of(("cube", {}), ("cone", {}), positions=[(-2.0, 2.0), (0.0, 0.0)]))
    assert Axes(VOCABULARY).between(facts, Axes(VOCABULARY).axis_of("left"), 0, 1) is None
