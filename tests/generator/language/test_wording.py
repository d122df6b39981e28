import pytest

from generator.base.streams import Stream
from generator.language.complexity import LeastUsed
from generator.language.grammar import Grammar
from generator.language.wording import Dialect, rephrase, synonyms, use_converse, words_of
from tests.generator.scenes import VOCABULARY, form_of

FORM = form_of("a red cube that is to the left of a blue sphere")


def test_words_of_a_form_and_their_synonyms() -> None:
    assert [(kind, name) for _, kind, name in words_of(FORM, VOCABULARY)] == [
        ("shape", "cube"),
        ("color", "red"),
        ("shape", "sphere"),
        ("color", "blue"),
        ("relation", "left"),
    ]
    assert synonyms("color", "red", VOCABULARY) == ("crimson",)
    assert synonyms("shape", "sphere", VOCABULARY) == ("ball",)
    assert synonyms("relation", "left", VOCABULARY) == ("left of", "on the left side of")


@pytest.mark.parametrize("seed", range(20))
def test_a_name_has_one_word_in_every_text_of_a_dialect(seed: int) -> None:
    dialect = Dialect(VOCABULARY, LeastUsed(), Stream(seed))
    swapped = form_of("a blue cube that is to the left of a red sphere")
    one, other = (
        {
            name: dict(dialect.wording(form)).get(place)
            for place, _, name in words_of(form, VOCABULARY)
        }
        for form in (FORM, swapped)
    )
    assert one == other


def test_all_synonyms_are_used() -> None:
    used = LeastUsed()
    words = {
        word for n in range(40) for _, word in Dialect(VOCABULARY, used, Stream(n)).wording(FORM)
    }
    assert words == {"block", "ball", "crimson", "sapphire", "left of", "on the left side of"}


@pytest.mark.parametrize("seed", range(20))
def test_rephrasing_changes_one_word(seed: int) -> None:
    grammar, stream = Grammar(VOCABULARY), Stream(seed)
    wording = Dialect(VOCABULARY, LeastUsed(), stream).wording(FORM)
    other = rephrase(FORM, wording, vocabulary=VOCABULARY, used=LeastUsed(), stream=stream)
    assert other is not None
    assert len({*wording} ^ {*other}) in (
        1,
        2,
    )  # a synonym for the usual word or back, or one for another
    assert len({place for place, _ in {*wording} ^ {*other}}) == 1
    assert grammar.realise(FORM, "clauses", other) != grammar.realise(FORM, "clauses", wording)


def test_a_declared_plural_has_no_synonym() -> None:
    assert [
        name for _, _, name in words_of(form_of("two crosses and two spheres"), VOCABULARY)
    ] == ["sphere"]


def test_a_relation_is_replaced_by_its_converse() -> None:
    other = form_of("a blue sphere that is to the right of a red cube")
    assert use_converse(FORM, 0, VOCABULARY) == other
    assert use_converse(other, 0, VOCABULARY) == FORM


def test_words_without_synonyms_stay() -> None:
    assert (
        rephrase(form_of("a cone"), (), vocabulary=VOCABULARY, used=LeastUsed(), stream=Stream(0))
        is None
    )
