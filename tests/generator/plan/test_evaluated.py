"""The scenes that decide the result of a design are collected from its plan."""

import pytest

from generator.holdout.blocks import draw_block
from generator.holdout.designs import find_design
from generator.holdout.membership import SplitPlan
from generator.holdout.request import HoldoutRequest
from generator.plan.evaluated import (
    EvaluatedScenes,
    dealt_scenes,
    headline_split,
    planned_scenes,
    scenes_to_plan,
)
from generator.plan.options import WorldOptions
from generator.plan.plan import plan_parts
from generator.plan.prepare import prepare
from generator.vocabulary.schema import read_vocabulary


def evaluated(
    family: str, request: HoldoutRequest, objects: tuple[int, int] = (2, 2)
) -> list[EvaluatedScenes]:
    vocabulary = read_vocabulary(family)
    holdouts = request.holdouts(vocabulary)
    parts = request.parts(holdouts, vocabulary)
    found = planned_scenes(plan_parts(vocabulary, parts, 0, objects), holdouts, vocabulary)
    predicted = scenes_to_plan(holdouts, parts, vocabulary=vocabulary, seed=0, objects=objects)
    assert [len(design) for design in predicted] == [len(design) for design in found]
    return found


@pytest.mark.full
def test_block_seeds_are_one_design() -> None:
    (design,) = evaluated("clevr", HoldoutRequest(block_seeds=(0, 4), scenes="train=60,unseen=30"))
    assert (len(design), design.block_count, design.cluster_count) == (60, 2, 18)
    assert design.vocabulary == (8, 12)


@pytest.mark.full
def test_over_the_grid_the_rule_says_which_scenes_are_unseen() -> None:
    (design,) = evaluated("clevr", HoldoutRequest(scenes="grid"))
    assert (len(design), design.cluster_count, design.binding_count) == (
        36,
        9,
        9,
    )  # 9 groups, 2 pairings, 2 orders


@pytest.mark.parametrize(
    ("family", "request_", "split"),
    [
        ("clevr", HoldoutRequest("gzsl", scenes="700"), "ood_test"),
        pytest.param(
            "clevr-relations",
            HoldoutRequest(holdout=("relation:pair=2x3",), scenes="train=60,unseen=40"),
            "unseen",
            marks=pytest.mark.full,
        ),
    ],
)
def test_other_designs_are_collected_too(family: str, request_: HoldoutRequest, split: str) -> None:
    for design in evaluated(family, request_):
        assert design.split == split
        assert 0 < design.cluster_count <= len(design)
        assert design.binding_count > 5


def test_turns_of_a_rotation_are_one_design_and_twins_count() -> None:
    scenes = "train=600,val=40,partial=60,unseen=120"
    prepared = prepare(WorldOptions(holdout="turns=4", scenes=scenes, pairs=True))
    (design,) = planned_scenes(prepared.planned, prepared.holdouts, prepared.vocabulary)
    assert design.rotation
    assert (len(design), design.block_count, design.cluster_count) == (120, 4, 48)


def test_a_design_is_dealt_without_a_plan() -> None:
    vocabulary = read_vocabulary("clevr")
    dealt = dealt_scenes(
        "block", [draw_block("3x3", vocabulary, 0)], vocabulary=vocabulary, number=36
    )
    assert (len(dealt), dealt.cluster_count, dealt.binding_count) == (36, 9, 9)


def test_the_split_whose_accuracy_is_the_claim() -> None:
    vocabulary = read_vocabulary("clevr")
    assert headline_split(SplitPlan(vocabulary, draw_block("3x3", vocabulary, 0))) == "unseen"
    for name, split in (("systematicity", "unseen"), ("coverage", "unseen"), ("gzsl", "ood_test")):
        design = find_design(name)
        holdout = design.draw(design.default_holdout(vocabulary), vocabulary, 0, True)[0]
        assert headline_split(design.rule(vocabulary, holdout)) == split
