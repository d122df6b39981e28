"""The words of a vocabulary with their meanings, and the division of a text into words."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from generator.judge.meaning import Pair, Thing

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
COUNTS = {word: n for n, word in enumerate(NUMBERS) if n != 1}
ORDINALS = {word: n for n, word in enumerate(PLACES, 1)}
IN_IMAGE = "in the image"
_GRAMMAR = frozenset({"a", "an", "and", "the", "is", "are", "that", "not", "there", "it", ",", ".", *COUNTS, *ORDINALS})
_BARE = "{value}"  # placeholder of the value in the phrase of a kind
_READINGS = 64  # most divisions of a text into words that are tried


class UnreadableError(Exception):
    """A text without a reading, or with several."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of a vocabulary and what they mean.

    A word with two meanings, or one that the grammar itself uses, is left out, so texts with it cannot be read.
    `values`: words before a noun. `phrases`: phrases after it. `articles`: those that a noun, or a value that
    declares one, takes. `rank`: the order of attribute kinds around a noun. `openings`: environments' phrases as a
    sentence begins with them. `longer`: words of several words, by their first. `unsure`: those that begin with
    another word.
    """

    values: dict[str, Pair]
    phrases: dict[str, Pair]
    nouns: dict[str, str | None]
    plurals: dict[str, str | None]
    relations: dict[str, str]
    environments: dict[str, str]
    openings: dict[str, str]
    articles: dict[str, tuple[str, ...]]
    rank: dict[str, int]
    category: str
    longer: dict[str, list[list[str]]]
    unsure: frozenset[str]
    things: dict[tuple[object, ...], Thing] = field(default_factory=dict)

    @classmethod
    def of(cls, vocabulary_toml: str) -> "Lexicon":
        """Read the words of a family: names and synonyms of objects, values and relations; phrases of environments."""
        data = tomllib.loads(vocabulary_toml)
        objects, generic = data["objects"], data.get("generic", "object")
        nouns = [(word, name) for name, kind in objects.items() for word in (name, *kind.get("synonyms", []))]
        plurals = [(kind.get("plural", _plural(name)), name) for name, kind in objects.items()]
        plurals += [(_plural(word), name) for name, kind in objects.items() for word in kind.get("synonyms", [])]
        environments = _meanings((place["phrase"], name) for name, place in data.get("environments", {}).items())
        frames = _frames(data.get("kinds", {}))
        meaning = [
            (kind, frames.get(kind, _BARE).replace(_BARE, word), (kind, name))
            for kind, declared in data["attributes"].items()
            for name, value in declared.items()
            for word in (name, *value.get("synonyms", []))
        ]
        relations = [
            (word, name)
            for name, relation in data.get("relations", {}).items()
            for word in (relation["phrase"], *relation.get("synonyms", []))
        ]
        tables = {
            "values": _meanings((word, pair) for kind, word, pair in meaning if kind not in frames),
            "phrases": _meanings((word, pair) for kind, word, pair in meaning if kind in frames),
            "nouns": _meanings([*nouns, (generic, None)]),
            "plurals": _meanings([*plurals, (_plural(generic), None)]),
            "relations": _meanings(relations),
            "environments": environments,
            "openings": {phrase[:1].upper() + phrase[1:]: name for phrase, name in environments.items()},
        }
        longer, unsure = _longer([*(word for table in tables.values() for word in table), IN_IMAGE])
        return cls(
            **tables,
            articles=_articles(objects, generic) | _own_articles(data["attributes"]),
            rank=_rank([*(data.get("adjectives") or data["attributes"])], frames),
            category=data["category"],
            longer=longer,
            unsure=unsure,
        )

    def thing(self, category: str | None, pairs: tuple[Pair, ...], without: Pair | None, count: int) -> Thing:
        """A mentioned object; equal ones are one object, which saves memory over a million texts."""
        known = self.things.get((category, pairs, without, count))
        if known is None:
            known = Thing(category, pairs, without, count)
            self.things[known] = known
        return known

    def divide(self, text: str) -> Iterator[list[str]]:
        """Every division of a text into words; phrases of the vocabulary and punctuation are words.

        The first division takes the longest words. Raises UnreadableError if spaces are missing or too many, or if
        there are more than 64 divisions.
        """
        words = _spaced(text).split(" ")
        if "" in words:
            raise UnreadableError(
                f"'{text}': expected one space between words, none at the ends and none before , or ."
            )
        if self.longer.keys().isdisjoint(words):
            yield words
            return
        longest, unsure = self._longest(words)
        yield longest
        if unsure:
            for n, others in enumerate(self._others(words)):
                if n == _READINGS:
                    raise UnreadableError(
                        f"'{text}': expected words that can be told apart, got more than {_READINGS} ways"
                    )
                if others != longest:
                    yield others

    def _longest(self, words: list[str]) -> tuple[list[str], bool]:
        longer, found, at, unsure = self.longer, [], 0, False
        while at < len(words):
            word = words[at]
            for parts in longer.get(word, ()):
                if words[at : at + len(parts)] == parts:
                    word = " ".join(parts)
                    unsure = unsure or word in self.unsure
                    at += len(parts) - 1
                    break
            found.append(word)
            at += 1
        return found, unsure

    def _others(self, words: list[str]) -> Iterator[list[str]]:
        begun: list[tuple[int, list[str]]] = [(0, [])]
        while begun:
            at, found = begun.pop()
            if at == len(words):
                yield found
                continue
            for parts in ([words[at]], *self.longer.get(words[at], ())):
                if words[at : at + len(parts)] == parts:
                    begun.append((at + len(parts), [*found, " ".join(parts)]))


def _spaced(text: str) -> str:
    return text.replace(",", " ,").replace(".", " .")


def _meanings(pairs: Iterable[tuple[str, object]]) -> dict:
    """The meaning of each word, without words that have two or that the grammar uses."""
    found: dict[str, set[object]] = {}
    for word, meaning in pairs:
        found.setdefault(_spaced(word), set()).add(meaning)
    return {word: next(iter(given)) for word, given in found.items() if len(given) == 1 and word not in _GRAMMAR}


def _frames(kinds: dict) -> dict[str, str]:
    """The phrases of attribute kinds that follow the noun."""
    return {kind: told["phrase"] for kind, told in kinds.items() if told.get("phrase", _BARE) != _BARE}


def _rank(order: list[str], frames: dict[str, str]) -> dict[str, int]:
    """The order of attribute kinds: adjectives, then kinds that follow the noun."""
    first = [kind for kind in order if kind not in frames]
    return {kind: place for place, kind in enumerate([*first, *(kind for kind in order if kind in frames)])}


def _plural(noun: str) -> str:
    """The regular plural of a noun."""
    if noun.endswith("y") and len(noun) > 1 and noun[-2] not in "aeiou":
        return noun.removesuffix("y") + "ies"
    hissing = noun[-1:] in ("s", "x", "z") or noun[-2:] in ("ch", "sh")
    return noun + ("es" if hissing else "s")


def _own_articles(attributes: dict) -> dict[str, tuple[str, ...]]:
    """The articles that values declare."""
    return {
        _spaced(name): (value["article"],)
        for values in attributes.values()
        for name, value in values.items()
        if "article" in value
    }


def _articles(objects: dict, generic: str) -> dict[str, tuple[str, ...]]:
    """The articles of each noun: by its first letter, or as the object declares. A synonym may take either."""
    articles: dict[str, tuple[str, ...]] = {_spaced(generic): (article_of(generic),)}
    for name, kind in objects.items():
        declared = kind.get("article", article_of(name))
        articles[_spaced(name)] = (declared,)
        for word in kind.get("synonyms", []):
            articles[_spaced(word)] = (article_of(word), declared) if "article" in kind else (article_of(word),)
    return articles


def article_of(word: str) -> str:
    """The article by the first letter of a word."""
    return "an" if word[:1].lower() in "aeiou" else "a"


def _longer(words: list[str]) -> tuple[dict[str, list[list[str]]], frozenset[str]]:
    """Words of several words by their first word, longest first; and those that begin with another known word."""
    known = {*words, *_GRAMMAR}
    found: dict[str, list[list[str]]] = {}
    unsure = set()
    for word in sorted(set(words)):
        parts = word.split(" ")
        if len(parts) > 1:
            found.setdefault(parts[0], []).append(parts)
            if any(" ".join(parts[:n]) in known for n in range(1, len(parts))):
                unsure.add(" ".join(parts))
    for entries in found.values():
        entries.sort(key=len, reverse=True)
    return found, frozenset(unsure)
