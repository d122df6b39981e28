"""Scenes for class lists: every label as often as every other, named object on either side as often."""

from collections import Counter

import pytest

from generator.base.streams import Stream
from generator.holdout.class_lists import ClassRule
from generator.holdout.request import draw_holdouts
from generator.plan.plan import class_scenes
from generator.scene.layouts import facts
from generator.vocabulary.schema import read_vocabulary

VOCABULARY, CLEVR = read_vocabulary("pearson2025"), read_vocabulary("clevr")
RULES = {str(holdout.task): ClassRule(VOCABULARY, holdout) for holdout in draw_holdouts((), "gzsl", VOCABULARY, 0)}


@pytest.mark.parametrize("task", ["single", "two-object"])
def test_labels_are_equally_frequent_and_in_either_order(task: str) -> None:
    rule = RULES[task]
    labels = rule.scenes("train")
    scenes = list(class_scenes(rule, "train", 2 * len(labels), Stream("x")))
    shown = Counter(tuple(scene.arrangement(rule.holdout.kind)[i] for i in scene.named) for scene in scenes)
    assert shown == dict.fromkeys(labels, 2)
    if task == "two-object":
        assert Counter(scene.named for scene in scenes) == {(0, 1): len(labels), (1, 0): len(labels)}


def test_the_named_one_of_three_objects_is_at_each_place_as_often() -> None:
    rule = ClassRule(CLEVR, draw_holdouts(("objects=3",), "gzsl", CLEVR, 0)[-1])
    labels = rule.scenes("ood_val")
    scenes = list(class_scenes(rule, "ood_val", 3 * len(labels), Stream("x")))
    shown = Counter(tuple(scene.arrangement(rule.holdout.kind)[i] for i in scene.named) for scene in scenes)
    assert shown == dict.fromkeys(labels, 3)
    places = Counter((scene.arrangement(rule.holdout.kind)[scene.named[0]], scene.named[0]) for scene in scenes)
    assert len({*places.values()}) == 1
    assert {place for _, place in places} == {0, 1, 2}


def test_labels_of_a_relation_hold_in_the_layout() -> None:
    rule = RULES["relational"]
    labels = rule.listed("train")
    scenes = list(class_scenes(rule, "train", len(labels), Stream("x")))
    for scene in scenes:
        first, second = scene.named
        things = [thing for _, thing in scene.arrangement(rule.holdout.kind)]
        held = [(things[i], name, things[j]) for i, name, j in facts(scene, VOCABULARY) if (i, j) == (first, second)]
        assert set(held) & set(labels)
