"""Reads labels made by others: objects, their values and their relations; and finds characters that
make different labels look equal."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice, permutations

from generator.judge.certificate import Finding, finding
from generator.judge.meaning import Link, Meaning, Pair, Thing

POSITION = "position"
"""The kind of values that say where an object is. They are not attributes of the object."""

_OPENING = re.compile(
    r"^(?:this is |there (?:is|are) )?"
    r"(?:(?:an? |the )?(?:photo|image|picture|photograph|rendering) (?:of|with) )?"
)
_CLOSING = re.compile(r"\s*(?:in the (?:image|photo|picture))?\s*[.!]?\s*$")
_SEPARATOR = re.compile(r",|;|&|\band\b")
_EMPTY = frozenset({"a", "an", "the", "is", "are", "that", "which", "one", "there"})


_HELD = 1 << 16  # size of caches of phrases and objects
_ORDERS = 720  # maximum number of orders to try if objects are equal: all orders of six


class UnreadableLabelError(ValueError):
    """A label that names no object."""


def plain(words: str) -> str:
    """The text in lower case with single spaces, for comparison."""
    return " ".join(words.casefold().split())


@lru_cache(_HELD)
def thing_of(words: str) -> Thing:
    """The object of a noun phrase: the last word is its category, the words before are values.

    >>> thing_of("a red cube")
    Thing(category='cube', attributes=(('attribute', 'red'),), without=None, number=1)
    """
    *values, category = [word for word in plain(words).split() if word not in _EMPTY] or [""]
    if not category:
        raise UnreadableLabelError(f"'{words}' names no object")
    return Thing(category, tuple(("attribute", value) for value in sorted(values)))


def read_label(text: str) -> Meaning:
    """The meaning of a label in words: "red cube", "red cube and blue sphere", "a cube to the left
    of a sphere".

    Raises UnreadableLabelError if a part of it names no object.
    """
    words = _CLOSING.sub("", _OPENING.sub("", plain(text)))
    things: list[Thing] = []
    links: list[Link] = []
    for clause in _SEPARATOR.split(words):
        if clause.strip():
            read, relations = _read_clause(clause)
            links += [
                (n, relation, n + 1, True) for n, relation in enumerate(relations, len(things))
            ]
            things += read
    if not things:
        raise UnreadableLabelError(f"'{text}' names no object")
    return Meaning(tuple(things), tuple(links))


@lru_cache(_HELD)
def _read_clause(clause: str) -> tuple[tuple[Thing, ...], tuple[str, ...]]:
    """Read "OBJECT [RELATION OBJECT]…": the objects, and the relation of each object to the next. A
    relation at the end is a position."""
    phrases = PHRASE.split(clause)
    relations = [relation_name(found) for found in PHRASE.findall(clause)]
    ends = bool(relations) and not phrases[-1].strip()
    things = [thing_of(phrase) for phrase in (phrases[:-1] if ends else phrases)]
    if ends:
        things[-1] = with_value(things[-1], (POSITION, relations.pop()))
    return tuple(things), tuple(relations)


def with_value(thing: Thing, pair: Pair) -> Thing:
    """The object with one more value."""
    return thing._replace(attributes=tuple(sorted((*thing.attributes, pair))))


@lru_cache(_HELD)
def attributes(thing: Thing) -> tuple[Pair, ...]:
    """The (kind, value) pairs of an object, without its position."""
    return tuple(pair for pair in thing.attributes if pair[0] != POSITION)


def words_of(meaning: Meaning) -> str:
    """A label in words.

    >>> words_of(read_label("A red cube to the left of a sphere."))
    'red cube left sphere'
    """
    named = [_phrase(thing) for thing in meaning.things]
    words, linked = [], {s: (relation, o) for s, relation, o, _ in meaning.links}
    done: set[int] = set()
    for place, name in enumerate(named):
        if place in done:
            continue
        while place in linked:
            relation, place = linked[place]
            name = f"{name} {relation} {named[place]}"
            done.add(place)
        words.append(name)
    return " and ".join(words)


def _phrase(thing: Thing) -> str:
    where = "".join(f" ({value})" for kind, value in thing.attributes if kind == POSITION)
    return " ".join([*(value for _, value in attributes(thing)), str(thing.category)]) + where


def arrangement(meaning: Meaning) -> Meaning:
    """The arrangement that a label shows, in normal form: equal for every order of mention and for
    converse relations.

    >>> one, other = read_label("cube left sphere"), read_label("sphere right cube")
    >>> arrangement(one) == arrangement(other)
    True
    """
    if not meaning.links:
        things = tuple(sorted(meaning.things))
        return meaning if things == meaning.things else Meaning(things)
    alike = len(set(meaning.things)) < len(meaning.things)
    orders = islice(permutations(range(len(meaning.things))), _ORDERS if alike else 1)
    return min(_in_order(meaning, order) for order in orders)


def _in_order(meaning: Meaning, order: Sequence[int]) -> Meaning:
    """A label with its objects sorted (equal ones as in `order`) and its relations in one
    direction."""
    places = sorted(order, key=lambda place: meaning.things[place])
    place_of = {place: n for n, place in enumerate(places)}
    links = sorted(
        {
            _one_way(place_of[s], relation, place_of[o], holds)
            for s, relation, o, holds in meaning.links
        }
    )
    return Meaning(tuple(meaning.things[place] for place in places), tuple(links))


def _one_way(subject: int, relation: str, thing: int, holds: bool) -> Link:
    converse = CONVERSE.get(relation)
    if converse is None or relation in FIRST:
        return subject, relation, thing, holds
    if converse == relation:
        return min(subject, thing), relation, max(subject, thing), holds
    return thing, converse, subject, holds


_PHRASES = {
    "left": (
        "left, left of, to the left of, on the left, on the left of, on the left side of, leftof"
    ),
    "right": (
        "right, right of, to the right of, on the right, on the right of, on the right side of, "
        "rightof"
    ),
    "front": "front, in front, front of, in front of",
    "behind": "behind, in back of, at the back of",
    "above": "above, over",
    "below": "below, under, underneath",
    "on": "on, on top of, atop",
    "beneath": "beneath",
    "near": "near, close to, near to",
    "beside": "beside, next to",
    "far": "far, far from, far away from",
    "touching": "touching",
    "larger": "larger than, bigger than",
    "smaller": "smaller than",
    "taller": "taller than",
    "shorter": "shorter than",
}
_ALONE = (
    "inside, in, within, outside, around, against, holding, wearing, covering, facing, through, "
    "across, along"
)
"""Relations without a converse and without synonyms."""
_PAIRS = (
    ("left", "right"),
    ("front", "behind"),
    ("above", "below"),
    ("on", "beneath"),
    ("larger", "smaller"),
    ("taller", "shorter"),
)
_SYMMETRIC = ("near", "beside", "far", "touching")

CONVERSE = {
    **dict(_PAIRS),
    **{second: first for first, second in _PAIRS},
    **{name: name for name in _SYMMETRIC},
}
"""The converse of each relation. A symmetric relation is its own converse."""

FIRST = tuple(first for first, _ in _PAIRS)
"""The relation of each converse pair that normal forms use."""

_NAMES = {phrase: name for name, phrases in _PHRASES.items() for phrase in phrases.split(", ")}
_NAMES |= {name: name for name in _ALONE.split(", ")}
PHRASE = re.compile(rf"\b(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))})\b")
"""Matches relations in lower-case text, the longest first."""


def relation_name(words: str) -> str:
    """The name of a relation. Unknown words are a relation with this name and without a converse.

    >>> relation_name("to the left of"), relation_name("orbiting")
    ('left', 'orbiting')
    """
    plain = " ".join(words.casefold().replace("_", " ").split())
    return _NAMES.get(plain, plain)


_KEPT = "\t\n\r"
_INVISIBLE = {
    "Cf",
    "Co",
    "Cs",
    "Cn",
    "Cc",
}  # format, private, surrogate, unassigned and control characters
# Invisible letters, marks and signs (Unicode's Default_Ignorable_Code_Point, and blanks).
_DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Latin letters that look like others and that labels do not need: phonetic letters, dotless i and
# j.
_PHONETIC = re.compile(
    "[\u0131\u0237\u0250-\u02af\u1d00-\u1dbf\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f]"
)
_EAST_ASIAN = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"}
)
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\u00b4`"), "'")


def normal(text: str) -> str:
    """The text normalised (NFKC), without invisible characters, with plain hyphens and apostrophes.

    >>> normal("re\\u200bd\\u00a0cube"), normal("cafe\\u0301") == normal("caf\\u00e9")
    ('red cube', True)
    """
    if text.isascii() and text.isprintable():
        return text
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    shown = "".join(
        "-" if unicodedata.category(c) == "Pd" else c for c in plain if not _invisible(c)
    )
    return unicodedata.normalize("NFKC", shown)


def character_findings(texts: Collection[str]) -> Iterator[Finding]:
    """Labels and splits with invisible characters, with look-alikes of Latin letters, or in another
    script than most.

    Labels are compared after `normal`, which cannot make look-alikes equal.
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
                "mixed scripts",
                f"{_quoted(text)} has {_name(strange)}; most letters of the labels are {usual}",
            )


def _script(letter: str) -> str:
    """The script of a letter, by the first word of its name; look-alikes of Latin letters are a
    separate script."""
    if letter.isascii():
        return "LATIN"
    if _PHONETIC.match(letter):
        return "PHONETIC"
    word = unicodedata.name(letter, "UNNAMED").split(" ")[0]
    return "EAST ASIAN" if word in _EAST_ASIAN else word


def _invisible(character: str) -> bool:
    if character.isascii():
        return not character.isprintable() and character not in _KEPT
    return unicodedata.category(character) in _INVISIBLE or bool(_DRAWN_AS_NOTHING.match(character))


def _name(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}"


def _quoted(text: str) -> str:
    return '"' + text[:60].encode("ascii", "backslashreplace").decode() + '"'
