"""Control characters of texts are shown as escapes, and nothing else is changed."""

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import visible

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
    shown = visible(text)
    shown.encode()  # no lone surrogates
    assert visible(shown) == shown
    if text.isascii():
        assert shown.encode().decode("unicode_escape") == text
