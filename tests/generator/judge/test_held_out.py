"""What scenes show and texts name of a holdout."""

import json

import pytest

from generator.judge.held_out import HeldOut, Named
from generator.judge.text_reader import read_text
from tests.generator.judge.hand_made_scenes import scene
from tests.generator.judge.vocabularies import CLEVR, LEXICON

HOLDOUT = {
    "kind": "color", "category": "shape", "design": "bindsplit", "bindings": [["red", "cube"], ["blue", "cone"]],
    "triples": [["cube", "left", "cone"]], "absent_values": ["gray"],
}  # fmt: skip
HELD_OUT = HeldOut.of(HOLDOUT, CLEVR)


def test_triples_are_held_out_with_their_converses_and_opposites() -> None:
    assert HELD_OUT.triples == {
        ("cube", "left", "cone"), ("cone", "right", "cube"), ("cube", "right", "cone"), ("cone", "left", "cube"),
    }  # fmt: skip
    alone = HeldOut.of({**HOLDOUT, "opposites": False}, CLEVR)
    assert alone.triples == {("cube", "left", "cone"), ("cone", "right", "cube")}
    assert [finding["fault"] for finding in alone.findings()] == ["open holdout"]
    assert "cone right cube" in next(alone.findings())["what"]


def test_a_scene_shows_bindings_triples_and_absent_atoms() -> None:
    shown = scene("red cube -1 0", "blue cone 1 0", "gray sphere 3 0")
    assert HELD_OUT.bindings_shown(shown) == [("red", "cube"), ("blue", "cone")]
    assert HELD_OUT.triples_shown(shown) == [("cone", "right", "cube"), ("cube", "left", "cone")]
    assert HELD_OUT.absent_shown(shown) == ["gray"]


def test_the_group_of_a_scene_ignores_order_and_pairing() -> None:
    one, other = scene("red cube -1 0", "blue sphere 1 1"), scene("red sphere -1 0", "blue cube 1 1")
    assert HELD_OUT.cluster(one) == HELD_OUT.cluster(other) == "blue+red|cube+sphere"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a red cube and a blue sphere", Named(1)),
        ("There is no red cube.", Named(1)),
        ("There is a cube that is not red.", Named(1)),
        ("There is a red object that is not a cube.", Named(1)),
        ("A red cube is to the left of a blue cone.", Named(2, 1)),
        ("a gray sphere", Named(absent=True)),
        ("a green sphere", Named()),
    ],
)
def test_a_text_names_what_it_asserts_or_denies(text: str, named: Named) -> None:
    assert HELD_OUT.named(read_text(text, LEXICON)) == named


def test_class_lists_are_read_by_list() -> None:
    classes = [
        {"split": "train", "bindings": [["red", "cube"]]},
        {"split": "ood_test", "triple": ["cube", "left", "cone"]},
    ]
    read = HeldOut.of(json.loads(json.dumps({**HOLDOUT, "classes": classes})), CLEVR)
    assert read.labels == {"train": [("red", "cube")], "ood_test": [("cube", "left", "cone")]}
