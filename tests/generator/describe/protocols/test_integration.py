from tests.generator.describe.samples import Sample, by_slot
from tests.generator.scenes import VOCABULARY


def test_composed_and_decomposed_captions_change_the_same_atoms(sampled: list[Sample]) -> None:
    checked = 0
    for scene, _, item in sampled:
        if item.protocol != "integration":
            continue
        form = by_slot(item, "c")[0].text.form
        n = form.n_objects + form.n_attributes + form.n_relations
        negatives = by_slot(item, "n")
        assert len(negatives) == n
        parts = [by_slot(item, f"d{i}") for i in range(1, n + 1)]
        assert [part[1].changed for part in parts] == [each.changed for each in negatives]
        assert all([c.truth for c in part] == [True, False] for part in parts)
        for each in negatives:
            (change,) = each.changed
            _, kind, values = change.split(":")
            old, new = values.split(">")
            if kind == VOCABULARY.category:
                assert new not in {o.category for o in scene.objects}
            elif kind != "relation":
                shown = [o.attributes[kind] for o in scene.objects]
                assert shown.count(old) == 1
                assert new not in shown
        checked += 1
    assert checked > 50
