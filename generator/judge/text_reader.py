"""Reads the meaning of a text from its words. Independent of the grammar that writes texts
(docs/language.md).

The grammar declared here allows more than the templates do: a text must have one meaning, but need
not be good English. It sees only the classes of words, so texts with the same sequence of classes
are parsed once.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from generator.judge.lexicon import Lexicon, UnreadableError, Word, spaced
from generator.judge.meaning import Link, Meaning, Pair, Thing
from generator.judge.templates import SLOTS, Template

_GRAMMAR = """
ADJECTIVES = (value (and? value)*)?
AFTER      = (after (and after)*)?
BARE       = (ADJECTIVES noun | number ADJECTIVES plural) AFTER
PHRASE     = (a ADJECTIVES noun | (none | number) ADJECTIVES (noun | plural)) AFTER
DEFINITE   = the (ordinal | value)? noun after?
END        = PHRASE | DEFINITE
TRAIT      = value | after | a? noun
MENTION    = PHRASE (that_is not TRAIT)?
JOINT      = comma | comma? and
LIST       = MENTION (JOINT MENTION)*

RELATION   = relation | relation_of_three END and
STEP       = RELATION (END | it)
LAST       = RELATION (MENTION | DEFINITE | it)
STEPS      = (?! not? relation it) (STEP JOINT)* (LAST | (not STEP JOINT)* not LAST)

LISTED     = photo? (LIST | PHRASE that_is STEPS | PHRASE RELATION MENTION) environment? stop?
SPARE      = BARE (JOINT (a? BARE))* | BARE RELATION a? BARE
LACKING    = is not TRAIT
GIVEN      = is (value | after) (JOINT (value | after))*
SUBJECT    = MENTION | DEFINITE
EXISTENCE  = there LIST in_image? | there PHRASE that_is STEPS
CLAUSE     = EXISTENCE | SUBJECT is STEPS | DEFINITE (LACKING | GIVEN)
SENTENCES  = (environment comma)? (CLAUSE stop)+
DENIED     = denied there LIST (JOINT that DEFINITE is not? RELATION END)* stop
TEXT       = LISTED | SPARE | SENTENCES | DENIED
"""
"""Classes of words in lower case, other rules in capitals, joined by the operators of regular
expressions.

In STEPS no asserted relation follows a denied relation, and only the last object may have "that is
not …": other texts have two readings.
"""
_VALUES = ("value", "after")
_MARKS = (*_VALUES, "ordinal")
"""Classes of words that distinguish an object from other objects of its category."""
_PARTS = {
    "lacking": "(that_is | is) not TRAIT",
    "given": "GIVEN",
    "mention": "PHRASE | BARE",
    "definite": "DEFINITE",
    "relation": "not? (relation | relation_of_three)",
    "it": "it",
    "environment": "environment",
}
"""The parts that carry the meaning of a text, read from left to right. Other words matter only to
the grammar."""


def _rules() -> dict[str, str]:
    """The rules of the grammar as regular expressions over classes, each followed by a space."""
    rules: dict[str, str] = {}
    for line in filter(None, _GRAMMAR.splitlines()):
        name, _, body = line.partition("=")
        rules[name.strip()] = _expression(body, rules)
    return rules


def _expression(body: str, rules: dict[str, str]) -> str:
    classes = re.sub("[a-z_]+", r"(?:\g<0>[ ])", body)
    return f"(?:{re.sub('[A-Z]+', lambda name: rules[name[0]], classes)})"


_RULES = _rules()
_ONE = "a value* noun AFTER"
_SLOT_RULES = {
    "one": _ONE,
    "bare": "value* noun AFTER",
    "again": "DEFINITE",
    "all": f"{_ONE} (JOINT {_ONE})*",
    "relation": "relation",
}
"""The words of each placeholder of a declared template: single objects, without counts and
denials."""
_SLOT = {
    name: re.compile(_expression(body, _RULES), re.VERBOSE) for name, body in _SLOT_RULES.items()
}
_TEXT = re.compile(_RULES["TEXT"], re.VERBOSE)
_PART = re.compile(
    "|".join(f"(?P<{name}>{_expression(body, _RULES)})" for name, body in _PARTS.items()),
    re.VERBOSE,
)


class _Part(NamedTuple):
    """A part of a text: its name in `_PARTS`, and its words [start, end)."""

    name: str
    start: int
    end: int


@lru_cache(1 << 17)
def _parts(shape: str) -> tuple[_Part, ...]:
    """The parts of texts whose words have these classes, each followed by a space; empty if they
    match no rule."""
    return _parts_in(shape) if _TEXT.fullmatch(shape) else ()


def _parts_in(shape: str) -> tuple[_Part, ...]:
    """The parts in a row of classes that match a rule."""
    return tuple(
        _Part(
            str(found.lastgroup),
            shape.count(" ", 0, found.start()),
            shape.count(" ", 0, found.end()),
        )
        for found in _PART.finditer(shape)
    )


def read_text(text: str, lexicon: Lexicon) -> Meaning:
    """The meaning of a text. Raises UnreadableError if the grammar does not allow it or if it has
    two readings."""
    try:
        said, words = lexicon.divided(text)
    except UnreadableError:
        # Every text of a declared template has a word that is not in the lexicon (templates.py).
        if (declared := _read_declared(text, lexicon)) is not None:
            return declared
        raise
    shape = "".join([f"{name} " for name, _ in words])
    parts = _parts(shape)
    if not parts:
        raise UnreadableError(
            f"'{text}': expected one of the templates of captions, got other words or another order"
        )
    try:
        meaning = _Reading(lexicon, said, words).read(parts)
    except UnreadableError as error:
        raise UnreadableError(f"'{text}': {error}") from None
    return meaning._replace(denied=True) if shape.startswith("denied ") else meaning


def _read_declared(text: str, lexicon: Lexicon) -> Meaning | None:
    """The meaning of a text of a declared template; None if no template has it."""
    tokens = tuple(spaced(text).split(" "))
    meanings = {
        meaning
        for template in lexicon.templates
        for contents in template.fillings(tokens)
        for meaning in _filled(template, contents, lexicon)
    }
    if len(meanings) > 1:
        raise UnreadableError(f"'{text}': expected one reading, got {len(meanings)}")
    return next(iter(meanings), None)


def _filled(
    template: Template, contents: tuple[tuple[str, ...], ...], lexicon: Lexicon
) -> Iterator[Meaning]:
    """The meaning of a template with these tokens in its placeholders, if each is a phrase of its
    rule."""
    said, words, parts = list[str](), list[Word](), list[_Part]()
    elements = zip(template.elements, template.opens, strict=True)
    slots = [(SLOTS[element], opens) for element, opens in elements if element in SLOTS]
    for (rule, opens), tokens in zip(slots, contents, strict=True):
        phrase = _divided_phrase(" ".join(tokens).replace(" ,", ","), opens, lexicon)
        if phrase is None:
            return
        shape = "".join([f"{name} " for name, _ in phrase[1]])
        if not _SLOT[rule].fullmatch(shape):
            return
        parts += [
            _Part(part.name, part.start + len(words), part.end + len(words))
            for part in _parts_in(shape)
        ]
        said += phrase[0]
        words += phrase[1]
    try:
        reading = _Reading(lexicon, said, words)
        meaning = reading.read(tuple(parts))
        if reading.places_again(tuple(parts)) == template.again:
            yield meaning
    except UnreadableError:
        return


def _divided_phrase(
    phrase: str, opens: bool, lexicon: Lexicon
) -> tuple[list[str], list[Word]] | None:
    """The words of a phrase, with a small first letter if it opens a sentence and has no reading
    otherwise."""
    for spelling in (phrase, phrase[:1].lower() + phrase[1:]) if opens else (phrase,):
        try:
            return lexicon.divided(spelling)
        except UnreadableError:
            continue
    return None


class _Definite(NamedTuple):
    """A definite phrase: a category, the value or ordinal that distinguishes it within the
    category, and the number of objects mentioned before."""

    category: str | None
    mark: Pair | int | None
    known: int


_Reference = int | _Definite
"""A mentioned object: the place of its mention, or a definite phrase."""


class _Reading:
    """The state while a text is read from its parts: mentions, relations with their ends, and
    `told`: further values or a denied value of mentions."""

    def __init__(self, lexicon: Lexicon, said: list[str], words: list[Word]):
        self.lexicon, self.said, self.words = lexicon, said, words
        self.things: list[Thing] = []
        self.links: list[tuple[str, bool, list[_Reference]]] = []
        self.told: list[tuple[_Reference, list[Pair], Pair | None]] = []
        self.environment: str | None = None

    def read(self, parts: tuple[_Part, ...]) -> Meaning:
        """The meaning of the parts, which is not denied as a whole."""
        subject: _Reference = 0
        missing = 0  # ends that the last relation still lacks
        for name, start, end in parts:
            if name == "relation":
                kind, relation = self.words[end - 1]
                self.links.append((relation, self.words[start][0] != "not", [subject]))
                missing = 2 if kind == "relation_of_three" else 1
            elif name == "lacking":
                last = len(self.things) - 1 if self.words[start][0] == "that_is" else subject
                self.told.append((last, [], self._trait(end - 1)))
            elif name == "given":
                self.told.append(
                    (
                        subject,
                        [pair for kind, pair in self.words[start:end] if kind in _VALUES],
                        None,
                    )
                )
            elif name == "environment":
                self.environment = self.words[start][1]
            elif missing:
                self.links[-1][2].append(self._end(name, start, end))
                missing -= 1
            else:
                subject = self._end(name, start, end)
        links = tuple(self._link(*link) for link in self.links)
        for reference, pairs, without in [
            (self._place(of), pairs, without) for of, pairs, without in self.told
        ]:
            self.things[reference] = self.lexicon.described(self.things[reference], pairs, without)
        return Meaning(tuple(self.things), links, False, self.environment)

    def places_again(self, parts: tuple[_Part, ...]) -> tuple[int, ...]:
        """The places of the objects that definite phrases repeat, in order. Call it after
        `read`."""
        return tuple(
            self._place(self._definite(start, end))
            for name, start, end in parts
            if name == "definite"
        )

    def _end(self, name: str, start: int, end: int) -> _Reference:
        """The object that a part means: a new or mentioned object, or for "it" the object of the
        previous relation."""
        if name == "it":
            return self.links[-2][2][1]
        if name == "mention":
            self.things.append(
                self.lexicon.thing(tuple(self.said[start:end]), self.words[start:end])
            )
            return len(self.things) - 1
        return self._definite(start, end)

    def _definite(self, start: int, end: int) -> _Definite:
        """The words of a definite phrase, after the objects mentioned until now."""
        words = self.words[start:end]
        category = next(meaning for kind, meaning in words if kind == "noun")
        mark = next((meaning for kind, meaning in words if kind in _MARKS), None)
        return _Definite(category, mark, len(self.things))

    def _trait(self, place: int) -> Pair:
        """A value or category that is denied."""
        kind, meaning = self.words[place]
        if kind != "noun":
            return meaning
        if meaning is None:
            raise UnreadableError("expected a denied category, got the word for all categories")
        return self.lexicon.category, meaning

    def _link(self, relation: str, holds: bool, ends: list[_Reference]) -> Link:
        subject, thing, *also = places = [self._place(end) for end in ends]
        if len(set(places)) < len(places) or any(
            self.things[place].number != 1 for place in places
        ):
            raise UnreadableError("expected a relation between different objects without counts")
        return subject, relation, thing, holds, *also

    def _place(self, reference: _Reference) -> int:
        """The index of the mention that a reference means. Call it after all mentions are read."""
        if isinstance(reference, int):
            return reference
        category, mark, known = reference
        places = [place for place, thing in enumerate(self.things) if thing.category == category]
        if isinstance(mark, int):
            places = places[mark - 1 : mark]
        elif mark is not None:
            places = [place for place in places if mark in self.things[place].attributes]
        if len(places) != 1 or places[0] >= known:
            raise UnreadableError(
                f"expected a definite phrase to mean one object that was mentioned before, got "
                f"{len(places)} for "
                f"'{category or 'object'}'{'' if mark is None else f' told by {mark}'}"
            )
        return places[0]
