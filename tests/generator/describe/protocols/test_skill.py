from collections import Counter

from tests.generator.describe.samples import Sample, by_slot, items_of, sizes
from tests.generator.scenes import VOCABULARY


def test_an_item_has_four_negatives(sampled: list[Sample]) -> None:
    assert sizes(sampled, "skill") == {"targeted": {4}}


def test_negatives_change_atoms_of_one_type_and_spread_over_them(sampled: list[Sample]) -> None:
    kinds = {"object": {VOCABULARY.category}, "attribute": set(VOCABULARY.attributes), "relation": {"relation"}}
    items: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for item in items_of(sampled, "skill"):
        assert item.skill is not None
        changed = [each.changed[0].split(":")[:2] for each in by_slot(item, "n")]
        assert {kind for _, kind in changed} <= kinds[item.skill]
        items[item.skill] += 1
        places[item.skill] += len({tuple(each) for each in changed})
    assert min(items[skill] for skill in kinds) > 5
    assert places.total() > 1.5 * items.total()
