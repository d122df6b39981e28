from collections import Counter

import pytest

from generator.base.streams import Stream
from generator.describe.captioner import name_objects
from generator.describe.contrasts import NEGATIVES, Negatives
from generator.language.familiarity import count_held_out
from generator.language.form import Form, Link, Mention, merge_equal_mentions
from tests.generator.describe.samples import scenes
from tests.generator.scenes import CATEGORIES, HOLDOUT, captioner, described, scene_of


def test_every_kind_is_false_and_names_nothing_held_out() -> None:
    negatives = Negatives(captioner(), NEGATIVES, False)
    found: Counter[str] = Counter()
    for number, scene in scenes(200, 1, 2, 5):
        shown = described(scene, "train")
        unique = shown.unique_objects
        if len(unique) < 2:
            continue
        form = name_objects(shown, unique, (HOLDOUT.kind, "size"))
        related = next((name for name in ("left", "right") if shown.facts.holds[name][unique[0]][unique[1]]), None)
        if related:
            form = Form(form.objects, (Link(0, related, 1),))
        for foil in negatives.of(form, shown, Stream(number)):
            assert shown.decide(foil.form) is False
            assert count_held_out(foil.form, HOLDOUT) == 0
            assert foil.changed
            found[foil.kind] += 1
    assert set(found) == {"swap", "replace", "flip"}
    assert min(found.values()) > 20


HELD = (HOLDOUT.objects[0], HOLDOUT.values[0])
FREE = (
    next(name for name in CATEGORIES if name not in HOLDOUT.objects),
    next(value for value in ("red", "blue", "gray", "green", "cyan") if value not in HOLDOUT.values),
)


@pytest.mark.parametrize("exposed", [False, True])
def test_negatives_name_held_out_bindings_only_when_exposed(exposed: bool) -> None:
    """Exchanged, the values give a held-out binding; replaced, they need not."""
    scene = described(scene_of((HELD[0], {HOLDOUT.kind: FREE[1]}), (FREE[0], {HOLDOUT.kind: HELD[1]})), "train")
    negatives = Negatives(captioner(), ("swap", "replace"), exposed)
    form = name_objects(scene, (0, 1), (HOLDOUT.kind,))
    found = {foil.kind for foil in negatives.of(form, scene, Stream(0))}
    assert found == ({"swap", "replace"} if exposed else {"replace"})


def test_only_kinds_that_are_asked_for_are_made() -> None:
    scene = described(scene_of(("cube", {}), ("cone", {}), positions=[(-2, 0), (2, 0)]), "train")
    form = Form((Mention("cube"), Mention("cone")), (Link(0, "left", 1),))
    for kinds in ((), ("flip",), ("neg",), ("swap", "flip")):
        made = [foil.kind for foil in Negatives(captioner(), kinds, False).of(form, scene, Stream(0))]
        assert made == [kind for kind in kinds if kind != "neg"]


def test_a_flip_is_no_replacement() -> None:
    scene = described(scene_of(("cube", {}), ("cone", {}), positions=[(-2, 0), (2, 0)]), "train")
    form = Form((Mention("cube"), Mention("cone")), (Link(0, "left", 1),))
    negatives = Negatives(captioner(), ("replace",), False)
    told = {foil.changed[0] for seed in range(200) for foil in negatives.of(form, scene, Stream(seed))}
    assert "0-1:relation:left>front" in told
    assert "0-1:relation:left>right" not in told


def test_negatives_do_not_mention_equal_objects() -> None:
    """ "A large arch and a large arch": captions would say "two large arches", so the words alone would tell."""
    scene = described(scene_of(("arch", {"size": "large"}), ("arch", {"size": "small"})), "train")
    form = name_objects(scene, (0, 1), ("size",))
    negatives = Negatives(captioner(), ("replace",), False)
    for seed in range(100):
        for foil in negatives.of(form, scene, Stream(seed)):
            assert foil.form.objects[0] != foil.form.objects[1]


def test_what_is_denied_as_a_whole_has_no_other_negative() -> None:
    scene = described(scene_of(("cube", {}), ("cone", {})), "train")
    form = Form((Mention("sphere"),), negated=True)
    assert list(Negatives(captioner(), NEGATIVES, False).of(form, scene, Stream(0))) == []


def test_a_replacement_leaves_no_trace_in_how_often_names_occur() -> None:
    """A tested value and a category stay on their side of the block, and a category that several objects have stays."""
    negatives = Negatives(captioner(), ("replace",), False)
    found: Counter[str] = Counter()
    for number, scene in scenes(200, 3, 3, 5):
        shown = described(scene, "train")
        form = merge_equal_mentions(name_objects(shown, range(len(shown.facts)), (HOLDOUT.kind,)))
        for foil in negatives.of(form, shown, Stream(number)):
            _, kind, change = foil.changed[0].split(":")
            old, new = change.split(">")
            sides = HOLDOUT.values if kind == HOLDOUT.kind else HOLDOUT.objects
            assert (old in sides) == (new in sides)
            assert kind == HOLDOUT.kind or shown.facts.categories.count(old) == 1
            found[kind] += 1
    assert min(found[HOLDOUT.kind], found[HOLDOUT.category]) > 20
