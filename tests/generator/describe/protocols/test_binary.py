from collections import Counter

import pytest

from generator.base.streams import Stream
from generator.describe.items import Text, item_of_foils
from generator.describe.protocols.two_objects import KINDS, Binary
from generator.language.foils import Atom
from generator.language.form import Form, Mention
from tests.generator.describe.samples import Sample, by_slot, items_of, sizes
from tests.generator.scenes import captioner, described, scene_of

SCENE = scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"}))


def test_every_kind_has_one_foil(sampled: list[Sample]) -> None:
    assert sizes(sampled, "binary") == {kind: {1} for kind in KINDS}


def test_swaps_are_asked_in_both_orders_of_mention() -> None:
    items = list(
        Binary(captioner(template="a-and-a", equal_familiarity=False), ["swap"]).items(described(SCENE), Stream(0))
    )
    categories = [[mention.category for mention in item.candidates[0].text.form.objects] for item in items]
    assert categories == [["cube", "cone"], ["cone", "cube"]]
    for item in items:
        true, false = item.candidates
        swapped = [mention.values["color"] for mention in false.text.form.objects]
        assert swapped == [mention.values["color"] for mention in true.text.form.objects][::-1]


def test_what_a_scene_cannot_give_is_counted_as_dropped() -> None:
    language = captioner()
    assert not list(Binary(language, ["swap"]).items(described(scene_of(("cube", {}))), Stream(0)))
    assert language.dropped == {"binary swap": 1}


def test_denials_are_true_as_often_as_false(sampled: list[Sample]) -> None:
    denied = Counter(by_slot(item, "c")[0].text.form.negated for item in items_of(sampled, "binary", "denial"))
    assert abs(denied[True] - denied[False]) < 0.3 * denied.total()


def test_a_kind_of_ones_own_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def size(captioner, scene, stream):  # type: ignore[no-untyped-def]
        form = Form((Mention(scene.facts.categories[0], (("size", scene.facts.values[0]["size"]),)),))
        foil = captioner.foils.replace_atom(form, Atom("attribute", 0, "size"), "small", "size")
        return [item_of_foils("binary", "size", "attribute", Text(form, "there-is"), [foil])]

    monkeypatch.setitem(KINDS, "size", size)
    (item,) = Binary(captioner(), ["size"]).items(described(SCENE), Stream(0))
    assert [candidate.kind for candidate in item.candidates] == [None, "size"]
    assert "size" in Binary(captioner()).kinds
