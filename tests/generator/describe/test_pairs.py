from dataclasses import replace

import pytest

from generator.base.streams import Stream
from generator.describe.protocols.pairs import Pairs
from generator.scene.scene import Scene
from generator.scene.turning import turned
from tests.generator.describe.samples import by_slot
from tests.generator.scenes import captioner, described, scene_of

FIRST = scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"}))
RECOLOURED = scene_of(("cube", {"color": "blue"}), ("cone", {"color": "red"}))
MOVED = replace(
    FIRST,
    objects=tuple(
        replace(
            FIRST.objects[1 - i],
            position=FIRST.objects[i].position,
            attributes=FIRST.objects[1 - i].attributes,
        )
        for i in (0, 1)
    ),
)
# The same scene from behind and from the side.
VOCABULARY = captioner().vocabulary
TURNED = turned(FIRST, 180, VOCABULARY)


def ask(protocol: Pairs, twin: Scene, split: str = "seen") -> list:
    described_scene = described(twin, "seen", "1")
    described_scene.twin = described(FIRST, split, "0")
    return list(protocol.items(described_scene, Stream(0)))


@pytest.mark.parametrize(
    ("twin", "kind"), [(RECOLOURED, "attribute"), (MOVED, "relation"), (TURNED, "turn")]
)
def test_each_caption_is_true_of_its_own_image_and_false_of_the_other(
    twin: Scene, kind: str
) -> None:
    (item,) = ask(Pairs(captioner(equal_familiarity=False)), twin)
    assert item.kind == kind
    assert item.skill == ("attribute" if kind == "attribute" else "relation")
    for slot in ("0", "1"):
        true, false = by_slot(item, slot)
        assert (true.truth, false.truth) == (True, False)
        assert true.text == false.text
        assert true.of_twin is not false.of_twin
    first, second = (by_slot(item, slot)[0].text for slot in ("0", "1"))
    grammar = captioner().grammar
    words = [
        sorted(grammar.realise(text.form, text.template).lower().strip(".").split())
        for text in (first, second)
    ]
    assert words[0] == words[1]


def test_a_turn_that_exchanges_no_direction_is_dropped() -> None:
    # After a quarter turn, what was left is in front or behind: some pairs exchange nothing.
    language = captioner(equal_familiarity=False)
    n_items = 0
    for degrees in (1, 90, 180):
        n_items += len(ask(Pairs(language), turned(FIRST, degrees, VOCABULARY)))
    assert language.dropped["pairs twins"] == 3 - n_items
    assert language.dropped["pairs twins"] >= 1


def test_scenes_without_a_twin_are_not_asked_about() -> None:
    language = captioner()
    assert not list(Pairs(language).items(described(FIRST), Stream(0)))
    assert not language.dropped


def test_twins_in_another_split_are_dropped() -> None:
    language = captioner()
    assert not ask(Pairs(language), RECOLOURED, "unseen")
    assert language.dropped == {"pairs twins": 1}


def test_captions_that_the_template_cannot_say_use_the_fallback_template() -> None:
    assert not ask(Pairs(captioner(template="a-and-a")), MOVED)
    (item,) = ask(Pairs(captioner(template="a-and-a"), fallback_template="that-is"), MOVED)
    assert {c.text.template for c in item.candidates} == {"that-is"}
