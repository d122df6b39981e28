"""Bindings: an attribute and the object that has it, from phrases and from captions (BindSplit, appendix B.3 to B.5)."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from evaluator.audits.familiarity.lemmas import singular

Binding = tuple[str, str]
"""An attribute and an object, in lower case and ASCII."""
Extractor = Callable[[str], Sequence[str]]
"""Gives the noun phrases of a caption, words separated by spaces, the object last."""
STRICT, FREE = "strict", "free"
"""How a caption is read: "the a1 o1 and the a2 o2" alone, or any text by its noun phrases."""
_STRICT = re.compile(r"the (\S+) (\S+) and the (\S+) (\S+)")
_LONGEST = 1 << 16
"""Characters of a phrase or caption that are read."""


def normalised(text: str) -> str:
    """Text in lower case and ASCII, with single spaces.

    >>> normalised("  Café\\u00a0Table ")
    'cafe table'
    """
    plain = unicodedata.normalize("NFKD", text[:_LONGEST]).encode("ascii", "ignore").decode()
    return " ".join(plain.lower().split())


def of_phrase(phrase: str, noun: Callable[[str], str] = singular) -> list[Binding]:
    """Each attribute of a phrase with its object, the last word; an attribute that is repeated twice, since the number of words
    decides: one binding is a perfect one, of several each is a close one, a bare noun has none (appendix B.5). noun: what an object
    is matched by.

    >>> of_phrase("small white dogs"), of_phrase("red couch"), of_phrase("chairs")
    ([('small', 'dog'), ('white', 'dog')], [('red', 'couch')], [])
    """
    *attributes, last = normalised(phrase).split() or [""]
    return [(attribute, noun(last)) for attribute in attributes]


def of_strict(caption: str, noun: Callable[[str], str] = singular) -> list[Binding]:
    """The two bindings of "the a1 o1 and the a2 o2"; none of any other caption (appendix B.4).

    >>> of_strict("the open door and the crouched man"), of_strict("the coffee table")
    ([('open', 'door'), ('crouched', 'man')], [])
    """
    found = _STRICT.fullmatch(normalised(caption))
    return [(found[1], noun(found[2])), (found[3], noun(found[4]))] if found else []


def of_caption(caption: str, phrases: Extractor, noun: Callable[[str], str] = singular) -> list[Binding]:
    """The bindings of the noun phrases of any caption, each once."""
    return unique(binding for phrase in phrases(caption) for binding in of_phrase(phrase, noun))


def unique(bindings: Iterable[Binding]) -> list[Binding]:
    """The bindings, each once, in their order."""
    return list(dict.fromkeys(bindings))
