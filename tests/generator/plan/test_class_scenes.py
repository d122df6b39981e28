"""Scenes for class lists: every label as often as every other, named object on either side as
often."""

from collections import Counter
from itertools import product

import pytest

from generator.base.streams import Stream
from generator.holdout.class_lists import ClassRule
from generator.holdout.holdout import Binding
from generator.holdout.request import draw_holdouts
from generator.plan.drafts import draft_class_scenes
from generator.scene.layouts import certain_relations
from generator.vocabulary.schema import read_vocabulary

VOCABULARY, CLEVR = read_vocabulary("pearson2025"), read_vocabulary("clevr")
SINGLE, TWO, RELATED = (
    ClassRule(VOCABULARY, holdout)
    for holdout in draw_holdouts((), "gzsl", vocabulary=VOCABULARY, block_seed=0)
)
THREE = ClassRule(CLEVR, draw_holdouts(("objects=3",), "gzsl", vocabulary=CLEVR, block_seed=0)[-1])


@pytest.mark.parametrize(
    ("rule", "split", "places"), [(SINGLE, "train", 1), (TWO, "train", 2), (THREE, "ood_val", 3)]
)
def test_every_label_has_its_first_object_at_every_place_as_often(
    rule: ClassRule, split: str, places: int
) -> None:
    labels = rule.scenes(split)
    times = Counter[tuple[tuple[Binding, ...], int]]()
    for scene in draft_class_scenes(rule, split, n=places * len(labels), stream=Stream("x")):
        arrangement = scene.arrangement(rule.holdout.kind)
        times[tuple(arrangement[i] for i in scene.named), scene.named[0]] += 1
    assert times == dict.fromkeys(product(labels, range(places)), 1)


def test_labels_of_a_relation_hold_in_the_layout() -> None:
    labels = RELATED.listed("train")
    scenes = list(draft_class_scenes(RELATED, "train", n=len(labels), stream=Stream("x")))
    for scene in scenes:
        first, second = scene.named
        categories = [category for _, category in scene.arrangement(RELATED.holdout.kind)]
        held = [
            (categories[i], name, categories[j])
            for i, name, j in certain_relations(scene, VOCABULARY)
            if (i, j) == (first, second)
        ]
        assert set(held) & set(labels)
