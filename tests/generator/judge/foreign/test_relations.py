"""Words of relations are normalised; converses are mutual."""

import pytest

from generator.judge.foreign.relations import CONVERSE, FIRST, PHRASE, relation_name


@pytest.mark.parametrize(
    ("words", "name"),
    [("To the Left of", "left"), ("on_top_of", "on"), ("next to", "beside"), ("orbiting", "orbiting")],
)
def test_words_have_a_name(words: str, name: str) -> None:
    assert relation_name(words) == name


def test_the_converse_of_the_converse_is_the_relation() -> None:
    assert all(CONVERSE[converse] == name for name, converse in CONVERSE.items())
    assert all(CONVERSE[name] != name and CONVERSE[name] not in FIRST for name in FIRST)


def test_the_longest_phrase_is_found() -> None:
    assert PHRASE.findall("a cube on top of a cone to the left of a box") == ["on top of", "to the left of"]
