"""Maps the words of a vocabulary to their classes and meanings, and splits texts into words."""

import re
import tomllib
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from generator.judge.geometry import RULES
from generator.judge.meaning import ObjectMention, Pair
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
"""The words of each class that says nothing about a scene by itself."""
_GROUND = "{b}"
"""Stands for the second object in the phrase of a relation that says its frame, such as "to the
left of {b} from {the_b}'s own point of view"."""
_IN_VIEW = re.compile(r"\{(the_b|c)\}")
"""Stands for the object whose view it is: the second object again, or a third."""
_VALUE = "{value}"
"""Stands for the value in the phrase of a kind, such as "made of {value}"."""
_JOINT = "\u00a0"
"""Joins the parts of a multi-word term while a text is split at spaces. Texts have no such
character: they would not be read."""


class UnreadableError(Exception):
    """A text without a reading, or with several."""


Word = tuple[str, Any]
"""The class of a word in the grammar of text_reader.py, and its meaning.

Meanings by class: `noun` and `plural`: a category (None for "object"). `value` and `after` (a value
that follows the noun, such as "made of wood"): (kind, value). `number`, `none` and `ordinal`: an
integer. Relations and `environment`: the name. `framed` (the words of a relation up to its second
object, if more words say its frame) and `view` (the words that say a frame): the words.
"""
FRAMES = {
    "viewer": ("left", "right", "front", "behind"),
    "object": ("own-left", "own-right", "own-front", "own-behind"),
}
"""The directions of the two frames that words without a frame may mean."""
View = tuple[str, str, str, str]
"""How a relation says its frame: its words up to its second object; the words before the object
whose view it is; its placeholder, "the_b" or "c", or "" for the camera; the words after it."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of a vocabulary and of the grammar.

    Ambiguous words are left out, so texts with them cannot be read: words with two meanings, and
    multi-word terms that can be split into other terms.
    """

    words: dict[str, Word]
    """By term; the parts of a multi-word term are joined by `_JOINT`."""
    category: str
    """The vocabulary's word for categories."""
    multi_word: re.Pattern[str]
    """Matches multi-word terms, the longest first."""
    relation_of: dict[View, str] = field(default_factory=dict)
    """The relations that say their frame."""
    templates: tuple[Template, ...] = ()
    """The family's own templates."""
    refused: dict[str, str] = field(default_factory=dict)
    """By name, why a template of the family may have two readings."""
    known_mentions: dict[object, ObjectMention] = field(default_factory=dict)
    """Mentions by their words and by themselves, so that a million texts share them."""

    @classmethod
    def from_toml(cls, vocabulary_toml: str, bare_in: str = "") -> "Lexicon":
        """Read the words of a family: names and synonyms of objects, values and relations; phrases
        of environments.

        Args:
            vocabulary_toml: The vocabulary.
            bare_in: A frame of `FRAMES`. Relations then have only the words before their second
                object, and mean that frame: "to the left of" is `left` or `own-left`. Relations of
                other frames are left out. "" for phrases as they are declared.
        """
        data = tomllib.loads(vocabulary_toml)
        if bare_in:
            data["relations"] = _bare_relations(data.get("relations", {}), FRAMES[bare_in])
        meanings: dict[str, set[Word]] = {}
        entries = (*_grammar_entries(), *_nouns(data), *_values(data), *_relations(data))
        for term, name, meaning in entries:
            meanings.setdefault(spaced(term).strip(), set()).add((name, meaning))
        words = _unambiguous_words(meanings)

        # In a text, the longest term wins. Divisible terms are joined too: so a text with one has
        # an unknown word, and is not read as its parts.
        several = [term for term, own in meanings.items() if " " in term and len(own) == 1]
        longest_first = sorted(several, key=len, reverse=True)
        alternatives = "|".join(re.escape(term) for term in longest_first)
        classes = {}
        for term, own in meanings.items():
            classes[term] = frozenset(name for name, _ in own)
        templates, refused = readable_templates(data.get("templates", {}), classes)
        return cls(
            words={term.replace(" ", _JOINT): word for term, word in words.items()},
            category=data["category"],
            multi_word=re.compile(f"(?<![^ ])(?:{alternatives})(?![^ ])"),
            relation_of=_relations_by_view(data),
            templates=templates,
            refused=refused,
        )

    def split_words(self, text: str) -> tuple[list[str], list[Word]]:
        """Split a text into terms, longest match first.

        Returns:
            The terms, and their classes and meanings.

        Raises:
            UnreadableError: The text has an unknown word.
        """
        joined = self.multi_word.sub(_join_parts, spaced(text))
        terms = joined.split(" ")
        known = self.words
        try:
            return terms, [known[term] for term in terms]
        except KeyError as error:
            term = str(error.args[0]).replace(_JOINT, " ")
            raise UnreadableError(
                f"'{text}': expected one word of this vocabulary after each space, got '{term}'"
            ) from None

    def mention(self, terms: tuple[str, ...], words: list[Word]) -> ObjectMention:
        """Read the object that a phrase mentions.

        Args:
            terms: The terms of the phrase.
            words: Their classes and meanings.

        Returns:
            The mention; the same instance for equal phrases.
        """
        known = self.known_mentions.get(terms)
        if known is None:
            # "No cube" has the number 0.
            number = next((meaning for name, meaning in words if name in ("number", "none")), 1)
            category = next(meaning for name, meaning in words if name in ("noun", "plural"))
            pairs = [meaning for name, meaning in words if name in ("value", "after")]
            known = self._shared(ObjectMention(category, _one_of_each_kind(pairs), None, number))
            self.known_mentions[terms] = known
        return known

    def with_traits(
        self, mention: ObjectMention, pairs: list[Pair], without: Pair | None
    ) -> ObjectMention:
        """Add what a text says of an object after its phrase.

        Args:
            mention: The object.
            pairs: Further values that are asserted.
            without: A value or category that is denied; None for none.

        Returns:
            The mention with them.

        Raises:
            UnreadableError: It has a count, a second denial, or two values of a kind.
        """
        if mention.number != 1 or (without and mention.without):
            raise UnreadableError("expected at most one denial, of an object without a count")
        attributes = _one_of_each_kind([*mention.attributes, *pairs])
        return self._shared(ObjectMention(mention.category, attributes, without or mention.without))

    def _shared(self, mention: ObjectMention) -> ObjectMention:
        """One instance for all equal mentions."""
        return self.known_mentions.setdefault(mention, mention)


def _join_parts(match: re.Match[str]) -> str:
    return match[0].replace(" ", _JOINT)


def _unambiguous_words(meanings: dict[str, set[Word]]) -> dict[str, Word]:
    """The words with one meaning, without multi-word terms that can be read as other terms."""
    words = {}
    for term, own in meanings.items():
        if len(own) == 1:
            words[term] = next(iter(own))
    divisible = []
    for term, (word_class, _) in words.items():
        # The grammar's own terms, as "that is", are meant to be the longer ones.
        if " " in term and word_class not in _GRAMMAR and _is_divisible(term, words):
            divisible.append(term)
    # Deleted only now, because one may be a part of another.
    for term in divisible:
        del words[term]
    return words


def _one_of_each_kind(pairs: list[Pair]) -> tuple[Pair, ...]:
    # "A red blue cube" has no reading, and "a red red cube" is no caption.
    if len(dict(pairs)) < len(pairs):
        raise UnreadableError("expected one value of each kind of attribute")
    return tuple(sorted(pairs))


def spaced(text: str) -> str:
    """A text with a space before each comma, full stop and 's."""
    return _GENITIVE.sub(" 's", text.replace(",", " ,").replace(".", " ."))


_GENITIVE = re.compile(r"(?<=[a-z])'s(?![a-z])")


def _is_divisible(term: str, terms: Container[str]) -> bool:
    """Whether a multi-word term can also be split into other terms.

    >>> terms = {"dark red", "red car", "car", "dark", "red", "dark red car", "big red"}
    >>> sorted(term for term in terms if _is_divisible(term, terms))
    ['dark red', 'dark red car', 'red car']
    """
    parts = term.split(" ")
    for n in range(1, len(parts)):
        first = " ".join(parts[:n])
        rest = " ".join(parts[n:])
        if first in terms and (rest in terms or _is_divisible(rest, terms)):
            return True
    return False


Entry = tuple[str, str, Any]
"""A word, its class and its meaning."""


def _grammar_entries() -> Iterator[Entry]:
    for name, terms in _GRAMMAR.items():
        for term in terms:
            yield from _also_as_opening(term, name, None)
    yield "no", "none", 0
    for number, term in enumerate(NUMBERS, 2):
        yield term, "number", number
    for number, term in enumerate(PLACES, 1):
        yield term, "ordinal", number


def _also_as_opening(term: str, name: str, meaning: Any) -> Iterator[Entry]:
    """The term, and the same term capitalised for the start of a sentence."""
    yield term, name, meaning
    yield term[:1].upper() + term[1:], name, meaning


def _nouns(data: dict[str, Any]) -> Iterator[Entry]:
    generic = data.get("generic", "object")
    yield from _noun(generic, None, _plural(generic))
    for category, declared in data["objects"].items():
        yield from _noun(category, category, declared.get("plural", _plural(category)))
        for synonym in declared.get("synonyms", []):
            yield from _noun(synonym, category, _plural(synonym))


def _noun(noun: str, category: str | None, plural: str) -> Iterator[Entry]:
    yield noun, "noun", category
    # Of "sheep", one word for both, "two sheep" is read by the number alone.
    if plural != noun:
        yield plural, "plural", category


def _values(data: dict[str, Any]) -> Iterator[Entry]:
    declared_kinds = data.get("kinds", {})
    for kind, values in data["attributes"].items():
        phrase = declared_kinds.get(kind, {}).get("phrase", _VALUE)
        name = "value" if phrase == _VALUE else "after"
        for value, declared in values.items():
            for term in (value, *declared.get("synonyms", [])):
                yield phrase.replace(_VALUE, term), name, (kind, value)


def _relations(data: dict[str, Any]) -> Iterator[Entry]:
    for relation, declared in data.get("relations", {}).items():
        of_three = relation in RULES and RULES[relation].arity == 3
        name = "relation_of_three" if of_three else "relation"
        for term in (declared["phrase"], *declared.get("synonyms", [])):
            if _GROUND not in term:
                yield term, name, relation
                continue
            words, *around_owner = _view_of(term)
            yield words, "framed", words
            for piece in (around_owner[0], around_owner[2]):
                if piece:
                    yield piece, "view", piece
    for environment, declared in data.get("environments", {}).items():
        yield from _also_as_opening(declared["phrase"], "environment", environment)


def _bare_relations(declared: dict[str, Any], frame: tuple[str, ...]) -> dict[str, Any]:
    """The relations of a frame, with phrases that say no frame."""
    bare: dict[str, Any] = {}
    for relation in frame:
        if relation not in declared:
            continue
        of_relation = declared[relation]
        phrases = (of_relation["phrase"], *of_relation.get("synonyms", []))
        before_ground = [phrase.partition(_GROUND)[0].strip() for phrase in phrases]
        # Phrases that differ only in their frame are one phrase without it.
        first, *others = dict.fromkeys(before_ground)
        bare[relation] = {**of_relation, "phrase": first, "synonyms": others}
    return bare


def _view_of(phrase: str) -> View:
    """How a phrase says its frame."""
    words, _, rest = phrase.partition(_GROUND)
    words = spaced(words).strip()
    owner = _IN_VIEW.search(rest)
    if owner is None:
        return words, spaced(rest).strip(), "", ""
    before = rest[: owner.start()].strip()
    # Here the genitive stands alone, without the word before it.
    after = rest[owner.end() :].strip()
    return words, spaced(before).strip(), owner[1], spaced(after).strip()


def _relations_by_view(data: dict[str, Any]) -> dict[View, str]:
    """The relations by how their phrases say a frame; phrases of two relations are left out."""
    relations: dict[View, str] = {}
    ambiguous = set()
    for relation, declared in data.get("relations", {}).items():
        for phrase in (declared["phrase"], *declared.get("synonyms", [])):
            if _GROUND not in phrase:
                continue
            view = _view_of(phrase)
            if relations.setdefault(view, relation) != relation:
                ambiguous.add(view)
    return {view: name for view, name in relations.items() if view not in ambiguous}


def _plural(noun: str) -> str:
    """The regular plural of a noun.

    >>> _plural("fly"), _plural("fox"), _plural("cube")
    ('flies', 'foxes', 'cubes')
    """
    if noun.endswith("y") and len(noun) > 1 and noun[-2] not in "aeiou":
        return noun.removesuffix("y") + "ies"
    hissing = noun[-1:] in ("s", "x", "z") or noun[-2:] in ("ch", "sh")
    return noun + ("es" if hissing else "s")
