"""What an entry of a reference corpus gives: captions, phrases, or the reason why it is left out."""

import json
from collections.abc import Iterator

CAPTIONS, PHRASES, LEFT_OUT = "captions", "phrases", "left out"
Entry = tuple[str, str]
"""CAPTIONS or PHRASES and a text, or LEFT_OUT and the reason."""
CAPTION_NAMES = ("caption", "captions", "text", "txt", "TEXT")
PHRASE_NAMES = ("phrases", "components")

NO_JSON = "no JSON"
NO_CAPTION = "without a caption or phrases"
NO_TEXT = "a caption or phrase that is no text"
NOT_UTF8 = "not UTF-8"
TOO_LONG = "too long"
EMPTY = "empty"
LONGEST = 1 << 20
"""Bytes of a member of a tar, and characters of a text."""


def of_row(row: object) -> Iterator[Entry]:
    """The phrases of a row, or else its caption or captions."""
    named = row if isinstance(row, dict) else {}
    for kind, names in ((PHRASES, PHRASE_NAMES), (CAPTIONS, CAPTION_NAMES)):
        for name in names:
            if name in named:
                given = named[name] if isinstance(named[name], list) else [named[name]]
                yield from (_of_value(kind, value) for value in given) if given else [(LEFT_OUT, NO_CAPTION)]
                return
    yield LEFT_OUT, NO_CAPTION


def of_json(data: bytes) -> Iterator[Entry]:
    """What a row gives that is written as JSON."""
    try:
        row = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        yield LEFT_OUT, NOT_UTF8
    except (ValueError, RecursionError):
        yield LEFT_OUT, NO_JSON
    else:
        yield from of_row(row)


def of_text(data: bytes) -> Iterator[Entry]:
    """The caption that is written as plain text."""
    try:
        yield _of_value(CAPTIONS, data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        yield LEFT_OUT, NOT_UTF8


def _of_value(kind: str, value: object) -> Entry:
    if not isinstance(value, str):
        return LEFT_OUT, NO_TEXT
    text = value.strip()
    if not text:
        return LEFT_OUT, EMPTY
    return (LEFT_OUT, TOO_LONG) if len(text) > LONGEST else (kind, text)
