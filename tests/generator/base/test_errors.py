"""The error for mistakes of the user, and the hint that closes its message (exit codes:
test_commands.py)."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError, visible


def test_an_error_is_its_message_also_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(UserError("Expected 3x3, got 3by3.")))
    assert isinstance(error, UserError)
    assert error.message == str(error) == "Expected 3x3, got 3by3."


HIDDEN = {
    "C0 control": "\x00\x07\x08\x0b\r\x1b\x1f",
    "delete and C1 control": "\x7f\x80\x85\x9b\x9f",
    "bidirectional mark": "\u061c\u200e\u200f",
    "bidirectional embedding and override": "\u202a\u202b\u202c\u202d\u202e",
    "bidirectional isolate": "\u2066\u2067\u2068\u2069",
    "line and paragraph separator": "\u2028\u2029",
    "lone surrogate": "\ud800\udbff\udc00\udfff",
}
"""Characters that steer a terminal, reorder a text, or cannot be encoded, by their class in Unicode."""
PLAIN = {
    "tab and newline": "\t\n",
    "printable ASCII": " !09AZaz~",
    "letter beyond ASCII": "äßяあ",
    "neighbour of a hidden character": "\xa0\u061b\u061d\u200d\u2010\u2027\u202f\u2065\u206a\ud7ff\ue000",
    "beyond 16 bits": "\U00010000😀\U0010ffff",
}


@pytest.mark.parametrize("characters", HIDDEN.values(), ids=HIDDEN)
def test_characters_that_act_in_a_terminal_are_escaped(characters: str) -> None:
    for char in characters:
        assert visible(char).encode().decode("unicode_escape", "surrogatepass") == char
        assert visible(char).startswith("\\")


@pytest.mark.parametrize("characters", PLAIN.values(), ids=PLAIN)
def test_other_characters_stay(characters: str) -> None:
    assert visible(characters) == characters


@given(st.text(st.characters(codec=None, exclude_characters="\\")))
def test_escaping_loses_nothing_and_twice_is_as_once(text: str) -> None:
    escaped = visible(text)
    escaped.encode()  # no lone surrogates
    assert visible(escaped) == escaped
    if text.isascii():
        assert escaped.encode().decode("unicode_escape") == text
