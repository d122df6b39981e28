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
    """A declared template whose texts have one reading.

    `elements`: its words, stops and placeholders. `opens`: for each element, whether a sentence
    begins with it.
    `again`: for each phrase that repeats an object, in order, the place of its object.
    `phrase_words`: the words that
    a phrase in a placeholder can have, in small letters. `relations`: the phrases of relations
    between two objects.
    """

    elements: tuple[str, ...]
    opens: tuple[bool, ...]
    again: tuple[int, ...]
    phrase_words: frozenset[str]
    relations: frozenset[str]

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
        for end in range(1, len(tokens) - len(rest) + 1):
            if tokens[end - 1].lower() not in self.phrase_words:
                return
            if first == _RELATION and " ".join(tokens[:end]) not in self.relations:
                continue
            for others in self._fillings(tokens[end:], rest):
                yield (tokens[:end], *others)


def readable_templates(
    declared: Mapping[str, Any], terms: Mapping[str, frozenset[str]]
) -> tuple[tuple[Template, ...], dict[str, Reason]]:
    """The templates whose texts have one reading, and by name the reason why another is refused.

    Args:
        declared: The table `templates` of a family.
        terms: Every term of the lexicon, of one or more words, with its classes.
    """
    templates: list[Template] = []
    reasons: dict[str, Reason] = {}
    name_of_marks: dict[tuple[str, ...], str] = {}
    all_words = _single_words(terms, frozenset().union(*terms.values()))
    phrase_words = _single_words(terms, _IN_PHRASES)
    relations = frozenset(term for term, own in terms.items() if "relation" in own)
    for name, text in declared.items():
        elements = tuple(str(text).replace(",", " ,").replace(".", " .").split(" "))
        marks = tuple(
            each.lower()
            for each in elements
            if each not in SLOTS and each.lower() not in phrase_words
        )
        reason = (
            _misplaced(elements)
            or _meaningful(elements, terms)
            or _ambiguous(elements, all_words, phrase_words)
            or (
                marks in name_of_marks
                and f"its texts may be texts of the template '{name_of_marks[marks]}' too"
            )
            or (
                len(templates) == _MOST_TEMPLATES
                and f"a family has at most {_MOST_TEMPLATES} templates"
            )
        )
        if reason:
            reasons[name] = reason
            continue
        name_of_marks[marks] = name
        sentence = elements[-1] == "."
        opens = tuple(sentence and (n == 0 or elements[n - 1] == ".") for n in range(len(elements)))
        again = tuple(_REPEATS[each] for each in elements if each in _REPEATS)
        templates.append(Template(elements, opens, again, phrase_words, relations))
    return tuple(templates), reasons


def _misplaced(elements: tuple[str, ...]) -> Reason | None:
    """Why the placeholders of a template do not make a text."""
    if len(elements) > _MOST_ELEMENTS:
        return f"it has more than {_MOST_ELEMENTS} words"
    slots = [each for each in elements if "{" in each or "}" in each]
    if unknown := [each for each in slots if each not in SLOTS]:
        return f"'{unknown[0]}' is no placeholder"
    introduced = [each for each in slots if SLOTS[each] in ("one", "bare")]
    in_order = all(each in pair for each, pair in zip(introduced, _INTRODUCTIONS, strict=False))
    if len(introduced) > len(_INTRODUCTIONS) or not in_order:
        return "it does not introduce each object once, in order"
    if slots.count(_RELATION) > 1:
        return "it has more than one relation"
    return (
        None
        if introduced or slots == [_ALL]
        else "it names no object, or names all of them beside others"
    )


def _meaningful(elements: tuple[str, ...], terms: Mapping[str, frozenset[str]]) -> Reason | None:
    """Why the words of a template say something about a scene: they contain a term."""
    longest = max(term.count(" ") for term in terms) + 1
    for start in range(len(elements)):
        for end in range(start + 1, min(start + longest, len(elements)) + 1):
            term = " ".join(elements[start:end]).lower()
            if terms.get(term, frozenset()) & _SAYS:
                return f"its words say '{term}'"
    return None


def _ambiguous(
    elements: tuple[str, ...], all_words: frozenset[str], phrase_words: frozenset[str]
) -> Reason | None:
    """Why a text of a template may have two readings."""
    if all(each in SLOTS or each.lower() in all_words for each in elements):
        return "it has no word that other texts lack"
    at = [n for n, each in enumerate(elements) if each in SLOTS]
    for here, there in pairwise(at):
        between = elements[here + 1 : there]
        # The article of a phrase ends the words of the relation before it.
        if (
            elements[here] == _RELATION
            and not between
            and SLOTS[elements[there]] in ("one", "again")
        ):
            continue
        if all(word.lower() in phrase_words for word in between):
            return f"no word shows where {elements[here]} ends and {elements[there]} begins"
    return None


def _single_words(terms: Mapping[str, frozenset[str]], classes: frozenset[str]) -> frozenset[str]:
    """The single words of all terms of some classes, in small letters."""
    return frozenset(
        word.lower() for term, own in terms.items() if own & classes for word in term.split(" ")
    )
