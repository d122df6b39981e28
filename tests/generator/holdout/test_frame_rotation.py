"""Rotations of own directions: the turns partition the axes of all objects, and the pools of images
do not depend on the turn."""

from collections import Counter
from itertools import islice, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.dataset.relations import OWN
from generator.holdout.doses import with_doses
from generator.holdout.frame_rotation import FrameRotationRule
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Fact, arrangements
from generator.holdout.request import HoldoutRequest, WorldPart, design_of
from generator.vocabulary.schema import Vocabulary, read_vocabulary

FRAMES = read_vocabulary("pug-frames")
SIDES, DEPTHS = {"own-left", "own-right"}, {"own-front", "own-behind"}
OPTION = "relation:object=turns=2"


def turns_of(
    vocabulary: Vocabulary = FRAMES, option: str = OPTION, block_seed: int = 0, **options: Any
) -> list[Holdout]:
    request = HoldoutRequest(holdout=(option,), block_seeds=(block_seed,), **options)
    return request.holdouts(vocabulary)


@given(st.integers(0, 50), st.sampled_from(["pug-frames", "things-frames"]))
def test_every_axis_of_every_object_is_held_out_in_exactly_one_turn(
    block_seed: int, family: str
) -> None:
    vocabulary = read_vocabulary(family)
    holdouts = turns_of(vocabulary, block_seed=block_seed)
    held_out = Counter(triple for holdout in holdouts for triple in holdout.triples)
    every_triple = product(vocabulary.objects, OWN.values(), vocabulary.objects)
    assert held_out == Counter(every_triple)
    for holdout in holdouts:
        assert {*holdout.own_frames} == {*vocabulary.objects}
        assert {frozenset(names) for names in holdout.own_frames.values()} == {
            frozenset(SIDES),
            frozenset(DEPTHS),
        }
        sizes = [len(group) for group in holdout.object_groups]
        assert len(sizes) == 2
        assert max(sizes) - min(sizes) <= 1


def test_turn_0_holds_out_the_sides_of_one_group_and_turn_1_those_of_the_other() -> None:
    first, second = turns_of()
    group, other_group = first.object_groups
    assert second.object_groups == first.object_groups
    for holdout, has_sides in ((first, group), (second, other_group)):
        with_sides = {name for name, held in holdout.own_frames.items() if {*held} == SIDES}
        assert with_sides == {*has_sides}


def test_block_seed_deals_other_groups() -> None:
    assert len({turns_of(block_seed=seed)[0].object_groups for seed in range(5)}) == 5


def facts_of(first: str, second: str) -> list[Fact]:
    """Two objects: the second stands in the direction `first` of the first, which stands in the
    direction `second` of the second."""
    return [(0, "left", 1), (1, first, 0), (0, second, 1)]


@pytest.mark.parametrize("sides", [("own-left", "own-right"), ("own-front", "own-left")])
def test_an_evaluated_image_is_unseen_in_one_turn_and_seen_in_the_other(
    sides: tuple[str, str],
) -> None:
    rules = [FrameRotationRule(FRAMES, holdout) for holdout in turns_of()]
    splits_of_images: Counter[tuple[str | None, ...]] = Counter()
    for arrangement in islice(arrangements(FRAMES, "color"), 0, None, 3):
        splits = [rule.place(arrangement, facts_of(*sides)).split for rule in rules]
        splits_of_images[tuple(sorted(splits, key=str))] += 1
        categories = [category for _, category in arrangement]
        pairs = zip(sides, categories, strict=True)
        in_turn_0 = [rules[0].holdout.holds_out_triple("fox", *pair) for pair in pairs]
        if len({*in_turn_0}) == 2:
            assert splits == [None, None]
        elif "unseen" in splits:
            assert splits == (["unseen", "seen"] if all(in_turn_0) else ["seen", "unseen"])
    assert {*splits_of_images} == {
        (None, None),
        (None, "train"),
        (None, "val"),
        ("seen", "unseen"),
    }
    evaluated, trained = splits_of_images["seen", "unseen"], splits_of_images[None, "train"]
    assert 0.1 < evaluated / (evaluated + trained) < 0.25


def test_an_oblique_image_is_in_no_split_of_any_turn() -> None:
    """What lies to the left and in front is held out in both turns."""
    oblique = [*facts_of("own-left", "own-right"), (1, "own-front", 0), (0, "own-behind", 1)]
    for holdout in turns_of():
        rule = FrameRotationRule(FRAMES, holdout)
        for arrangement in islice(arrangements(FRAMES, "color"), 0, None, 50):
            assert rule.place(arrangement, oblique).split is None


def test_names_and_summary() -> None:
    holdouts = turns_of(block_seed=3)
    design = design_of(holdouts[0])
    assert [design.benchmark_name(holdout) for holdout in holdouts] == ["turn0-b3", "turn1-b3"]
    summary = design.summary(holdouts[1])
    assert summary.startswith("turn 1 of 2: own-")
    assert all(name in summary for name in FRAMES.objects)
    assert Holdout.from_dict(holdouts[1].to_dict()) == holdouts[1]


def parts_of(request: HoldoutRequest, vocabulary: Vocabulary) -> list[WorldPart]:
    return request.parts(request.holdouts(vocabulary), vocabulary)


@pytest.mark.parametrize(
    ("family", "option", "options", "expected"),
    [
        ("pug-frames", "relation:object=turns=3", {}, "has 2 turns, one for each axis"),
        ("pug-frames", "relation:object=turns=1", {}, "has 2 turns, one for each axis"),
        ("clevr", OPTION, {}, "'clevr' has no relations in an object's own frame"),
        ("clevr", "relation:pair=turns=2", {}, "only directions in an object's own frame"),
        ("pug-frames", OPTION, {"opposites": False}, "leave --no-opposites out"),
        ("pug-frames", OPTION, {"scenes": "train=90,partial=9"}, "train, val, unseen"),
    ],
)
def test_worlds_that_cannot_rotate_are_refused(
    family: str, option: str, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(UserError, match=expected):
        parts_of(HoldoutRequest(holdout=(option,), **options), read_vocabulary(family))


def test_a_family_needs_both_axes_and_four_objects() -> None:
    few = {name: FRAMES.objects[name] for name in ("lion", "fox", "wolf")}
    with pytest.raises(UserError, match="at least 4 objects with a front"):
        turns_of(FRAMES.model_copy(update={"objects": few}))
    relations = {name: rule for name, rule in FRAMES.relations.items() if name not in DEPTHS}
    with pytest.raises(UserError, match="has only one axis in an object's own frame"):
        turns_of(FRAMES.model_copy(update={"relations": relations}))


def test_a_dose_is_of_bindings() -> None:
    (first, _) = turns_of()
    with pytest.raises(UserError, match="doses are numbers of images of a binding"):
        with_doses(holdout=first, doses=(0, 1), vocabulary=FRAMES, scenes=[])
