from tests.generator.describe.samples import Sample, by_slot, items_of, sizes
from tests.generator.scenes import HOLDOUT


def test_sets_have_the_published_sizes(sampled: list[Sample]) -> None:
    assert sizes(sampled, "systematicity") == {"atom": {4}, "comp": {6}, "both": {10}}


def test_captions_are_of_one_to_three_compounds_of_the_tested_kind(sampled: list[Sample]) -> None:
    found = items_of(sampled, "systematicity")
    forms = [by_slot(item, "c")[0].text.form for item in found]
    assert {form.n_objects for form in forms} == {1, 2, 3}
    assert all(list(mention.values) == [HOLDOUT.kind] for form in forms for mention in form.objects)


def test_comp_foils_split_a_compound_over_two_objects(sampled: list[Sample]) -> None:
    for item in items_of(sampled, "systematicity", "comp"):
        caption = by_slot(item, "c")[0].text.form
        for foil in by_slot(item, "n"):
            assert foil.kind == "comp"
            assert foil.text.form.n_objects == caption.n_objects + 1
