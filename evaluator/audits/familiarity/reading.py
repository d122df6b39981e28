"""How captions and phrases become bindings: which extractor finds phrases, and which nouns count as the same."""

import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from evaluator.audits.familiarity.lemmas import singular
from evaluator.audits.familiarity.noun_phrases import NounPhrases, SpacyPhrases
from generator.base.errors import UserError
from generator.base.limits import MOST_LIST, read_text

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
    """Each attribute of a phrase with its object, the last word; an attribute that is repeated twice, since the number
    of words decides: one binding is a perfect one, of several each is a close one, a bare noun has none (appendix B.5).
    noun: what an object is matched by.

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


RULES, SPACY = "rules", "spacy:"
LEMMAS, EXACT = "lemmas", "exact"
"""Nouns in the singular, as BindSplit matches them (appendix B.3), or as they stand. Attributes stand as they are in
both."""
MATCHES: dict[str, Callable[[str], str]] = {LEMMAS: singular, EXACT: str}


@dataclass(frozen=True)
class Reading:
    """extractor: RULES, or SPACY and the name of a pipeline that is installed. match: one of MATCHES.

    Raises UserError where an extractor is used that there is not.
    """

    extractor: str = RULES
    match: str = LEMMAS

    @property
    def key(self) -> str:
        """What tells the counts of a corpus from those of another reading."""
        return f"{self.extractor} {_extractor(self.extractor).version}, {self.match}"

    def noun(self, word: str) -> str:
        """A noun as it is matched."""
        return MATCHES[self.match](word)

    def phrases(self, caption: str) -> Sequence[str]:
        """The noun phrases of a caption."""
        return _extractor(self.extractor)(caption)

    def of_phrase(self, phrase: str) -> list[Binding]:
        """`evaluator.audits.familiarity.reading.of_phrase` with the nouns of this match."""
        return of_phrase(phrase, MATCHES[self.match])

    def of_caption(self, caption: str) -> list[Binding]:
        """The bindings of any caption, each once."""
        return of_caption(caption, _extractor(self.extractor), MATCHES[self.match])

    def of_strict(self, caption: str) -> list[Binding]:
        """The bindings of "the a1 o1 and the a2 o2"; none of any other caption."""
        return of_strict(caption, MATCHES[self.match])


DEFAULT = Reading()


@lru_cache(maxsize=1)
def _extractor(name: str) -> NounPhrases | SpacyPhrases:
    if name == RULES:
        return NounPhrases()
    if name.startswith(SPACY) and name != SPACY:
        return SpacyPhrases(name.removeprefix(SPACY))
    raise UserError(
        f"Expected the extractor {RULES} or {SPACY}MODEL, got '{name}'; write for example {SPACY}en_core_web_sm."
    )


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Synonyms:
    """For each word those of all its groups, itself among them; nouns as `reading` matches them. groups: how many
    there are."""

    attributes: Mapping[str, frozenset[str]]
    objects: Mapping[str, frozenset[str]]
    groups: int

    def counts(
        self, bindings: Iterable[Binding], counts: Mapping[Binding, tuple[int, int]]
    ) -> dict[Binding, tuple[int, int]]:
        """The perfect and close count of each binding with those of all bindings that match it."""
        found = {}
        for binding in set(bindings):
            each = [counts.get(alike, (0, 0)) for alike in self.alike(binding)]
            found[binding] = (sum(perfect for perfect, _ in each), sum(close for _, close in each))
        return found

    def alike(self, binding: Binding) -> Iterator[Binding]:
        """The bindings that match one, itself among them."""
        attribute, noun = binding
        return product(
            self.attributes.get(attribute, frozenset([attribute])), self.objects.get(noun, frozenset([noun]))
        )


def read_synonyms(path: Path, reading: Reading) -> Synonyms:
    """Groups of words from a text file: one a line, words separated by commas; lines that start with # are comments.

    A word may be in several groups; it matches the words of each. Raises UserError for a line with less than two words,
    and for a file that cannot be read. Names of several words match nothing, since an object is one word; how many
    there are is logged.
    """
    try:
        lines = read_text(path, MOST_LIST).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); give a text file with a group of words a line.") from None
    attributes: dict[str, set[str]] = defaultdict(set)
    objects: dict[str, set[str]] = defaultdict(set)
    groups = several = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = {normalised(word) for word in line.split(",")} - {""}
        if len(words) < 2:
            raise UserError(f"{path}, line {number}: expected words separated by commas, got '{line.strip():.60}'.")
        single = {word for word in words if " " not in word}
        several += len(words) - len(single)
        groups += 1
        nouns = {reading.noun(word) for word in single}
        for word in single:
            attributes[word] |= single
        for noun in nouns:
            objects[noun] |= nouns
    if several:
        logger.info(f"{several:,} names of several words in {path} match nothing: an object or attribute is one word.")
    return Synonyms(_frozen(attributes), _frozen(objects), groups)


def _frozen(sets: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {word: frozenset(words) for word, words in sets.items()}
