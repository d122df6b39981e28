"""What is left out of a corpus, and why."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.corpora import (
    CAPTIONS,
    EMPTY,
    LEFT_OUT,
    LONGEST,
    NO_CAPTION,
    NO_JSON,
    NO_TEXT,
    NOT_UTF8,
    PHRASES,
    TOO_LONG,
    of_json,
    of_row,
    of_text,
)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", NO_JSON),
        (b'{"caption": ' + b"[" * 100_000, NO_JSON),
        (b'{"caption": ' + b"9" * 5000 + b"}", NO_JSON),
        (b"[1]", NO_CAPTION),
        (b"3", NO_CAPTION),
        (b'{"url": "x"}', NO_CAPTION),
        (b'{"captions": []}', NO_CAPTION),
        (b'{"caption": null}', NO_TEXT),
        (b'{"caption": 3}', NO_TEXT),
        (b'{"phrases": [["a"]]}', NO_TEXT),
        (b'{"caption": "\xff"}', NOT_UTF8),
        (b'{"phrases": " "}', EMPTY),
        (b'{"text": "' + b"a" * (LONGEST + 1) + b'"}', TOO_LONG),
    ],
)
def test_a_row_of_the_wrong_form_has_a_reason(line: bytes, reason: str) -> None:
    assert list(of_json(line)) == [(LEFT_OUT, reason)]


def test_phrases_come_before_captions_and_each_is_judged_alone() -> None:
    assert list(of_row({"caption": "a cat", "phrases": ["old cat", None, ""]})) == [
        (PHRASES, "old cat"),
        (LEFT_OUT, NO_TEXT),
        (LEFT_OUT, EMPTY),
    ]


def test_a_text_has_no_byte_order_mark() -> None:
    assert list(of_text(b"\xef\xbb\xbf a cat\r\n")) == [(CAPTIONS, "a cat")]
    assert list(of_text(b"caf\xe9")) == [(LEFT_OUT, NOT_UTF8)]


@given(st.binary())
def test_any_bytes_are_an_entry_or_have_a_reason(data: bytes) -> None:
    assert len(list(of_text(data))) == 1
    assert len(list(of_json(json.dumps({"caption": data.hex() or "x"}).encode()))) == 1
    assert list(of_json(data))
