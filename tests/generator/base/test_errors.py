"""The error for mistakes of the user, and the hint that closes its message (exit codes:
test_commands.py)."""

import pickle
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError, visible


def test_an_error_is_its_message_also_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(UserError("Expected 3x3, got 3by3.")))
    assert isinstance(error, UserError)
    assert error.message == str(error) == "Expected 3x3, got 3by3."


_BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_every_control_character_and_bidirectional_control_is_shown() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        hidden = (
            (unicodedata.category(char) == "Cc" and char not in "\t\n")
            or unicodedata.category(char) in ("Zl", "Zp", "Cs")
            or unicodedata.bidirectional(char) in _BIDI
            or char in "\u200e\u200f\u061c"
        )
        assert (visible(char) != char) == hidden, hex(code)


@given(st.text(st.characters(codec=None, exclude_characters="\\")))
def test_nothing_is_lost_and_shown_twice_is_shown_once(text: str) -> None:
    escaped = visible(text)
    escaped.encode()  # no lone surrogates
    assert visible(escaped) == escaped
    if text.isascii():
        assert escaped.encode().decode("unicode_escape") == text
