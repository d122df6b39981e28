"""What was changed to make a foil is read from the words, for every kind of foil."""

from dataclasses import replace

import pytest

from generator.judge.foils import Change, _changes, _exchanged_ends, _of_kind
from generator.judge.held_out import HeldOut
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from tests.generator.judge.datasets import BLOCK, VOCABULARY

LEXICON = Lexicon.of(VOCABULARY)
HELD = replace(HeldOut.of(BLOCK, VOCABULARY), opposites={"left": "right"})


@pytest.mark.parametrize(
    ("kind", "base", "foil", "changed"),
    [
        ("swap", "a red cube and a blue cone", "a blue cube and a red cone",
         [("0", "color", "red", "blue"), ("1", "color", "blue", "red")]),
        ("swap", "a red cube and a cone", "a cube and a red cone", [("0", "color", "red", ""), ("1", "color", "", "red")]),
        ("atom", "a red cube", "a red sphere", [("0", "shape", "cube", "sphere")]),
        ("attribute", "a red cube", "a green cube", [("0", "color", "red", "green")]),
        ("comp", "a red cube", "a blue cube and a red cone", [("0", "color", "red", "blue"), ("0", "shape", "cube", "cone")]),
        ("comp", "A cube is to the left of a cone.", "A cube is to the left of a sphere. A sphere is to the left of a cone.",
         [("1", "shape", "cone", "sphere"), ("0", "shape", "cube", "sphere")]),
        ("neg", "a red cube", "It is not true that there is a red cube.", [("caption", "", "denied", "")]),
        ("neg", "There is a red cube.", "There is a cube that is not red.", [("0", "color", "red", "not red")]),
        ("neg", "There is a cube that is not red.", "There is a red cube.", [("0", "color", "not red", "red")]),
        ("neg", "A cube is to the left of a cone.", "A cube is not to the left of a cone.", [("0", "relation", "left", "not left")]),
    ],
)  # fmt: skip
def test_changes_are_read_from_the_words(kind: str, base: str, foil: str, changed: list[Change]) -> None:
    one, other = (read_text(text, LEXICON) for text in (base, foil))
    found = _changes(one, other, kind, HELD)
    assert found == changed
    assert _of_kind(changed, kind, None, "systematicity", HELD, other)


@pytest.mark.parametrize(
    ("kind", "base", "foil"),
    [
        ("swap", "a red cube and a blue cone", "a blue cube and a green cone"),
        ("atom", "a red cube", "a blue sphere"),
        ("object", "a red cube", "a blue cube"),
        ("swap", "a red cube", "a red cube and a blue cone"),
        ("comp", "a red cube", "a blue cube and a green cone"),
        (
            "comp",
            "A cube is to the left of a cone.",
            "A sphere is to the left of a cone. A sphere is to the left of a cone.",
        ),
        (
            "comp",
            "A cube is to the left of a cone.",
            "A sphere is to the left of a cone. A red cube is to the left of a cone.",
        ),
        ("neg", "a red cube", "a blue cube"),
    ],
)
def test_other_changes_are_not_of_the_kind(kind: str, base: str, foil: str) -> None:
    one, other = (read_text(text, LEXICON) for text in (base, foil))
    found = _changes(one, other, kind, HELD)
    assert found is None or not _of_kind(found, kind, None, "systematicity", HELD, other)


def test_exchanged_ends_keep_the_relation() -> None:
    one, other, third = (
        read_text(text, LEXICON)
        for text in (
            "A cube is to the left of a cone.",
            "A cone is to the left of a cube.",
            "A cone is to the left of a sphere.",
        )
    )
    assert _exchanged_ends(one, other) == [("0-1", "", "order", "")]
    assert _exchanged_ends(one, third) is None
