"""Nouns that count as the same, by the singular or as they stand."""

import pytest

from evaluator.audits.familiarity.reading import DEFAULT, EXACT, Reading
from generator.base.errors import UserError


def test_lemmas_match_singular_and_plural_and_exact_does_not() -> None:
    exact = Reading(match=EXACT)
    assert DEFAULT.of_phrase("red cars") == [("red", "car")]
    assert exact.of_phrase("Red  Cars") == [("red", "cars")]
    assert (DEFAULT.noun("cars"), exact.noun("cars")) == ("car", "cars")
    caption = "the open doors and the crouched men"
    assert DEFAULT.of_strict(caption) == [("open", "door"), ("crouched", "man")]
    assert exact.of_strict(caption) == [("open", "doors"), ("crouched", "men")]


def test_free_captions_are_read_by_phrases_in_both() -> None:
    caption = "two small dogs near a red couch"
    assert DEFAULT.of_caption(caption) == [("small", "dog"), ("red", "couch")]
    assert Reading(match=EXACT).of_caption(caption) == [("small", "dogs"), ("red", "couch")]


def test_counts_of_other_readings_have_other_keys() -> None:
    assert DEFAULT.key != Reading(match=EXACT).key


@pytest.mark.parametrize("name", ["spacy", "spacy:", "nltk"])
def test_an_unknown_extractor_is_said(name: str) -> None:
    with pytest.raises(UserError, match=rf"Expected the extractor rules or spacy:MODEL, got '{name}'"):
        Reading(name).of_caption("a red car")
