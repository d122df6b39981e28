"""Maps the words of a vocabulary to their classes and meanings, and splits texts into words."""

import re
import tomllib
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from generator.judge.geometry import RULES
from generator.judge.meaning import Pair, Thing
from generator.judge.templates import Template, readable_templates

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PLACES = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_GRAMMAR = {
    "a": ("a", "an"),
    "the": ("the",),
    "is": ("is", "are"),
    "not": ("not",),
    "that": ("that",),
    "that_is": ("that is",),
    "there": ("there is", "there are", "there is also", "there are also"),
    "in_image": ("in the image",),
    "photo": ("a photo of", "this is a photo of"),
    "denied": ("it is not true that",),
    "it": ("it",),
    "and": ("and",),
    "comma": (",",),
    "stop": (".",),
}
_VALUE = "{value}"  # stands for the value in the phrase of a kind
_JOINT = "\u00a0"  # joins the parts of a multi-word term while a text is split


class UnreadableError(Exception):
    """A text without a reading, or with several."""


Word = tuple[str, Any]
"""The class of a word in the grammar of text_reader.py, and its meaning.

Meanings by class: `noun` and `plural`: a category (None for "object"). `value` and `after` (a value
that follows the noun, such as "made of wood"): (kind, value). `number`, `none` and `ordinal`: an
integer. Relations and `environment`: the name.
"""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of a vocabulary and of the grammar.

    Ambiguous words are left out, so texts with them cannot be read: words with two meanings, and
        multi-word terms that
    can be split into other terms. `category`: the vocabulary's word for categories. `longer`:
    matches multi-word terms.
    `templates`: the family's own templates, and `refused` the reason for each that may have two
    readings. `things`:
    cache of mentioned objects, by their words.
    """

    words: dict[str, Word]
    category: str
    longer: re.Pattern[str]
    templates: tuple[Template, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    things: dict[object, Thing] = field(default_factory=dict)

    @classmethod
    def of(cls, vocabulary_toml: str) -> "Lexicon":
        """Read the words of a family: names and synonyms of objects, values and relations; phrases
        of environments."""
        data = tomllib.loads(vocabulary_toml)
        meanings: dict[str, set[Word]] = {}
        for word, name, meaning in (*_grammar(), *_nouns(data), *_values(data), *_relations(data)):
            meanings.setdefault(spaced(word).strip(), set()).add((name, meaning))
        words = {word: next(iter(found)) for word, found in meanings.items() if len(found) == 1}
        several = [word for word in words if " " in word]
        divisible = [
            word
            for word in several
            if words[word][0] not in _GRAMMAR and _is_divisible(word, words)
        ]
        for word in divisible:
            del words[word]
        listed = "|".join(re.escape(word) for word in sorted(several, key=len, reverse=True))
        classes = {word: frozenset(name for name, _ in found) for word, found in meanings.items()}
        templates, refused = readable_templates(data.get("templates", {}), classes)
        return cls(
            {word.replace(" ", _JOINT): found for word, found in words.items()},
            data["category"],
            re.compile(f"(?<![^ ])(?:{listed})(?![^ ])"),
            templates,
            refused,
        )

    def divided(self, text: str) -> tuple[list[str], list[Word]]:
        """Split a text into words, longest match first. Returns the words and their classes and
        meanings.

        Raises UnreadableError for unknown words.
        """
        words = self.longer.sub(lambda found: found[0].replace(" ", _JOINT), spaced(text)).split(
            " "
        )
        known = self.words
        try:
            return words, [known[word] for word in words]
        except KeyError as error:
            word = str(error.args[0]).replace(_JOINT, " ")
            expected = "one word of this vocabulary after each space"
            raise UnreadableError(f"'{text}': expected {expected}, got '{word}'") from None

    def thing(self, said: tuple[str, ...], words: list[Word]) -> Thing:
        """The object that some words mention; equal objects share memory."""
        known = self.things.get(said)
        if known is None:
            number = next((meaning for name, meaning in words if name in ("number", "none")), 1)
            category = next(meaning for name, meaning in words if name in ("noun", "plural"))
            pairs = [meaning for name, meaning in words if name in ("value", "after")]
            known = self.same(Thing(category, _of_different_kinds(pairs), None, number))
            self.things[said] = known
        return known

    def same(self, thing: Thing) -> Thing:
        """Return one shared instance for equal objects, which saves memory over a million texts."""
        return self.things.setdefault(thing, thing)

    def described(self, thing: Thing, pairs: list[Pair], without: Pair | None) -> Thing:
        """The object with further values `pairs`, or with the denied value `without`."""
        if thing.number != 1 or (without and thing.without):
            raise UnreadableError("expected at most one denial, of an object without a count")
        given = _of_different_kinds([*thing.attributes, *pairs])
        return self.same(Thing(thing.category, given, without or thing.without))


def _of_different_kinds(pairs: list[Pair]) -> tuple[Pair, ...]:
    if len(dict(pairs)) < len(pairs):
        raise UnreadableError("expected one value of each kind of attribute")
    return tuple(sorted(pairs))


def spaced(text: str) -> str:
    """A text with a space before each comma and full stop."""
    return text.replace(",", " ,").replace(".", " .")


def _is_divisible(word: str, words: Container[str]) -> bool:
    """Whether a multi-word term can also be split into other terms.

    >>> words = {"dark red", "red car", "car", "dark", "red", "dark red car", "big red"}
    >>> sorted(word for word in words if _is_divisible(word, words))
    ['dark red', 'dark red car', 'red car']
    """
    parts = word.split(" ")
    halves = ((" ".join(parts[:n]), " ".join(parts[n:])) for n in range(1, len(parts)))
    return any(
        first in words and (rest in words or _is_divisible(rest, words)) for first, rest in halves
    )


Entry = tuple[str, str, Any]
"""A word, its class and its meaning."""


def _grammar() -> Iterator[Entry]:
    for name, words in _GRAMMAR.items():
        for word in words:
            yield from _also_as_opening(word, name, None)
    yield "no", "none", 0
    yield from ((word, "number", n) for n, word in enumerate(NUMBERS, 2))
    yield from ((word, "ordinal", n) for n, word in enumerate(PLACES, 1))


def _also_as_opening(word: str, name: str, meaning: Any) -> Iterator[Entry]:
    """The word, and the same word capitalised for the start of a sentence."""
    yield word, name, meaning
    yield word[:1].upper() + word[1:], name, meaning


def _nouns(data: dict[str, Any]) -> Iterator[Entry]:
    generic = data.get("generic", "object")
    nouns = [(generic, None, _plural(generic))]
    for name, declared in data["objects"].items():
        nouns.append((name, name, declared.get("plural", _plural(name))))
        nouns += [(word, name, _plural(word)) for word in declared.get("synonyms", [])]
    for word, name, plural in nouns:
        yield word, "noun", name
        if plural != word:
            yield plural, "plural", name


def _values(data: dict[str, Any]) -> Iterator[Entry]:
    frames = {
        kind: declared.get("phrase", _VALUE) for kind, declared in data.get("kinds", {}).items()
    }
    for kind, values in data["attributes"].items():
        frame = frames.get(kind, _VALUE)
        for name, declared in values.items():
            for word in (name, *declared.get("synonyms", [])):
                yield (
                    frame.replace(_VALUE, word),
                    "value" if frame == _VALUE else "after",
                    (kind, name),
                )


def _relations(data: dict[str, Any]) -> Iterator[Entry]:
    for name, relation in data.get("relations", {}).items():
        for word in (relation["phrase"], *relation.get("synonyms", [])):
            yield (
                word,
                "relation_of_three" if name in RULES and RULES[name].arity == 3 else "relation",
                name,
            )
    for name, place in data.get("environments", {}).items():
        yield from _also_as_opening(place["phrase"], "environment", name)


def _plural(noun: str) -> str:
    """The regular plural of a noun."""
    if noun.endswith("y") and len(noun) > 1 and noun[-2] not in "aeiou":
        return noun.removesuffix("y") + "ies"
    hissing = noun[-1:] in ("s", "x", "z") or noun[-2:] in ("ch", "sh")
    return noun + ("es" if hissing else "s")
