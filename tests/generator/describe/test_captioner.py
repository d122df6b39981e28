from collections import Counter

import pytest

from generator.base.streams import Stream
from generator.describe.items import Item
from generator.describe.protocols.registry import protocol_names
from generator.language.complexity import Cell, ComplexityQuota
from generator.language.form import Form, Link, Mention
from generator.language.grammar import NATURAL
from tests.generator.describe.samples import WITHOUT_ITEMS, samples
from tests.generator.scenes import CATEGORIES, HOLDOUT, VOCABULARY, captioner, described, scene_of


def named(category: str, value: str) -> Form:
    return Form((Mention(category, ((HOLDOUT.kind, value),)),))


FREE = next(name for name in CATEGORIES if name not in HOLDOUT.objects)
FREE_VALUE = next(value for value in VOCABULARY.values(HOLDOUT.kind) if value not in HOLDOUT.values)


@pytest.mark.parametrize(
    ("foil", "reason"),
    [
        (Form((Mention(FREE),)), "true"),
        (Form((Mention(FREE), Mention(HOLDOUT.objects[0])), (Link(0, "left", 1),)), "undecided"),
        (named(HOLDOUT.objects[0], HOLDOUT.values[0]), "other familiarity"),
    ],
)
def test_refused_foils_are_counted_by_reason(foil: Form, reason: str) -> None:
    language = captioner()
    # on one line of sight: left and right are undecided
    values = {HOLDOUT.kind: FREE_VALUE}
    scene = described(scene_of((FREE, values), (HOLDOUT.objects[0], values), positions=[(-2.0, 2.0), (0.0, 0.0)]))
    assert not language.accepts(foil, Form((Mention(FREE),)), scene)
    assert language.refused == {reason: 1}


def test_any_familiarity_accepts_what_equal_familiarity_refuses() -> None:
    scene = described(scene_of((FREE, {HOLDOUT.kind: HOLDOUT.values[0]})))
    foil, caption = named(HOLDOUT.objects[0], HOLDOUT.values[0]), named(FREE, HOLDOUT.values[0])
    assert captioner(equal_familiarity=False).accepts(foil, caption, scene)
    assert not captioner().accepts(foil, caption, scene)


def test_templates_are_the_requested_one_or_drawn_from_those_that_fit() -> None:
    form = Form((Mention("cube"), Mention("cone")))
    drawn = {captioner().draw_template([form], Stream("template", n)) for n in range(100)}
    assert drawn == {"a-and-a", "there-is", "there-is-each"} < set(NATURAL)
    assert captioner(template="photo").draw_template([form], Stream(0)) == "photo"
    assert captioner(template="that-is").draw_template([form], Stream(0)) is None


def test_what_cannot_be_made_is_counted_as_dropped() -> None:
    language, item = captioner(), Item("skill", "targeted", None, ())
    assert list(language.item_or_drop("skill", item)) == [item]
    assert not list(language.item_or_drop("skill", None))
    assert language.dropped == {"skill": 1}


def test_a_cell_that_cannot_be_filled_gives_way_to_the_next() -> None:
    language, scene = captioner(), described(scene_of(("cube", {}), ("cone", {})))
    quota = ComplexityQuota([Cell("L1", 1, 0, 0), Cell("L1", 2, 0, 0)])
    item = Item("skill", "targeted", None, ())
    made = language.fill_cell(scene, quota, Stream(0), lambda scene, cell, stream: [item] * (cell.n_objects == 2))
    assert made == [item]
    assert quota.filled == [0, 1]
    assert not language.fill_cell(scene, quota, Stream(0), lambda scene, cell, stream: [])


def test_foils_are_as_familiar_as_their_captions() -> None:
    language = captioner()
    checked: Counter[str] = Counter()
    for _, _, item in samples(120, 5, equal_familiarity=True):
        if item.protocol == "train":
            for candidate in item.candidates:
                assert candidate.truth or language.count_held_out(candidate.text.form) == 0
            continue
        groups: dict[str, set[int]] = {}
        for candidate in item.candidates:
            slot = "c" if candidate.slot in ("c", "n", "p") else candidate.slot
            groups.setdefault(slot, set()).add(language.count_held_out(candidate.text.form))
        assert all(len(found) == 1 for found in groups.values()), item
        checked[item.protocol] += 1
    assert sum(checked.values()) > 500
    assert set(checked) == set(protocol_names()) - set(WITHOUT_ITEMS)


def test_atom_foils_are_different_and_as_many_as_asked_for() -> None:
    language, scene = captioner(), described(scene_of(("cube", {}), ("cone", {})))
    form = Form((Mention("cube"), Mention("cone")))
    foils = language.atom_foils(scene, form, 4, Stream(0))
    assert foils is not None
    assert len({foil.form for foil in foils}) == 4
    assert {foil.kind for foil in foils} == {"atom"}
    assert language.atom_foils(scene, form, 1000, Stream(0)) is None
