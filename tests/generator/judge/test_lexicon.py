"""Words of several words, synonyms and words with two meanings."""

import pytest

from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.meaning import Meaning, Thing
from generator.judge.text_reader import read_text
from tests.generator.judge.vocabularies import FARM, FARM_LEXICON


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("a black and white guinea pig and an emu", [("guinea pig", {"coat": "black and white"}), ("emu", {})]),
        ("a pale grey piebald cavy", [("guinea pig", {"coat": "black and white", "shade": "pale grey"})]),
        ("black and white pig and pig", [("pig", {"coat": "black and white"}), ("pig", {})]),
        ("dark and black and white pig and an emu", [("pig", {"coat": "black and white", "shade": "dark"}), ("emu", {})]),
        ("a unicorn and an orange thing", [("unicorn", {}), (None, {"coat": "orange"})]),
        ("two guinea pigs and three cavies", [("guinea pig", {}), ("guinea pig", {})]),
    ],
)  # fmt: skip
def test_words_of_several_words(text: str, things: list[tuple[str | None, dict[str, str]]]) -> None:
    said = read_text(text, FARM_LEXICON)
    assert [(each.category, dict(each.attributes)) for each in said.things] == things


def test_a_synonym_of_an_object_with_an_article_of_its_own_may_have_either() -> None:
    assert read_text("an ibex", FARM_LEXICON) == read_text("a ibex", FARM_LEXICON)
    with pytest.raises(UnreadableError, match="expected 'a unicorn'"):
        read_text("an unicorn", FARM_LEXICON)


def test_the_longest_phrase_that_gives_a_reading_is_read() -> None:
    longer = read_text("an emu in a desert under a cloudy sky", FARM_LEXICON)
    assert longer == Meaning((Thing("emu"),), environment="sky")
    assert read_text("an emu that is in a pig", FARM_LEXICON).links == ((0, "near", 1, True),)


def test_a_word_with_two_meanings_is_not_read() -> None:
    twice = Lexicon.of(FARM.replace('["piebald"]', '["brown"]'))
    with pytest.raises(UnreadableError):
        read_text("a brown pig", twice)
