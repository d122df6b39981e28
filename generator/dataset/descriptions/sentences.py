"""Cuts prose into sentences, and a sentence into terms with what the parser must know ahead."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .description import Span
from .lexicon import Lexicon, Term

MOST_PROSE = 50_000
"""Most characters of prose that are read, so that a million take no longer. A description of ten
objects with all their relations has some 5,000."""
_SENTENCE = re.compile(r"[^.!?;\n]*(?:[.!?;]+|\n+|$)")
_DECORATION = re.compile(r"[*_#`\"“”•·~]+")
_LIST_NUMBER = re.compile(r"\s*\(?\d{1,3}\s*[.):]?\s*$")
_BULLET = re.compile(r"\s*(?:[-–—+>]|\(?\d{1,3}[):])\s+")
_MODIFIERS = ("value", "scenic", "filler")
NOUNS = ("noun", "plural", "generic", "generics")
"""Classes of the nouns of objects."""
SCENERY = ("scenery", "container", "surface")
"""Classes of the nouns of scenery."""
_IN_VALUE_RUN = ("value", "comma", "and", "filler", "colored")


class Sentence(NamedTuple):
    """A sentence of an answer."""

    span: Span
    """Its place in the answer, without space around it."""
    text: str
    """Its characters from `span[0]` on; decoration is replaced by spaces."""
    is_question: bool
    """Whether it ends with a question mark."""


@dataclass(frozen=True)
class Lookahead:
    """What follows each term of a sentence, computed once from right to left, so that the parser
    never scans ahead twice."""

    after_values: Sequence[int]
    """For each term, the index of the first term from it on that cannot stand in a run of values:
    "red, small and metal"."""
    last_scenery: Sequence[int]
    """For each term, the index of the last word of scenery in the run of adjectives and scenery
    that begins there: of "plain gray studio floor" the floor. -1 without one, and if a noun
    follows the run."""


def split_sentences(answer: str, span: Span) -> Iterator[Sentence]:
    """Cut a part of an answer into sentences, at full stops, semicolons and line ends.

    Args:
        answer: the whole answer.
        span: the part.

    Yields:
        The sentences that hold a letter. Marks of emphasis, bullets and numbers of lists are left
        out.
    """
    for match in _SENTENCE.finditer(answer, *span):
        if match.start() == match.end():
            continue
        # Replaced by as many spaces, so that places stay those of the answer.
        raw = _DECORATION.sub(lambda marks: " " * len(marks[0]), match[0])
        bullet = _BULLET.match(raw)
        if bullet is not None:
            raw = " " * bullet.end() + raw[bullet.end() :]
        text = raw.strip(" \t\r\n.!?;")
        # "1." on a line of its own is cut like a sentence.
        if not text or _LIST_NUMBER.fullmatch(text):
            continue
        start = match.start() + len(raw) - len(raw.lstrip())
        end = match.start() + len(raw.rstrip())
        body = raw.strip().rstrip(".!?;")
        yield Sentence((start, end), body, "?" in raw)


def look_ahead(terms: Sequence[Term]) -> Lookahead:
    """Compute what follows each term of a sentence.

    Args:
        terms: of the sentence.

    Returns:
        Lists with one more entry than there are terms, for the end.
    """
    n = len(terms)
    after_values = [n] * (n + 1)
    last_scenery = [-1] * (n + 1)
    # Whether the run of adjectives and scenery that begins at the next term ends before a noun.
    ends_in_noun = False
    # From right to left, so that each entry needs only the next one.
    for i in range(n - 1, -1, -1):
        kind = terms[i].kind
        after_values[i] = after_values[i + 1] if kind in _IN_VALUE_RUN else i
        if kind in SCENERY:
            later = last_scenery[i + 1]
            last_scenery[i] = -1 if ends_in_noun else max(i, later)
        elif kind in _MODIFIERS:
            last_scenery[i] = last_scenery[i + 1]
        else:
            ends_in_noun = kind in (*NOUNS, "one")
    return Lookahead(after_values, last_scenery)


def terms_of(sentence: Sentence, lexicon: Lexicon) -> list[Term]:
    """Split a sentence into terms.

    Args:
        sentence: of an answer.
        lexicon: of the image's world.

    Returns:
        The terms, with their places in the answer.
    """
    return lexicon.split(sentence.text, sentence.span[0])
