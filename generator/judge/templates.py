"""Reads the templates of captions that a family declares, and refuses those whose texts may have
two readings.

A template is a row of elements: words, "," and ".", and placeholders in braces. Its texts must have
a word that no text of the grammar has, and between two placeholders a word that no phrase in a
placeholder has.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

_INTRODUCTIONS = (("{a}", "{x}"), ("{b}", "{y}"), ("{c}", "{z}"))
"""The placeholders of the first, second and third object, with and without article."""
_REPEATS = {"{the_a}": 0, "{the_b}": 1, "{the_c}": 2}
_RELATION = "{relation}"
_ALL = "{list}"
SLOTS = {
    **{pair[0]: "one" for pair in _INTRODUCTIONS},
    **{pair[1]: "bare" for pair in _INTRODUCTIONS},
    **dict.fromkeys(_REPEATS, "again"),
    _ALL: "all",
    _RELATION: "relation",
}
"""The placeholders, with the rule of their words in text_reader.py."""
_SAYS = frozenset(
    (
        "noun",
        "plural",
        "value",
        "after",
        "relation",
        "relation_of_three",
        "environment",
        "none",
        "number",
        "not",
    )
)
"""Classes of words that say something about a scene."""
_IN_PHRASES = frozenset(
    (
        "noun",
        "value",
        "after",
        "relation",
        "relation_of_three",
        "a",
        "the",
        "and",
        "comma",
        "ordinal",
    )
)
"""Classes of words that occur in the phrase of a placeholder."""
_MOST_TEMPLATES = 64
_MOST_ELEMENTS = 64
"""Bounds on a stranger's family: each text is compared with every template, element by element."""

Reason = str
"""Why a template is refused."""


class Template(NamedTuple):
    """A declared template whose texts have one reading."""

    elements: tuple[str, ...]
    """Its words, stops and placeholders."""
    opens_sentence: tuple[bool, ...]
    """For each element, whether a sentence begins with it."""
    repeats: tuple[int, ...]
    """For each phrase that repeats an object, in order, the place of its object."""
    phrase_words: frozenset[str]
    """The words that a phrase in a placeholder can have, in small letters."""
    relations: frozenset[str]
    """The phrases of relations between two objects."""

    def fillings(self, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
        """Every way to read the tokens of a text: the tokens of each placeholder, at least one
        each."""
        yield from self._fillings(tokens, self.elements)

    def _fillings(
        self, tokens: tuple[str, ...], elements: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], ...]]:
        if not elements:
            if not tokens:
                yield ()
            return
        first, rest = elements[0], elements[1:]
        if first not in SLOTS:
            if tokens and tokens[0] == first:
                yield from self._fillings(tokens[1:], rest)
            return
        # A placeholder: every length that leaves a token for each element after it.
        for end in range(1, len(tokens) - len(rest) + 1):
            if tokens[end - 1].lower() not in self.phrase_words:
                return
            if first == _RELATION and " ".join(tokens[:end]) not in self.relations:
                continue
            for following in self._fillings(tokens[end:], rest):
                yield (tokens[:end], *following)


def readable_templates(
    declared: Mapping[str, Any], terms: Mapping[str, frozenset[str]]
) -> tuple[tuple[Template, ...], dict[str, Reason]]:
    """The templates whose texts have one reading, and by name the reason why another is refused.

    Args:
        declared: The table `templates` of a family.
        terms: Every term of the lexicon, of one or more words, with its classes.
    """
    templates: list[Template] = []
    refused: dict[str, Reason] = {}
    name_of_marks: dict[tuple[str, ...], str] = {}
    all_words = _single_words(terms, frozenset().union(*terms.values()))
    phrase_words = _single_words(terms, _IN_PHRASES)
    relations = frozenset(term for term, classes in terms.items() if "relation" in classes)
    for name, text in declared.items():
        # Marks are elements of their own, apart from the word before them.
        spaced_text = str(text).replace(",", " ,").replace(".", " .")
        elements = tuple(spaced_text.split(" "))
        marks = _marks_of(elements, phrase_words)
        reason = (
            _misplaced_reason(elements)
            or _meaning_reason(elements, terms)
            or _ambiguity_reason(elements, all_words, phrase_words)
        )
        # The words around placeholders alone tell templates apart.
        if not reason and marks in name_of_marks:
            reason = f"its texts may be texts of the template '{name_of_marks[marks]}' too"
        if not reason and len(templates) == _MOST_TEMPLATES:
            reason = f"a family has at most {_MOST_TEMPLATES} templates"
        if reason:
            refused[name] = reason
            continue
        name_of_marks[marks] = name
        templates.append(
            Template(
                elements=elements,
                opens_sentence=_sentence_openings(elements),
                repeats=tuple(_REPEATS[element] for element in elements if element in _REPEATS),
                phrase_words=phrase_words,
                relations=relations,
            )
        )
    return tuple(templates), refused


def _marks_of(elements: tuple[str, ...], phrase_words: frozenset[str]) -> tuple[str, ...]:
    """The words of a template that no phrase has, in order: templates that differ in them share no
    text."""
    marks = []
    for element in elements:
        if element not in SLOTS and element.lower() not in phrase_words:
            marks.append(element.lower())
    return tuple(marks)


def _sentence_openings(elements: tuple[str, ...]) -> tuple[bool, ...]:
    """For each element, whether a sentence begins with it; none does in a template without a full
    stop at its end."""
    if elements[-1] != ".":
        return (False,) * len(elements)
    previous = (".", *elements[:-1])
    return tuple(element == "." for element in previous)


def _misplaced_reason(elements: tuple[str, ...]) -> Reason | None:
    """Why the placeholders of a template do not make a text."""
    if len(elements) > _MOST_ELEMENTS:
        return f"it has more than {_MOST_ELEMENTS} words"
    slots = [element for element in elements if "{" in element or "}" in element]
    unknown = [slot for slot in slots if slot not in SLOTS]
    if unknown:
        return f"'{unknown[0]}' is not a placeholder"
    introduced = [slot for slot in slots if SLOTS[slot] in ("one", "bare")]
    in_order = all(slot in pair for slot, pair in zip(introduced, _INTRODUCTIONS, strict=False))
    if len(introduced) > len(_INTRODUCTIONS) or not in_order:
        return "it does not introduce each object once, in order"
    if slots.count(_RELATION) > 1:
        return "it has more than one relation"
    if not introduced and slots != [_ALL]:
        return "it names no object, or names all of them beside others"
    return None


def _meaning_reason(
    elements: tuple[str, ...], terms: Mapping[str, frozenset[str]]
) -> Reason | None:
    """Why the words of a template say something about a scene: they contain a term."""
    longest = max(term.count(" ") for term in terms) + 1
    for start in range(len(elements)):
        for end in range(start + 1, min(start + longest, len(elements)) + 1):
            term = " ".join(elements[start:end]).lower()
            if terms.get(term, frozenset()) & _SAYS:
                return f"its words say '{term}'"
    return None


def _ambiguity_reason(
    elements: tuple[str, ...], all_words: frozenset[str], phrase_words: frozenset[str]
) -> Reason | None:
    """Why a text of a template may have two readings."""
    if all(element in SLOTS or element.lower() in all_words for element in elements):
        return "it has no word that other texts lack"
    slot_places = [n for n, element in enumerate(elements) if element in SLOTS]
    for first, second in pairwise(slot_places):
        between = elements[first + 1 : second]
        # The article of a phrase ends the words of the relation before it.
        has_article = SLOTS[elements[second]] in ("one", "again")
        if elements[first] == _RELATION and not between and has_article:
            continue
        if all(word.lower() in phrase_words for word in between):
            return f"no word shows where {elements[first]} ends and {elements[second]} begins"
    return None


def _single_words(terms: Mapping[str, frozenset[str]], classes: frozenset[str]) -> frozenset[str]:
    """The single words of all terms of some classes, in small letters."""
    words: set[str] = set()
    for term, own_classes in terms.items():
        if own_classes & classes:
            words.update(term.lower().split(" "))
    return frozenset(words)
