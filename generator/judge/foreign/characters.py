"""Makes texts of others comparable, and finds characters that make different texts look equal."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator

from generator.judge.certificate import Finding, finding

_WHITE_SPACE = "\t\n\r"
_INVISIBLE_CATEGORIES = {"Cf", "Co", "Cs", "Cn", "Cc"}
"""Unicode's format, private, surrogate, unassigned and control characters."""
_DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible letters, marks and signs (Unicode's Default_Ignorable_Code_Point, and blanks)."""
_PHONETIC = re.compile(
    "[\u0131\u0237\u0250-\u02af\u1d00-\u1dbf\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f]"
)
"""Latin letters that look like others and that labels do not need: phonetic letters, dotless i and
j."""
_EAST_ASIAN = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"}
)
"""Scripts that are written together."""
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\u00b4`"), "'")
_LONGEST_QUOTE = 60  # characters of a text in a finding


def comparable(text: str) -> str:
    """The text in lower case, normalised (NFKC), with single spaces, plain hyphens and apostrophes,
    and without invisible characters.

    >>> comparable("Re\\u200bd\\u00a0 Cube"), comparable("cafe\\u0301") == comparable("caf\\u00e9")
    ('red cube', True)
    """
    if not text.isascii() or not text.isprintable():
        # Twice: NFKC may give capitals and quotes, and lower case may give letters that it changes.
        folded = _fold(_fold(text))
        visible = [character for character in folded if not _is_invisible(character)]
        hyphened = ["-" if unicodedata.category(c) == "Pd" else c for c in visible]
        text = _fold("".join(hyphened))
    return " ".join(text.casefold().split())


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text.casefold().translate(_QUOTES))


def character_findings(texts: Collection[str]) -> Iterator[Finding]:
    """Texts with invisible characters, with look-alikes of Latin letters, or in another script than
    most.

    Labels are compared after `comparable`, which cannot make look-alikes equal.
    """
    for text in texts:
        invisible = [c for c in text if _is_invisible(c)]
        if invisible:
            yield finding("invisible character", f"{_quoted(text)} has {_name(invisible[0])}")
    yield from _mixed_scripts([comparable(text) for text in texts])


def _mixed_scripts(texts: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for every text with a letter of another script than most letters."""
    n_letters: Counter[str] = Counter()
    for text in texts:
        n_letters.update(_script(letter) for letter in text if letter.isalpha())
    if len(n_letters) < 2:
        return
    # Labels may be in any language, so the letters themselves tell the script.
    usual = n_letters.most_common(1)[0][0]
    for text in texts:
        foreign = [letter for letter in text if letter.isalpha() and _script(letter) != usual]
        if foreign:
            yield finding(
                "mixed scripts",
                f"{_quoted(text)} has {_name(foreign[0])}; most letters of the labels are {usual}",
            )


def _script(letter: str) -> str:
    """The script of a letter, by the first word of its name; look-alikes of Latin letters are a
    separate script."""
    if letter.isascii():
        return "LATIN"
    if _PHONETIC.match(letter):
        return "PHONETIC"
    # Python has no table of scripts; names such as CYRILLIC SMALL LETTER A begin with them.
    word = unicodedata.name(letter, "UNNAMED").split(" ")[0]
    return "EAST ASIAN" if word in _EAST_ASIAN else word


def _is_invisible(character: str) -> bool:
    if character.isascii():
        return not character.isprintable() and character not in _WHITE_SPACE
    if unicodedata.category(character) in _INVISIBLE_CATEGORIES:
        return True
    return bool(_DRAWN_AS_NOTHING.match(character))


def _name(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}"


def _quoted(text: str) -> str:
    """A text in quotes, in which look-alikes and invisible characters are spelt out."""
    return '"' + text[:_LONGEST_QUOTE].encode("ascii", "backslashreplace").decode() + '"'
