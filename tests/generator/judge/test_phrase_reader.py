"""Noun phrases and definite phrases."""

import pytest

from generator.judge.lexicon import UnreadableError
from generator.judge.meaning import Thing
from generator.judge.phrase_reader import Reader, definite_keys
from tests.generator.judge.vocabularies import LEXICON


def reader(text: str) -> Reader:
    return Reader(text, next(LEXICON.divide(text)), LEXICON)


def test_a_noun_phrase_is_a_mention() -> None:
    read = reader("two red cubes")
    assert read.mention() == 0
    assert read.things == [Thing("cube", (("color", "red"),), number=2)]
    with pytest.raises(UnreadableError, match="expected 'an arch'"):
        reader("a arch").mention()


def test_the_shortest_definite_phrase_of_each_mention() -> None:
    red, blue = (("color", "red"),), (("color", "blue"),)
    keys = definite_keys([Thing("cube", red), Thing("cube", blue), Thing("cone"), Thing("cube", blue)], LEXICON.rank)
    assert keys == {("cube", ("color", "red")): 0, ("cube", 2): 1, ("cone", None): 2, ("cube", 3): 3}


def test_a_definite_phrase_takes_up_an_earlier_mention() -> None:
    read = reader("a red cube, a blue cube")
    read.mention()
    read.take(",")
    read.mention()
    assert read.place((("cube", ("color", "blue")), 2)) == 1
    with pytest.raises(UnreadableError, match="in the shortest way"):
        read.place((("cube", None), 2))
