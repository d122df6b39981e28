"""Whether a text says a caption otherwise is read from the words, for every kind of positive."""

from dataclasses import replace

import pytest

from generator.judge.held_out import HeldOut
from generator.judge.lexicon import Lexicon
from generator.judge.positives import _fault
from generator.judge.text_reader import read_text
from tests.generator.judge.datasets import BLOCK, VOCABULARY

WORDS = VOCABULARY.replace("cube = {}", 'cube = { synonyms = ["block"] }') + (
    'right = { phrase = "to the right of", rule = "right", margin = 0.2 }\n'
)
LEXICON = Lexicon.of(WORDS)
HELD = replace(HeldOut.of(BLOCK, WORDS), converses={"left": "right", "right": "left"})


def _said(kind: str, caption: str, positive: str) -> str | None:
    return _fault(kind, read_text(caption, LEXICON), read_text(positive, LEXICON), caption == positive, HELD)


@pytest.mark.parametrize(
    ("kind", "caption", "positive"),
    [
        ("swap", "a red cube and a blue cone", "a blue cone and a red cube"),
        ("swap", "There is a cube, a cone and a sphere.", "There is a sphere, a cone and a cube."),
        ("replace", "a red cube", "a red block"),
        ("converse", "A cube is to the left of a cone.", "A cone is to the right of a cube."),
        ("converse", "A cube is not to the left of a cone.", "A cone is not to the right of a cube."),
    ],
)
def test_a_positive_of_each_kind(kind: str, caption: str, positive: str) -> None:
    assert _said(kind, caption, positive) is None


@pytest.mark.parametrize(
    ("kind", "caption", "positive"),
    [
        ("swap", "a red cube and a blue cone", "a red cone and a blue cube"),
        ("swap", "a red cube and a blue cone", "a red cube and a blue cone"),
        ("swap", "a red cube and a blue cone", "a red block and a blue cone"),
        ("swap", "a red cube and a cone", "a cone"),
        ("replace", "a red cube", "a red cube"),
        ("replace", "a red cube", "a blue block"),
        ("replace", "a red cube", "There is a red cone."),
        ("converse", "A cube is to the left of a cone.", "A cone is to the left of a cube."),
        ("converse", "A cube is to the left of a cone.", "A block is to the left of a cone."),
        ("converse", "A cube is to the left of a cone.", "A cone is not to the right of a cube."),
        ("converse", "a red cube and a blue cone", "a blue cone and a red cube"),
        ("other", "a red cube", "a red block"),
        (None, "a red cube", "a red block"),
    ],
)
def test_other_texts_are_none(kind: str, caption: str, positive: str) -> None:
    assert f"'{kind}'" in str(_said(kind, caption, positive))
