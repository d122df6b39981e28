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


def test_the_zero_shot_question_about_a_relation_may_name_the_objects_of_the_image(sampled: list[Sample]) -> None:
    """Its wrong labels are drawn from all labels, hard negatives among them; and all are asked in GZSL too."""
    drawn = Counter[bool]()
    for item in items_of(sampled, "gzsl", "relational"):
        (own,) = by_slot(item, "c")
        others = by_slot(item, "n")
        hard = {c.text for c in others if c.kind != "distractor"}
        assert [c.text for c in by_slot(item, "zsl", True)] == [own.text]
        asked = {c.text for c in by_slot(item, "zsl", False)}
        assert len(asked) == 2
        assert asked <= {c.text for c in others}
        drawn[bool(asked & hard)] += 1
    assert drawn[False]
    assert not any(by_slot(item, "zsl") for item in items_of(sampled, "gzsl", "two-object"))
