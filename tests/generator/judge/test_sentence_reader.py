"""Templates of sentences are told apart by how they continue."""

import pytest

from generator.judge.lexicon import UnreadableError
from generator.judge.meaning import Meaning
from generator.judge.sentence_reader import SentenceReader
from tests.generator.judge.vocabularies import LEXICON


def read(text: str) -> Meaning:
    return SentenceReader(text, next(LEXICON.divide(text)), LEXICON).sentences()


def test_templates_that_say_the_same_mean_the_same() -> None:
    same = [
        "There is a cube that is to the left of a cone.",
        "A cube is to the left of a cone.",
        "There is a cube and a cone. The cube is to the left of the cone.",
    ]
    assert len({read(text) for text in same}) == 1
    assert read(same[0]).links == ((0, "left", 1, True),)


def test_denial_of_the_whole_and_environments() -> None:
    assert read("It is not true that there is a cube.").denied
    assert read("In a bright studio with a plain floor, there is a cube.").environment == "studio"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There are a cube.", "'is'"),
        ("There is a red cube and a cone. The cube is blue.", "a list without attributes"),
        ("A cube is to the left of a cone. The cube is behind the cone.", "joined by 'and'"),
        ("there is a cube.", "begins with 'There'"),
    ],
)
def test_what_breaks_a_template_is_refused(text: str, expected: str) -> None:
    with pytest.raises(UnreadableError, match=expected):
        read(text)
