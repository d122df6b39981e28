"""Characters that make two labels look equal and differ: invisible ones, look-alikes, and several ways to write one
letter."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator

from generator.judge.findings import Finding, finding

_KEPT = "\t\n\r"
_INVISIBLE = {"Cf", "Co", "Cs", "Cn", "Cc"}  # format, private, surrogate, unassigned and control characters
# Ranges of letters, marks and signs that are drawn as nothing (Unicode's Default_Ignorable_Code_Point, and blanks).
_DRAWN_AS_NOTHING = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
# Latin letters that no orthography of labels needs and that look like others: phonetic ones, dotless i and j.
_PHONETIC = (
    (0x0131, 0x0131),
    (0x0237, 0x0237),
    (0x0250, 0x02AF),
    (0x1D00, 0x1DBF),
    (0x2C60, 0x2C7F),
    (0xA720, 0xA7FF),
    (0xAB30, 0xAB6F),
)
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"})
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\u00b4`"), "'")


def normal(text: str) -> str:
    """The text in one way of writing (NFKC), without invisible characters, with plain hyphens and apostrophes.

    >>> normal("re\\u200bd\\u00a0cube"), normal("cafe\\u0301") == normal("caf\\u00e9")
    ('red cube', True)
    """
    if text.isascii() and text.isprintable():
        return text
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    shown = "".join("-" if unicodedata.category(c) == "Pd" else c for c in plain if not _invisible(c))
    return unicodedata.normalize("NFKC", shown)


def character_findings(texts: Collection[str]) -> Iterator[Finding]:
    """Labels and splits with invisible characters, with look-alikes of Latin letters, or in another script than most.

    Labels are compared as `normal` writes them. What that cannot make equal is found here.
    """
    for text in texts:
        if not text.isascii() and (hidden := [c for c in text if _invisible(c)]):
            yield finding("invisible character", f"{_quoted(text)} has {_name(hidden[0])}")
    yield from _mixed_scripts([normal(text) for text in texts])


def _mixed_scripts(texts: Collection[str]) -> Iterator[Finding]:
    letters = Counter(_script(c) for text in texts for c in text if c.isalpha())
    usual = letters.most_common(1)[0][0] if letters else ""
    for text in texts if len(letters) > 1 else ():
        strange = next((c for c in text if c.isalpha() and _script(c) != usual), None)
        if strange is not None:
            yield finding(
                "mixed scripts", f"{_quoted(text)} has {_name(strange)}; most letters of the labels are {usual}"
            )


def _script(letter: str) -> str:
    """The script of a letter, by the first word of its name; look-alikes of Latin letters are a script of their own."""
    if letter.isascii():
        return "LATIN"
    if _within(letter, _PHONETIC):
        return "PHONETIC"
    word = unicodedata.name(letter, "UNNAMED").split(" ")[0]
    return "EAST ASIAN" if word in _EAST_ASIAN else word


def _invisible(character: str) -> bool:
    if character.isascii():
        return not character.isprintable() and character not in _KEPT
    return unicodedata.category(character) in _INVISIBLE or _within(character, _DRAWN_AS_NOTHING)


def _within(character: str, ranges: Collection[tuple[int, int]]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


def _name(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}"


def _quoted(text: str) -> str:
    return '"' + text[:60].encode("ascii", "backslashreplace").decode() + '"'
