"""Templates of captions that a family declares: their parts, and why one is refused
(docs/language.md).

A text of a declared template must have one reading. Three rules suffice for that:

1. A word of the template is in no other text, so no template of the grammar can write the text.
2. Between two placeholders stands a word that no phrase in a placeholder has, so it is known where
each phrase ends.
3. Two declared templates differ in these words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

from generator.base.errors import did_you_mean
from generator.vocabulary.english import NUMBERS, ORDINALS

PLACEHOLDERS: dict[str, tuple[str, int]] = {
    "a": ("indefinite", 0),
    "b": ("indefinite", 1),
    "c": ("indefinite", 2),
    "x": ("bare", 0),
    "y": ("bare", 1),
    "z": ("bare", 2),
    "the_a": ("definite", 0),
    "the_b": ("definite", 1),
    "the_c": ("definite", 2),
    "list": ("list", 0),
    "relation": ("relation", 0),
}
"""Each placeholder with the kind of its phrase, and the place of its object in the form (0 where it
has none)."""

INTRODUCES_ONE = ("indefinite", "bare")
"""Kinds of placeholders that introduce one object."""
_HAS_ARTICLE = ("indefinite", "definite")

_PHRASE_WORDS = frozenset(("a", "an", "and", "the", ",", *ORDINALS))
"""Words of phrases besides the words that a family declares."""
_SENTENCE_WORDS = (
    "is",
    "are",
    "not",
    "that",
    "there",
    "also",
    "it",
    "in",
    "image",
    "photo",
    "of",
    "this",
    "true",
    ".",
)
_GRAMMAR_WORDS = frozenset((*_PHRASE_WORDS, *NUMBERS, *_SENTENCE_WORDS))
"""Every word that the grammar itself puts into texts."""
_DENIALS = frozenset((*NUMBERS[2:], "no", "not", "none", "never", "neither", "nor", "without"))
"""Words that would deny or count what the placeholders say, while the form asserts one object
each."""

_TOKEN = re.compile(r"([A-Za-z][A-Za-z'-]*|\{[^{} ]*\})([,.]?)")


class TemplatePart(NamedTuple):
    """A part of a declared template."""

    kind: str
    """"words", or the kind of a placeholder (PLACEHOLDERS)."""
    text: str
    """The words, or the name of the placeholder."""
    place: int
    """The place of the placeholder's object in the form; 0 for words."""
    stop: str
    """What follows the part: ",", "." or nothing."""


class FamilyWords(NamedTuple):
    """The words of a family, as templates need them."""

    terms: Mapping[str, str]
    """Every term of values, objects and relations, with where it is declared."""
    in_phrases: frozenset[str]
    """The single words of phrases that stand for a placeholder."""
    in_texts: frozenset[str]
    """The single words of all texts of the grammar."""

    @classmethod
    def from_terms(cls, terms: Mapping[str, str], elsewhere: list[str]) -> "FamilyWords":
        """Collect the single words of terms.

        Args:
            terms: terms that stand for placeholders, with where they are declared.
            elsewhere: other terms of texts, such as the phrases of environments.
        """
        in_phrases = _PHRASE_WORDS | _single_words(terms)
        in_texts = in_phrases | _GRAMMAR_WORDS | _single_words(elsewhere)
        return cls(terms, in_phrases, in_texts)


def _single_words(terms: Iterable[str]) -> frozenset[str]:
    return frozenset(word for term in terms for word in term.lower().split())


def parts_of(text: str) -> tuple[TemplatePart, ...]:
    """Split a template into its parts, one for each placeholder and each word.

    Raises:
        ValueError: the text is not made of words and known placeholders with one space between
            them.

    >>> [part.text for part in parts_of("a photo of {a} next to {b}")]
    ['a', 'photo', 'of', 'a', 'next', 'to', 'b']
    """
    parts = []
    for token in text.split(" "):
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise ValueError(
                f"expected words and placeholders with one space between them and only commas and "
                f'full stops after them, got {token!r}; write it like "a photo of {{a}} next to '
                f'{{b}}".'
            )
        word, stop = match[1], match[2]
        if not word.startswith("{"):
            parts.append(TemplatePart("words", word, 0, stop))
            continue
        name = word[1:-1]
        if name not in PLACEHOLDERS:
            raise ValueError(f"unknown placeholder {word}; {did_you_mean(name, [*PLACEHOLDERS])}")
        kind, place = PLACEHOLDERS[name]
        parts.append(TemplatePart(kind, name, place, stop))
    return tuple(parts)


def template_mistakes(
    templates: Mapping[str, str], taken: tuple[str, ...], words: FamilyWords
) -> Iterator[str]:
    """Find the declared templates that are refused.

    Args:
        templates: the text of each declared template, by name.
        taken: names of the templates of the grammar.
        words: the words of the family.

    Yields:
        A sentence for each, which says how to fix it.
    """
    accepted: dict[str, tuple[str, ...]] = {}
    for name, text in templates.items():
        try:
            if not re.fullmatch("[a-z][a-z0-9-]*", name):
                raise ValueError('expected a name of small letters, digits and "-"; rename it.')
            if name in taken:
                raise ValueError(
                    "the grammar has a template of this name; give yours another name."
                )
            parts = parts_of(text)
            _check_placeholders(parts)
            _check_words(parts, words)
        except ValueError as error:
            yield f"templates.{name}: {error}"
        else:
            accepted[name] = _marks(parts, words)
    for (one, marks), (other, other_marks) in combinations(accepted.items(), 2):
        # Marks are in every text of a template, so templates with other marks share no text.
        if marks == other_marks:
            yield (
                f"templates.{one} and templates.{other} could write the same text with two "
                f"readings; add a word to one of them that no object, value or relation has."
            )


def _check_placeholders(parts: tuple[TemplatePart, ...]) -> None:
    """Objects are introduced in order, each once; a relation joins the first to the second."""
    slots = [part for part in parts if part.kind != "words"]
    introduced = [part for part in slots if part.kind in (*INTRODUCES_ONE, "list")]
    if not introduced:
        raise ValueError("it names no object; add {a}, or {list} for all objects.")
    if any(part.kind == "list" for part in slots) and len(slots) > 1:
        raise ValueError(
            "{list} stands for all objects of a caption; remove the other placeholders."
        )
    if [part.place for part in introduced] != list(range(len(introduced))):
        raise ValueError(
            "expected each object once and in order: {a} (or {x}), then {b} (or {y}), then {c} (or "
            "{z}); reorder them."
        )
    # "The cube" has to repeat what the text has introduced.
    for at, part in enumerate(slots):
        before = [other.place for other in slots[:at] if other.kind in INTRODUCES_ONE]
        if part.kind == "definite" and part.place not in before:
            raise ValueError(
                f"{{{part.text}}} repeats an object that is not introduced before it; move it back."
            )
    _check_relation(slots, len(introduced))
    if any(part.stop == "." for part in parts) and parts[-1].stop != ".":
        raise ValueError(
            "it has a full stop inside and none at its end; add one, or remove the one inside."
        )


def _check_relation(slots: list[TemplatePart], n_objects: int) -> None:
    """A relation stands between the first object and the second."""
    relation_slots = [at for at, part in enumerate(slots) if part.kind == "relation"]
    if not relation_slots:
        return
    # The objects whose placeholders stand beside the relation; None at either end of the template.
    objects_beside: list[int | None] = []
    for at in (relation_slots[0] - 1, relation_slots[0] + 1):
        is_object = 0 <= at < len(slots) and slots[at].kind != "relation"
        objects_beside.append(slots[at].place if is_object else None)
    if len(relation_slots) > 1 or n_objects != 2 or objects_beside != [0, 1]:
        raise ValueError(
            "{relation} joins the first of two objects to the second; place it once, after {a} and "
            "before {b}."
        )


def _check_words(parts: tuple[TemplatePart, ...], words: FamilyWords) -> None:
    """The template's own words say nothing that the family declares, and show where each phrase
    ends."""
    for run in _runs(parts):
        for term, declared_at in words.terms.items():
            if f" {term.lower()} " in f" {' '.join(run)} ":
                raise ValueError(
                    f"its words contain '{term}', which means {declared_at}; use another word, or "
                    f"a placeholder."
                )
        # The form asserts each object once, whatever the template's words say.
        denials = [word for word in run if word in _DENIALS]
        if denials:
            raise ValueError(f"'{denials[0]}' would deny or count what it names; use another word.")
    if not any(word not in words.in_texts for run in _runs(parts) for word in run):
        raise ValueError(
            "all its words occur in other captions too, so that a text could have two readings; "
            'add a word that no object, value, relation or environment has, such as "showing".'
        )
    for one, other, between in _gaps(parts):
        # A relation's words end where an article begins, so "{relation} {b}" needs no word between.
        ends_itself = one.kind == "relation" and not between and other.kind in _HAS_ARTICLE
        if not ends_itself and not any(word not in words.in_phrases for word in between):
            raise ValueError(
                f"between {{{one.text}}} and {{{other.text}}} stands no word that ends the first, "
                f"so that a text could have two readings; add a word there that no object, value "
                f'or relation has, such as "beside".'
            )


def _marks(parts: tuple[TemplatePart, ...], words: FamilyWords) -> tuple[str, ...]:
    """The words that no phrase in a placeholder has, in order: equal for all texts of a
    template."""
    marks: list[str] = []
    for part in parts:
        marks += [word for word in _lower(part) if word not in words.in_phrases]
    return tuple(marks)


def _lower(part: TemplatePart) -> list[str]:
    """The words that a part adds to every text, in small letters, with its punctuation."""
    own = [part.text.lower()] if part.kind == "words" else []
    return [*own, part.stop] if part.stop else own


def _runs(parts: tuple[TemplatePart, ...]) -> Iterator[list[str]]:
    """The words before, between and after the placeholders."""
    run: list[str] = []
    for part in parts:
        if part.kind != "words":
            yield run
            run = []
        run += _lower(part)
    yield run


def _gaps(
    parts: tuple[TemplatePart, ...],
) -> Iterator[tuple[TemplatePart, TemplatePart, list[str]]]:
    """Each two neighbouring placeholders, and the words between them."""
    slots = [part for part in parts if part.kind != "words"]
    between = list(_runs(parts))[1:-1]
    for (one, other), run in zip(pairwise(slots), between, strict=True):
        yield one, other, run
