from collections import Counter

from tests.generator.describe.samples import Sample, by_slot, items_of, sizes
from tests.generator.scenes import HOLDOUT, VOCABULARY


def test_items_have_two_hard_negatives_and_two_distractors(sampled: list[Sample]) -> None:
    assert sizes(sampled, "gzsl") == {"two-object": {4}, "relational": {4}}
    hard = {"two-object": {HOLDOUT.kind, VOCABULARY.category}, "relational": {"flip", "order"}}
    for item in items_of(sampled, "gzsl"):
        kinds = Counter(c.kind for c in by_slot(item, "n"))
        assert kinds.pop("distractor") == 2
        assert set(kinds) == hard[item.kind]


def test_labels_are_photos(sampled: list[Sample]) -> None:
    assert {c.text.template for item in items_of(sampled, "gzsl") for c in item.candidates} == {"photo"}
