"""Words that match one another: groups that a person gives, since a caption does not say which sense of a word it means."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from evaluator.audits.familiarity.bindings import Binding, normalised
from evaluator.audits.familiarity.reading import Reading
from generator.base.errors import UserError
from generator.base.limits import MOST_LIST, read_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Synonyms:
    """For each word those of all its groups, itself among them; nouns as `reading` matches them. groups: how many there are."""

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

    A word may be in several groups; it matches the words of each. Raises UserError for a line with less than two words, and for
    a file that cannot be read. Names of several words match nothing, since an object is one word; how many there are is logged.
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
