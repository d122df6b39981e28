"""Bindings of phrases and captions."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.reading import normalised, of_caption, of_phrase, of_strict

WORDS = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_each_word_before_the_last_is_an_attribute_of_it(words: list[str]) -> None:
    found = of_phrase("  ".join(words).upper())
    assert [attribute for attribute, _ in found] == words[:-1]
    assert len({noun for _, noun in found}) <= 1


@given(WORDS, WORDS, WORDS, WORDS)
def test_the_strict_form_has_two_bindings_and_nothing_else_has(a: str, b: str, c: str, d: str) -> None:
    caption = f"the {a} {b} and the {c} {d}"
    assert [attribute for attribute, _ in of_strict(caption)] == [a, c]
    for other in (f"{caption} x", f"the {a} x {b} and the {c} {d}", f"{a} {b} and {c} {d}", f"the {a} {b}", ""):
        assert of_strict(other) == []


def test_objects_are_singular_and_attributes_stay() -> None:
    assert of_phrase("Smiling Children") == [("smiling", "child")]
    assert of_phrase("striped pants") == [("striped", "pants")]
    assert of_strict("The crouched man and the open doors") == [("crouched", "man"), ("open", "door")]
    assert normalised("CAFÉ  Table") == "cafe table"


def test_a_caption_has_each_binding_once() -> None:
    found = of_caption("anything", lambda caption: ["red car", "old red cars", "car"])
    assert found == [("red", "car"), ("old", "car")]
