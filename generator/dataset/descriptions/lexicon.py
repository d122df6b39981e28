"""Splits prose into terms, each with a class and a meaning.

Terms are the world's words (vocabulary.py) and English words around them (english.toml). Of several
terms that begin at a word, the longest is taken. A term with two meanings in the world, such as a
value of two attribute kinds, has the class `ambiguous` and makes its sentence unread.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .vocabulary import ADJECTIVE, Vocabulary, plural_of

_WORD = re.compile(r"[^\W\d_]+|\d+|'s\b|[^\w\s]|_")
"""Letters, digits, the ending 's, or one mark. Hyphens and apostrophes are marks of their own, in
texts and in terms alike, so that "red-colored" is three words."""
_APOSTROPHES = str.maketrans("’‘`´", "''''")
UNKNOWN, AMBIGUOUS = "unknown", "ambiguous"
GRAMMAR: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "english.toml").read_text(encoding="utf-8")
)
"""The contents of english.toml."""


class Term(NamedTuple):
    """A term of a text."""

    kind: str
    """Its class: a name under `words` in english.toml; `noun`, `plural`, `generic`, `generics`,
    `value`, `after`, `kind`, `number`, `ordinal`, `relation`, `relation_of_it`; or UNKNOWN or
    AMBIGUOUS."""
    meaning: Any
    """Of nouns the category; of values (kind, value); of numbers an integer; of relations the
    name, None for one that is not judged; of kinds the attribute kind. Else None."""
    start: int
    """Its first character in the text."""
    end: int
    """The character after its last."""


Meaning = tuple[str, Any]
"""The class and the meaning of a term."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The terms of a vocabulary and of English, and the words that JSON answers may use."""

    vocabulary: Vocabulary
    """The world's words."""
    terms: dict[str, list[tuple[tuple[str, ...], Meaning]]]
    """By first word, the terms that begin with it, the longest first."""
    categories: dict[str, str]
    """Category by noun, in small letters."""
    values: dict[str, dict[str, str]]
    """By attribute kind, the value by word, in small letters."""
    relations: dict[str, str]
    """Relation by name and phrase, in small letters."""

    def split(self, text: str, start: int = 0) -> list[Term]:
        """Split a text into terms, in time linear in its length.

        Args:
            text: prose in any letter case.
            start: its place in the answer, which is added to the places of terms.

        Returns:
            The terms in order.
        """
        matches = list(_WORD.finditer(text.translate(_APOSTROPHES)))
        spellings = GRAMMAR["spellings"]
        words = []
        for match in matches:
            word = match[0].casefold()
            words.append(spellings.get(word, word))

        terms = []
        i = 0
        while i < len(words):
            length, (kind, meaning) = self._longest(words, i)
            first, last = matches[i], matches[i + length - 1]
            terms.append(Term(kind, meaning, start + first.start(), start + last.end()))
            i += length
        return terms

    def _longest(self, words: list[str], i: int) -> tuple[int, Meaning]:
        """The longest term that begins at word i, with its number of words."""
        for term, meaning in self.terms.get(words[i], ()):
            if words[i : i + len(term)] == list(term):
                return len(term), meaning
        if words[i].isdecimal():
            # Python refuses to read integers of thousands of digits; no count has four.
            return 1, ("number", int(words[i]) if len(words[i]) < 4 else None)
        return 1, (UNKNOWN, None)


@lru_cache(maxsize=64)
def lexicon_of(vocabulary: Vocabulary) -> Lexicon:
    """Build the lexicon of a vocabulary; the same object for the same vocabulary.

    Args:
        vocabulary: the world's words.

    Returns:
        Its lexicon.
    """
    meanings: dict[tuple[str, ...], set[Meaning]] = {}
    for term, meaning in _world_entries(vocabulary):
        meanings.setdefault(_words_of(term), set()).add(meaning)
    # The world's own words come before English ones: a world may have a category "table".
    for term, meaning in _english_entries(vocabulary):
        meanings.setdefault(_words_of(term), {meaning})

    terms: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
    for words, several in meanings.items():
        if words:
            single = next(iter(several)) if len(several) == 1 else (AMBIGUOUS, None)
            terms.setdefault(words[0], []).append((words, single))
    for entries in terms.values():
        entries.sort(key=lambda entry: -len(entry[0]))

    categories = _by_word(vocabulary.nouns)
    # JSON names the kind of each value, so a word of two kinds is no ambiguity there.
    values = {kind: _by_word(of_kind) for kind, of_kind in vocabulary.values.items()}
    phrases = {}
    for name, own in vocabulary.relations.items():
        phrases[name] = (name, *own, *GRAMMAR["relations"].get(name, ()))
    return Lexicon(vocabulary, terms, categories, values, _by_word(phrases))


def _words_of(term: str) -> tuple[str, ...]:
    spellings = GRAMMAR["spellings"]
    words = _WORD.findall(term.translate(_APOSTROPHES).casefold())
    return tuple(spellings.get(word, word) for word in words)


def _by_word(words: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Name by word, for words with one meaning."""
    names: dict[str, set[str]] = {}
    for name, own in words.items():
        for word in own:
            spelled = " ".join(_words_of(word))
            names.setdefault(spelled, set()).add(name)
    name_of = {}
    for word, several in names.items():
        if len(several) == 1:
            name_of[word] = next(iter(several))
    return name_of


def _world_entries(vocabulary: Vocabulary) -> Iterator[tuple[str, Meaning]]:
    for category, nouns in vocabulary.nouns.items():
        for noun in nouns:
            yield noun, ("noun", category)
    for category, plurals in vocabulary.plurals.items():
        for plural in plurals:
            # Of "sheep", one word for both, only the singular is read.
            if plural not in vocabulary.nouns[category]:
                yield plural, ("plural", category)
    for kind, values in vocabulary.values.items():
        phrase = vocabulary.phrases.get(kind, ADJECTIVE)
        class_name = "value" if phrase == ADJECTIVE else "after"
        for value, words in values.items():
            for word in words:
                yield phrase.replace(ADJECTIVE, word), (class_name, (kind, value))
    for name, phrases in vocabulary.relations.items():
        for phrase in phrases:
            yield phrase, ("relation", name)
    for name, phrase in vocabulary.environments.items():
        yield phrase, ("place", name)


def _english_entries(vocabulary: Vocabulary) -> Iterator[tuple[str, Meaning]]:
    generic = {vocabulary.generic, vocabulary.category, *GRAMMAR["nouns"]["generic"]}
    for noun in sorted(generic):
        yield noun, ("generic", None)
        yield plural_of(noun), ("generics", None)
    for kind in vocabulary.values:
        yield kind, ("kind", kind)
    if "color" in vocabulary.values:
        yield "colour", ("kind", "color")

    for name, phrases in GRAMMAR["relations"].items():
        # English knows more relations than the world: they are read, but not judged.
        known = name if name in vocabulary.relations else None
        for phrase in phrases:
            yield phrase, ("relation", known)
    for name, phrases in GRAMMAR["relations_of_it"].items():
        for phrase in phrases:
            yield phrase, ("relation_of_it", name if name in vocabulary.relations else None)
    for word, number in GRAMMAR["numbers"].items():
        yield word, ("number", number)
    for word, number in GRAMMAR["ordinals"].items():
        yield word, ("ordinal", number)

    # All combinations as terms of their own: the parser then skips an introduction as one word.
    for article in ("the ", "this ", ""):
        for subject in GRAMMAR["intro"]["subjects"]:
            for verb in GRAMMAR["intro"]["verbs"]:
                yield f"{article}{subject} {verb}", ("intro", None)
    for class_name, words in GRAMMAR["words"].items():
        if class_name in ("prepositions", "scenic"):
            continue
        for word in words:
            yield word, (class_name, None)
    # Words that are only read within a phrase of scenery come last, so that they hide no other.
    for class_name in ("prepositions", "scenic"):
        for word in GRAMMAR["words"][class_name]:
            yield word, (class_name, None)
