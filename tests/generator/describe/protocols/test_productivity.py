from collections import Counter

from generator.describe.items import Candidate
from tests.generator.describe.samples import Sample, by_slot, items_of, samples, sizes


def test_sets_have_the_published_sizes(sampled: list[Sample]) -> None:
    assert sizes(sampled, "productivity") == {"atom": {5}, "swap": {5}, "neg": {5}, "all": {15}}


def test_the_set_of_all_has_five_foils_of_each_kind(sampled: list[Sample]) -> None:
    found = items_of(sampled, "productivity", "all")
    assert found
    for item in found:
        assert Counter(c.kind for c in by_slot(item, "n")) == {"atom": 5, "neg": 5, "swap": 5}


def test_captions_have_four_to_twelve_atoms(sampled: list[Sample]) -> None:
    forms = [by_slot(item, "c")[0].text.form for item in items_of(sampled, "productivity")]
    atoms = {form.n_objects + form.n_attributes + form.n_relations for form in forms}
    assert min(atoms) == 4
    assert max(atoms) == 12


def denials(candidate: Candidate) -> int:
    form = candidate.text.form
    mentions = sum(bool(m.without) + (m.count == 0) for m in form.objects)
    return mentions + sum(not link.holds for link in form.relations)


def test_denials_stand_in_true_texts_as_often_as_in_false_ones() -> None:
    more = Counter[int]()
    for item in items_of(list(samples(800, 3, least=4, names=["productivity"])), "productivity", "neg"):
        more[denials(by_slot(item, "c")[0]) - denials(by_slot(item, "n")[0])] += 1
    assert more.total() > 150
    assert abs(sum(difference * n for difference, n in more.items())) / more.total() < 0.3
