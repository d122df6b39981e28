from collections import Counter

from generator.base.streams import Stream
from generator.describe.protocols.two_objects import POOL, Binary, Retrieval
from tests.generator.describe.samples import Sample, by_slot, caption_of, items_of
from tests.generator.scenes import captioner, described, scene_of

SCENE = scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"}))


def test_swaps_are_asked_in_both_orders_of_mention() -> None:
    items = list(
        Binary(captioner(template="a-and-a", equal_familiarity=False), ["swap"]).items(
            described(SCENE), Stream(0)
        )
    )
    categories = [
        [mention.category for mention in item.candidates[0].text.form.objects] for item in items
    ]
    assert categories == [["cube", "cone"], ["cone", "cube"]]
    for item in items:
        true, false = item.candidates
        swapped = [mention.values["color"] for mention in false.text.form.objects]
        assert swapped == [mention.values["color"] for mention in true.text.form.objects][::-1]


def test_items_that_cannot_be_made_are_counted_as_dropped() -> None:
    language = captioner()
    assert not list(Binary(language, ["swap"]).items(described(scene_of(("cube", {}))), Stream(0)))
    assert language.dropped == {"binary swap": 1}


def test_denials_are_true_as_often_as_false(sampled: list[Sample]) -> None:
    denied = Counter(caption_of(item).negated for item in items_of(sampled, "binary", "denial"))
    assert abs(denied[True] - denied[False]) < 0.3 * denied.total()


def test_sets_are_all_assignments_two_of_them_true(sampled: list[Sample]) -> None:
    repeats = Counter({"none": 2, "attribute": 4, "category": 4, "both": 4})
    items = items_of(sampled, "confusion")
    assert len(items) > 50
    for item in items:
        assert len(by_slot(item, "c", True)) == 2
        assert Counter(c.kind for c in by_slot(item, "n", False)) == repeats
        assert len({c.text.form for c in item.candidates}) == 16


def test_context_adds_the_environment_and_nothing_else(sampled: list[Sample]) -> None:
    items = items_of(sampled, "context")
    assert len(items) > 50
    for item in items:
        minimal = [by_slot(item, slot)[0] for slot in ("c", "n")]
        contextual = by_slot(item, "context")
        assert [c.text.form._replace(environment=None) for c in contextual] == [
            c.text.form for c in minimal
        ]
        assert [c.truth for c in contextual] == [True, False]


def test_scenes_of_two_objects_have_two_true_captions_of_the_pool() -> None:
    language = captioner()
    protocol = Retrieval(language)
    two = described(scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"})))
    (item,) = protocol.items(two, Stream(0))
    pool = set(protocol.pools()[POOL])
    assert item.pool == POOL
    assert len(pool) == 7392
    assert {candidate.text for candidate in item.candidates} <= pool
    assert [two.decide(text.form) for text in pool].count(True) == 2


def test_other_scenes_are_dropped() -> None:
    language = captioner()
    protocol = Retrieval(language)
    for scene in (
        scene_of(("cube", {}), ("cone", {}), ("torus", {})),
        scene_of(("cube", {"color": "red"}), ("cone", {"color": "red"})),
    ):
        assert not list(protocol.items(described(scene), Stream(0)))
    assert language.dropped == {"retrieval grid": 2}
