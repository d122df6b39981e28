from collections import Counter

from tests.generator.describe.samples import Sample, by_slot, items_of


def test_sets_are_all_assignments_two_of_them_true(sampled: list[Sample]) -> None:
    repeats = Counter({"none": 2, "attribute": 4, "category": 4, "both": 4})
    found = items_of(sampled, "confusion")
    assert len(found) > 50
    for item in found:
        assert len(by_slot(item, "c", True)) == 2
        assert Counter(c.kind for c in by_slot(item, "n", False)) == repeats
        assert len({c.text.form for c in item.candidates}) == 16
