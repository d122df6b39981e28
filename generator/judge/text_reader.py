"""Reads the meaning of a text from its words. Independent of the grammar that writes texts
(docs/language.md).

The grammar declared here allows more than the templates do: a text must have one meaning, but need
not be good English. It sees only the classes of words, so texts with the same sequence of classes
are parsed once.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from generator.judge.lexicon import Lexicon, UnreadableError, Word, spaced
from generator.judge.meaning import Meaning, ObjectMention, Pair, RelationMention
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

RELATION   = relation | framed | relation_of_three END and
VIEW       = view (DEFINITE view? | a ADJECTIVES noun AFTER view?)?
STEP       = RELATION (END | it) VIEW?
LAST       = RELATION (MENTION | DEFINITE | it) | RELATION (END | it) VIEW
STEPS      = (?! not? (relation | framed) it) (STEP JOINT)* (LAST | (not STEP JOINT)* not LAST)

LISTED     = photo? (LIST | PHRASE that_is STEPS | PHRASE LAST) environment? stop?
SPARE      = BARE (JOINT (a? BARE))* | BARE RELATION a? BARE VIEW?
LACKING    = is not TRAIT
GIVEN      = is (value | after) (JOINT (value | after))*
SUBJECT    = MENTION | DEFINITE
EXISTENCE  = there LIST in_image? | there PHRASE that_is STEPS
CLAUSE     = EXISTENCE | SUBJECT is STEPS | DEFINITE (LACKING | GIVEN)
SENTENCES  = (environment comma)? (CLAUSE stop)+
DENIED     = denied there LIST (JOINT that DEFINITE is not? RELATION END VIEW?)* stop
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
    "view": "VIEW",
    "lacking": "(that_is | is) not TRAIT",
    "given": "GIVEN",
    "mention": "PHRASE | BARE",
    "definite": "DEFINITE",
    "relation": "not? (relation | framed | relation_of_three)",
    "it": "it",
    "environment": "environment",
}
"""The parts that carry the meaning of a text, read from left to right. Other words matter only to
the grammar."""


def _compile_grammar() -> dict[str, str]:
    """The rules of the grammar as regular expressions over classes, each followed by a space."""
    rules: dict[str, str] = {}
    for line in _GRAMMAR.splitlines():
        if line:
            name, _, body = line.partition("=")
            rules[name.strip()] = _expression(body, rules)
    return rules


def _expression(body: str, rules: dict[str, str]) -> str:
    """The body of a rule as a regular expression; names of earlier rules are replaced by theirs."""
    classes = re.sub("[a-z_]+", r"(?:\g<0>[ ])", body)
    expression = re.sub("[A-Z]+", lambda match: rules[match[0]], classes)
    return f"(?:{expression})"


_RULES = _compile_grammar()
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
    """A part of a text that carries meaning."""

    name: str
    """Its name in `_PARTS`."""
    start: int
    """Index of its first word."""
    end: int
    """Index after its last word."""


@lru_cache(1 << 17)
def _parts(shape: str) -> tuple[_Part, ...]:
    """The parts of texts whose words have these classes, each followed by a space; empty if they
    match no rule."""
    return _parts_in(shape) if _TEXT.fullmatch(shape) else ()


def _parts_in(shape: str) -> tuple[_Part, ...]:
    """The parts in a row of classes that match a rule."""
    parts = []
    for match in _PART.finditer(shape):
        start, end = (shape.count(" ", 0, at) for at in match.span())
        parts.append(_Part(str(match.lastgroup), start, end))
    return tuple(parts)


def _shape_of(words: list[Word]) -> str:
    """The classes of some words, each followed by a space."""
    return "".join([f"{name} " for name, _ in words])


def read_text(text: str, lexicon: Lexicon) -> Meaning:
    """The meaning of a text.

    Args:
        text: A caption or a foil.
        lexicon: The words of its world's family.

    Raises:
        UnreadableError: The grammar does not allow it, or it has two readings.
    """
    try:
        terms, words = lexicon.split_words(text)
    except UnreadableError:
        # Every text of a declared template has a word that is not in the lexicon (templates.py).
        declared = _read_declared(text, lexicon)
        if declared is not None:
            return declared
        raise
    shape = _shape_of(words)
    parts = _parts(shape)
    if not parts:
        raise UnreadableError(
            f"'{text}': expected one of the templates of captions, got other words or another order"
        )
    try:
        meaning = _Reading(lexicon, terms, words).read(parts)
    except UnreadableError as error:
        raise UnreadableError(f"'{text}': {error}") from None
    return meaning._replace(denied=True) if shape.startswith("denied ") else meaning


def _read_declared(text: str, lexicon: Lexicon) -> Meaning | None:
    """The meaning of a text of a declared template; None if no template has it."""
    tokens = tuple(spaced(text).split(" "))
    meanings = set()
    for template in lexicon.templates:
        for contents in template.fillings(tokens):
            meaning = _read_filling(template, contents, lexicon)
            if meaning is not None:
                meanings.add(meaning)
    if len(meanings) > 1:
        raise UnreadableError(f"'{text}': expected one reading, got {len(meanings)}")
    return next(iter(meanings), None)


def _read_filling(
    template: Template, contents: tuple[tuple[str, ...], ...], lexicon: Lexicon
) -> Meaning | None:
    """The meaning of a template with these tokens in its placeholders; None unless each is a phrase
    of its rule and each repeated object is the one that the template names."""
    terms: list[str] = []
    words: list[Word] = []
    parts: list[_Part] = []
    elements = zip(template.elements, template.opens_sentence, strict=True)
    slots = [(SLOTS[element], opens) for element, opens in elements if element in SLOTS]
    for (rule, opens), tokens in zip(slots, contents, strict=True):
        phrase = _split_phrase(" ".join(tokens).replace(" ,", ","), opens, lexicon)
        if phrase is None:
            return None
        phrase_terms, phrase_words = phrase
        shape = _shape_of(phrase_words)
        if not _SLOT[rule].fullmatch(shape):
            return None
        offset = len(words)
        for name, start, end in _parts_in(shape):
            parts.append(_Part(name, start + offset, end + offset))
        terms += phrase_terms
        words += phrase_words
    reading = _Reading(lexicon, terms, words)
    try:
        meaning = reading.read(tuple(parts))
        repeated = reading.repeated_objects(tuple(parts))
    except UnreadableError:
        return None
    return meaning if repeated == template.repeats else None


def _split_phrase(
    phrase: str, opens_sentence: bool, lexicon: Lexicon
) -> tuple[list[str], list[Word]] | None:
    """The words of a phrase, with a small first letter if it opens a sentence and has no reading
    otherwise; None if it has an unknown word."""
    spellings = [phrase]
    if opens_sentence:
        spellings.append(phrase[:1].lower() + phrase[1:])
    for spelling in spellings:
        try:
            return lexicon.split_words(spelling)
        except UnreadableError:
            continue
    return None


class _Definite(NamedTuple):
    """A definite phrase, such as "the red cube"."""

    category: str | None
    """None for the word for all categories."""
    mark: Pair | int | None
    """The value or ordinal that distinguishes its object within the category; None without one."""
    n_before: int
    """The number of objects mentioned before it."""


_Reference = int | _Definite
"""A mentioned object: its index, or a definite phrase that repeats it."""


class _AddedTraits(NamedTuple):
    """What a later part of the text says of a mentioned object."""

    reference: _Reference
    """The object that it speaks of."""
    values: list[Pair]
    """Further values; empty for a denial."""
    without: Pair | None
    """A denied value or category."""


class _Reading:
    """The state while a text is read from its parts, from left to right.

    A definite phrase must mean one object among all that the text mentions, later ones too. So
    references stay open until all mentions are read, and are resolved at the end.
    """

    def __init__(self, lexicon: Lexicon, terms: list[str], words: list[Word]):
        self._lexicon = lexicon
        self._terms = terms
        self._words = words
        self._objects: list[ObjectMention] = []
        self._relations: list[tuple[str, bool, list[_Reference]]] = []  # name, asserted, ends
        self._added: list[_AddedTraits] = []
        # Of relations that need one: whether their frame is said, by their index.
        self._has_frame: dict[int, bool] = {}
        # Definite phrases of the object in whose frame a relation is, with the relation's index.
        self._owners: list[tuple[_Definite, int]] = []
        self._environment: str | None = None

    def read(self, parts: tuple[_Part, ...]) -> Meaning:
        """The meaning of the parts, which is not denied as a whole."""
        subject: _Reference = 0
        n_missing_ends = 0  # of the last relation
        for name, start, end in parts:
            if name == "relation":
                n_missing_ends = self._begin_relation(subject, start, end)
            elif name == "view":
                self._add_frame(start, end)
            elif name == "lacking":
                self._add_denied_trait(subject, start, end)
            elif name == "given":
                words = self._words[start:end]
                values = [meaning for kind, meaning in words if kind in _VALUES]
                self._added.append(_AddedTraits(subject, values, None))
            elif name == "environment":
                self._environment = self._words[start][1]
            elif n_missing_ends:
                self._relations[-1][2].append(self._end(name, start, end))
                n_missing_ends -= 1
            else:
                subject = self._end(name, start, end)

        if not all(self._has_frame.values()):
            raise UnreadableError(
                "expected each direction to say whose it is: of the camera, of the object itself, "
                "or of a third object"
            )
        relations = tuple(self._resolve_relation(*relation) for relation in self._relations)
        for owner, index in self._owners:
            if self._place(owner) != relations[index][2]:
                raise UnreadableError("expected the frame of a relation's own second object")
        # All references are resolved before any value is added: an added value would change which
        # object a definite phrase means.
        places = [self._place(added.reference) for added in self._added]
        for place, (_, values, without) in zip(places, self._added, strict=True):
            mention = self._objects[place]
            self._objects[place] = self._lexicon.with_traits(mention, values, without)
        return Meaning(tuple(self._objects), relations, False, self._environment)

    def _begin_relation(self, subject: _Reference, start: int, end: int) -> int:
        """Add a relation of the subject; returns how many objects are still to be read for it."""
        kind, relation = self._words[end - 1]
        asserted = self._words[start][0] != "not"
        self._relations.append((relation, asserted, [subject]))
        if kind == "framed":
            self._has_frame[len(self._relations) - 1] = False
        return 2 if kind == "relation_of_three" else 1

    def _add_denied_trait(self, subject: _Reference, start: int, end: int) -> None:
        """Note what an object is said to lack."""
        # "… that is not red" is said of the last object, "… is not red" of the subject.
        of_last = self._words[start][0] == "that_is"
        reference = len(self._objects) - 1 if of_last else subject
        self._added.append(_AddedTraits(reference, [], self._trait(end - 1)))

    def _add_frame(self, start: int, end: int) -> None:
        """Read whose direction the last relation means."""
        index = len(self._relations) - 1
        if self._has_frame.get(index) is not False:
            raise UnreadableError("expected a frame only after a direction, and once")
        words = self._words[start:end]
        _, before = words[0]
        last_class, last_words = words[-1]
        after = last_words if len(words) > 1 and last_class == "view" else ""
        # The object whose view it is stands between the words before and after it.
        owner_start = start + 1
        owner_end = end - 1 if after else end
        has_owner = owner_start < owner_end
        is_definite = has_owner and self._words[owner_start][0] == "the"

        written, asserted, ends = self._relations[index]
        slots = ("the_b", "c") if is_definite else ("c",) if has_owner else ("",)
        for slot in slots:
            relation = self._lexicon.relation_of.get((written, before, slot, after))
            if relation is None:
                continue
            self._relations[index] = (relation, asserted, ends)
            self._has_frame[index] = True
            if slot == "the_b":
                self._owners.append((self._definite(owner_start, owner_end), index))
            elif slot == "c":
                part = "definite" if is_definite else "mention"
                ends.append(self._end(part, owner_start, owner_end))
            return
        raise UnreadableError("expected the words of one frame of this vocabulary")

    def repeated_objects(self, parts: tuple[_Part, ...]) -> tuple[int, ...]:
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
            _, _, ends = self._relations[-2]
            return ends[1]
        if name == "mention":
            terms = tuple(self._terms[start:end])
            self._objects.append(self._lexicon.mention(terms, self._words[start:end]))
            return len(self._objects) - 1
        return self._definite(start, end)

    def _definite(self, start: int, end: int) -> _Definite:
        words = self._words[start:end]
        category = next(meaning for kind, meaning in words if kind == "noun")
        mark = next((meaning for kind, meaning in words if kind in _MARKS), None)
        return _Definite(category, mark, len(self._objects))

    def _trait(self, place: int) -> Pair:
        """A value or category that is denied."""
        kind, meaning = self._words[place]
        if kind != "noun":
            return meaning
        if meaning is None:
            raise UnreadableError("expected a denied category, got the word for all categories")
        return self._lexicon.category, meaning

    def _resolve_relation(
        self, name: str, asserted: bool, ends: list[_Reference]
    ) -> RelationMention:
        places = [self._place(end) for end in ends]
        has_count = any(self._objects[place].number != 1 for place in places)
        if has_count or len(set(places)) < len(places):
            raise UnreadableError("expected a relation between different objects without counts")
        subject, object_, *third = places
        return subject, name, object_, asserted, *third

    def _place(self, reference: _Reference) -> int:
        """The index of the mention that a reference means. Call it after all mentions are read."""
        if isinstance(reference, int):
            return reference
        category, mark, n_before = reference
        places = [
            place for place, mention in enumerate(self._objects) if mention.category == category
        ]
        if isinstance(mark, int):
            # An ordinal: the second cube.
            places = places[mark - 1 : mark]
        elif mark is not None:
            places = [place for place in places if mark in self._objects[place].attributes]
        if len(places) != 1 or places[0] >= n_before:
            marked = "" if mark is None else f" told by {mark}"
            raise UnreadableError(
                f"expected a definite phrase to mean one object that was mentioned before, got "
                f"{len(places)} for '{category or 'object'}'{marked}"
            )
        return places[0]
