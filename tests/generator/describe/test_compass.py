import random
from collections import Counter
from pathlib import Path

import pytest

from generator.base.streams import Stream
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.captioner import Captioner, Item
from generator.describe.protocols.compass import Integration, Skill
from generator.describe.request import TextRequest, read_text_preset
from generator.holdout.blocks import draw_block
from generator.language.complexity import list_cells
from generator.language.truth import Axes
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.describe.samples import (
    CELLS,
    Sample,
    asked,
    by_slot,
    caption_of,
    change_of,
    items_of,
    scenes,
    triple,
)
from tests.generator.scenes import RELATIONS, VOCABULARY, captioner, described, random_scene
from tests.generator.unrendered import write_planned


def test_composed_and_decomposed_captions_change_the_same_atoms(sampled: list[Sample]) -> None:
    checked = 0
    for item in items_of(sampled, "integration"):
        form = caption_of(item)
        n = form.n_objects + form.n_attributes + form.n_relations
        negatives = by_slot(item, "n")
        assert len(negatives) == n
        parts = [by_slot(item, f"d{i}") for i in range(1, n + 1)]
        assert [part[1].changed for part in parts] == [negative.changed for negative in negatives]
        assert all([c.truth for c in part] == [True, False] for part in parts)
        assert all(len(negative.changed) == 1 for negative in negatives)
        checked += 1
    assert checked > 50


def test_captions_of_one_subgraph_share_their_relations_and_cover_every_number_of_atoms() -> None:
    """COMPASS, section 3.1: the same primitives are reused over levels and N."""
    language = captioner(equal_familiarity=False)
    protocols = [
        Integration(language, CELLS, one_subgraph=True),
        Skill(language, CELLS, one_subgraph=True),
    ]
    sizes: Counter[tuple[str, int]] = Counter()
    for number, scene in scenes(12, 8, least=6):
        described_scene = described(scene, scene_id=f"{number:06d}")
        cells = set()
        for protocol in protocols:
            for item in protocol.items(described_scene, Stream("texts", number)):
                form = caption_of(item)
                cells |= {triple(form, link) for link in form.relations}
                sizes[form.level, form.n_objects + form.n_attributes + form.n_relations] += 1
        if described_scene.subgraph is None:  # all its categories occur twice
            assert not described_scene.unique_objects
            continue
        whole = described_scene.subgraph.form
        assert cells <= {triple(whole, link) for link in whole.relations}
    assert {n for level, n in sizes if level == "OA"} >= set(range(2, 9))
    assert {n for level, n in sizes if level == "OAR"} >= set(range(4, 9))


def test_negatives_change_atoms_of_one_type_and_spread_over_them(sampled: list[Sample]) -> None:
    kinds = {
        "object": {VOCABULARY.category},
        "attribute": set(VOCABULARY.attributes),
        "relation": {"relation"},
    }
    items: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for item in items_of(sampled, "skill"):
        assert item.skill is not None
        changed = {change_of(negative)[:2] for negative in by_slot(item, "n")}
        assert {kind for _, kind in changed} <= kinds[item.skill]
        items[item.skill] += 1
        places[item.skill] += len(changed)
    assert min(items[skill] for skill in kinds) > 5
    assert places.total() > 1.5 * items.total()


def test_shared_values_ask_sizes_and_materials_that_the_scene_lacks() -> None:
    """Of two values a scene of several objects has either both, or one that several objects share
    (section 3.2 of COMPASS takes values that only one object has, and none)."""
    kinds: dict[bool, Counter[str]] = {}
    for shared in (False, True):
        protocols = [
            Integration(captioner(), CELLS, shared_values=shared),
            Skill(captioner(), CELLS, absent_values=True, shared_values=shared),
        ]
        kinds[shared] = Counter()
        for protocol in protocols:
            for described_scene, item in asked(protocol, 150, 0, most=4):
                for foil in by_slot(item, "n"):
                    _, kind, old, new = change_of(foil)
                    if kind in VOCABULARY.attributes:
                        there = [values[kind] for values in described_scene.facts.values]
                        assert new not in there
                        assert shared or there.count(old) == 1
                        kinds[shared][kind] += 1
                    elif kind == VOCABULARY.category:
                        assert new not in described_scene.facts.categories
    assert set(kinds[False]) == {"color"}
    assert min(kinds[True][kind] for kind in VOCABULARY.attributes) > 20


def test_values_of_attribute_foils_may_by_default_be_another_objects(sampled: list[Sample]) -> None:
    """COMPASS, section 3.2, takes absent ones."""
    others = [
        any(change_of(foil)[3] in obj.attributes.values() for obj in sample.scene.objects)
        for sample in sampled
        if sample.item.protocol == "skill" and sample.item.skill == "attribute"
        for foil in by_slot(sample.item, "n")
    ]
    assert sum(others) > 0.3 * len(others)


def test_a_relation_is_changed_several_times_and_captions_of_one_relation_are_left_out() -> None:
    """COMPASS, section 6.1: a primitive may be targeted several times. A single relation would need
    "on" or "beneath" among its four foils. Few pairs are stacked, so the text alone would reveal
    these foils."""
    relations: Counter[int] = Counter()
    foils_of_one_relation: Counter[int] = Counter()
    holdout = draw_block("3x3", RELATIONS, 0)
    cells_of_relations = list_cells(("OR",), (3, 8), {}, vocabulary=RELATIONS, most_objects=6)
    published = Skill(Captioner(RELATIONS, holdout, False), cells_of_relations, any_relation=True)
    draw = random.Random(1)
    for number in range(60):
        described_scene = described(
            random_scene(draw, 3, 6, vocabulary=RELATIONS),
            scene_id=f"{number:06d}",
            vocabulary=RELATIONS,
        )
        for item in published.items(described_scene, Stream("texts", number)):
            if item.skill == "relation":
                foils = by_slot(item, "n")
                relations[len(caption_of(item).relations)] += 1
                foils_of_one_relation.update(Counter(change_of(foil)[0] for foil in foils).values())
                assert len({foil.text.form for foil in foils}) == 4
                _check_no_foil_is_told_by_its_text(item)
    assert min(relations) == 2
    assert relations.total() > 20
    assert foils_of_one_relation[2] > 20


def _check_no_foil_is_told_by_its_text(item: Item) -> None:
    """Foils have stacks as rarely as captions, and an object has one relation of a slot."""
    axes = Axes(RELATIONS)
    for foil in by_slot(item, "n"):
        links = foil.text.form.relations
        ends = [
            (end, axes.slots[axes.axis_of(link.relation)])
            for link in links
            for end in (link.subject, link.object)
        ]
        assert len(set(ends)) == len(ends)
        _, _, old, new = change_of(foil)
        assert (new in ("on", "beneath")) == (old in ("on", "beneath"))


@pytest.mark.parametrize("protocol", ["integration", "skill"])
def test_a_caption_names_a_replaced_value_once(protocol: str) -> None:
    """A foil never repeats its new value, which the scene lacks. If captions repeated the old one,
    the text with a repeated value would be the true one."""
    asker = (
        Integration(captioner(), CELLS, shared_values=True)
        if protocol == "integration"
        else Skill(captioner(), CELLS, absent_values=True, shared_values=True)
    )
    replaced = shared = 0
    for described_scene, item in asked(asker, 150, 0, most=4):
        for foil in by_slot(item, "n"):
            _, kind, old, _ = change_of(foil)
            if kind in VOCABULARY.attributes:
                named = [mention.values.get(kind) for mention in caption_of(item).objects]
                assert named.count(old) == 1
                replaced += 1
                shared += [values[kind] for values in described_scene.facts.values].count(old) > 1
    assert replaced > 100
    assert shared > 20


@pytest.mark.full
def test_the_block_of_the_papers_recipe_leaves_no_split_without_questions(tmp_path: Path) -> None:
    """In unseen scenes all objects are of the block, and so are substitutes that the scene
    lacks."""
    counts = {"train": 150, "val": 2, "seen": 25, "partial": 25, "unseen": 25}
    prepared = prepare(
        WorldOptions(
            family="clevr-relations",
            holdout="5x5",
            scenes=counts,
            resolution="64x48",
            objects=(3, 4),
        )
    )
    write_planned(tmp_path, prepared)
    preset = read_text_preset("compass2026")
    request = TextRequest(preset.protocols, preset.options, preset.levels)
    describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=prepared.holdout,
        name="texts",
        request=request,
    )
    items = Dataset.open(tmp_path).benchmark("texts").items
    columns = (items[name].to_pylist() for name in ("protocol", "skill", "split"))
    number = Counter(zip(*columns, strict=True))
    questions = [
        ("integration", None),
        *(("skill", skill) for skill in ("object", "attribute", "relation")),
    ]
    for protocol, skill in questions:
        for split in ("seen", "partial", "unseen"):
            assert number[protocol, skill, split] > 20, (protocol, skill, split)
