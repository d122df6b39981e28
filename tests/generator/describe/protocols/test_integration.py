from collections import Counter

from generator.base.streams import Stream
from generator.describe.protocols.compass import Integration, Skill
from tests.generator.describe.samples import CELLS, Sample, by_slot, scenes
from tests.generator.scenes import VOCABULARY, captioner, described


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


def test_captions_of_one_subgraph_share_their_relations_and_cover_every_number_of_atoms() -> None:
    """COMPASS, section 3.1: the same primitives are reused over levels and N."""
    language = captioner(equal_familiarity=False)
    protocols = [Integration(language, CELLS, one_subgraph=True), Skill(language, CELLS, one_subgraph=True)]
    sizes: Counter[tuple[str, int]] = Counter()
    for number, scene in scenes(12, 8, least=6):
        shown = described(scene, scene_id=f"{number:06d}")
        said = set()
        for protocol in protocols:
            for item in protocol.items(shown, Stream("texts", number)):
                form = by_slot(item, "c")[0].text.form
                ends = [
                    (form.objects[r.subject].category, r.relation, form.objects[r.object].category)
                    for r in form.relations
                ]
                said |= set(ends)
                sizes[form.level, form.n_objects + form.n_attributes + form.n_relations] += 1
        if shown.subgraph is None:  # all its categories occur twice
            assert not shown.unique_objects
            continue
        whole = shown.subgraph.form
        assert said <= {
            (whole.objects[r.subject].category, r.relation, whole.objects[r.object].category) for r in whole.relations
        }
    assert {n for level, n in sizes if level == "OA"} >= set(range(2, 9))
    assert {n for level, n in sizes if level == "OAR"} >= set(range(4, 9))
