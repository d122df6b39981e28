"""Extract attribute–object bindings from captions; match nouns by their singular, and words by
synonyms."""

import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from evaluator.provenance.noun_phrases import ENGLISH, NounPhrases, SpacyPhrases
from generator.base.errors import UserError
from generator.base.limits import MOST_LIST, read_text

logger = logging.getLogger(__name__)
Binding = tuple[str, str]
"""An attribute and an object, in lower case and ASCII."""
STRICT, FREE = "strict", "free"
"""Form of a caption: exactly "the a1 o1 and the a2 o2", or any text, which is read by its noun
phrases."""
RULES, SPACY = "rules", "spacy:"
"""Names of extractors of noun phrases. After SPACY stands the name of a pipeline."""
LEMMAS, EXACT = "lemmas", "exact"
"""Match nouns in the singular, as BindSplit does (appendix B.3), or unchanged. Attributes are never
changed."""
_STRICT = re.compile(r"the (\S+) (\S+) and the (\S+) (\S+)")
"""A caption of the form STRICT."""
_LONGEST = 1 << 16
"""Maximum characters of a phrase or caption; the rest is ignored."""


def normalised(text: str) -> str:
    """Text in lower case and ASCII, with single spaces.

    >>> normalised("  Café\\u00a0Table ")
    'cafe table'
    """
    # Decomposed, so that accents are dropped and their letters stay.
    decomposed = unicodedata.normalize("NFKD", text[:_LONGEST])
    plain = decomposed.encode("ascii", "ignore").decode()
    return " ".join(plain.lower().split())


def unique(bindings: Iterable[Binding]) -> list[Binding]:
    """The bindings without duplicates, in order."""
    return list(dict.fromkeys(bindings))


@dataclass(frozen=True)
class Reading:
    """How captions are read.

    Raises UserError at the first use of an unknown extractor.
    """

    extractor: str = RULES
    """What finds noun phrases: RULES, or SPACY and the name of an installed pipeline."""
    match: str = LEMMAS
    """How objects are matched: LEMMAS, by their singular, or EXACT, unchanged."""

    @property
    def key(self) -> str:
        """Cache key of this reading: the extractor with its version, and `match`."""
        return f"{self.extractor} {_extractor(self.extractor).version}, {self.match}"

    def noun(self, word: str) -> str:
        """A noun in the form that is matched: its singular for LEMMAS."""
        return singular(word) if self.match == LEMMAS else word

    def phrases(self, caption: str) -> Sequence[str]:
        """The noun phrases of a caption: words separated by spaces, the object last."""
        return _extractor(self.extractor)(caption)

    def of_phrase(self, phrase: str) -> list[Binding]:
        """The bindings of a phrase: each attribute with the object, which is the last word.
        Duplicates are kept, because the number of attributes decides the match.

        A single binding is a perfect match, several are close matches, a bare noun gives []
        (appendix B.5).

        >>> Reading().of_phrase("small white dogs"), Reading().of_phrase("chairs")
        ([('small', 'dog'), ('white', 'dog')], [])
        """
        *attributes, last = normalised(phrase).split() or [""]
        noun = self.noun(last)
        return [(attribute, noun) for attribute in attributes]

    def of_caption(self, caption: str, form: str = FREE) -> list[Binding]:
        """The bindings of a caption. FREE: the distinct bindings of its noun phrases. STRICT: the
        two bindings of "the a1 o1 and the a2 o2"; [] for any other caption (appendix B.4).

        >>> Reading().of_caption("the open door and the crouched men", STRICT)
        [('open', 'door'), ('crouched', 'man')]
        """
        if form == FREE:
            bindings = []
            for phrase in self.phrases(caption):
                bindings += self.of_phrase(phrase)
            return unique(bindings)
        match = _STRICT.fullmatch(normalised(caption))
        if match is None:
            return []
        first_attribute, first_object, second_attribute, second_object = match.groups()
        return [
            (first_attribute, self.noun(first_object)),
            (second_attribute, self.noun(second_object)),
        ]


DEFAULT = Reading()


@lru_cache(maxsize=1)
def _extractor(name: str) -> NounPhrases | SpacyPhrases:
    if name == RULES:
        return NounPhrases()
    if name.startswith(SPACY) and name != SPACY:
        return SpacyPhrases(name.removeprefix(SPACY))
    raise UserError(
        f"Expected the extractor {RULES} or {SPACY}MODEL, got '{name}'; write for example "
        f"{SPACY}en_core_web_sm."
    )


_NOUNS = {name: words.split() for name, words in ENGLISH["nouns"].items()}
IRREGULAR = dict(pair.split(":") for pair in _NOUNS["irregular"])
UNCHANGED_NOUNS = frozenset(_NOUNS["unchanged"])
_COMPOUND = tuple(_NOUNS["compound"])
_SINGULAR_IS = frozenset(_NOUNS["singular_is"])
_PLURAL_US = frozenset(_NOUNS["plural_us"])
_PLURAL_USES = frozenset(_NOUNS["plural_uses"])
"""Lists of nouns; english.toml explains each."""


@lru_cache(maxsize=1 << 17)
def singular(noun: str) -> str:
    """The singular of a lower-case noun; singular nouns are returned unchanged (BindSplit, appendix
    B.3).

    >>> nouns = "cars", "children", "glasses", "boxes", "cherries", "grass", "skis", "t-shirts"
    >>> [singular(noun) for noun in nouns]
    ['car', 'child', 'glasses', 'box', 'cherry', 'grass', 'ski', 't-shirt']
    """
    # The last part of a compound has the ending.
    head, dash, last = noun.rpartition("-")
    if dash:
        return head + dash + singular(last)
    if noun in UNCHANGED_NOUNS:
        return noun
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    for plural in _COMPOUND:
        if noun.endswith(plural):
            return noun.removesuffix(plural) + IRREGULAR[plural]
    if noun.endswith("children"):
        return noun[: -len("ren")]
    if noun.endswith("men"):
        return f"{noun[:-2]}an"
    return _without_s(noun) if noun.endswith("s") else noun


def _without_s(noun: str) -> str:
    """The singular of a noun that ends in s; the noun itself if its s is not a plural ending."""
    # After an apostrophe or a point the s is a possessive or an abbreviation.
    if len(noun) < 3 or noun[-2] in "'." or not _is_plural(noun):
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "shes", "ches", "xes", "zzes", "tzes", "oes")):
        return noun[:-2]
    if noun.endswith("es") and (noun[:-2] in UNCHANGED_NOUNS or noun[:-2] in _SINGULAR_IS):
        return noun[:-2]
    # "buses" loses two letters; "causes", "houses" and "excuses" lose one.
    is_of_us = noun.endswith("uses") and not noun.endswith(("auses", "euses", "ouses"))
    if is_of_us and noun not in _PLURAL_USES:
        return noun[:-2]
    return noun[:-1]


def _is_plural(noun: str) -> bool:
    """Whether the final s of a noun can be a plural ending."""
    if noun.endswith("is"):
        return noun not in _SINGULAR_IS and not noun.endswith(("sis", "itis", "polis", "ois"))
    if noun.endswith("us"):
        return noun in _PLURAL_US or (noun.endswith("aus") and not noun.endswith("laus"))
    return not noun.endswith("ss")


@dataclass(frozen=True)
class Synonyms:
    """Groups of words that match each other. A word can be in several groups, and then matches the
    words of all of them."""

    attributes: Mapping[str, set[str]]
    """{attribute: all attributes that match it, itself included}."""
    objects: Mapping[str, set[str]]
    """{noun, in the form that the reading matches: all nouns that match it, itself included}."""
    groups: int
    """The number of groups in the file."""

    def counts(
        self, bindings: Iterable[Binding], counts: Mapping[Binding, tuple[int, int]]
    ) -> dict[Binding, tuple[int, int]]:
        """Sum the counts of all bindings that match each binding.

        Args:
            bindings: The bindings to count.
            counts: {binding: (perfect, close)} of a corpus.

        Returns:
            {binding: (perfect, close)} with the sums.
        """
        counts_of_binding = {}
        for binding in set(bindings):
            perfect = 0
            close = 0
            for match in self.alike(binding):
                own_perfect, own_close = counts.get(match, (0, 0))
                perfect += own_perfect
                close += own_close
            counts_of_binding[binding] = (perfect, close)
        return counts_of_binding

    def alike(self, binding: Binding) -> Iterator[Binding]:
        """All bindings that match a binding, itself included."""
        attribute, noun = binding
        attributes = self.attributes.get(attribute, {attribute})
        nouns = self.objects.get(noun, {noun})
        return product(attributes, nouns)


def read_synonyms(path: Path, reading: Reading) -> Synonyms:
    """Read groups of words from a text file: a group per line, separated by commas; lines starting
    with # are comments.

    A word may be in several groups; it matches the words of each. Multi-word names match nothing,
    since an object is one word; their number is logged.

    Args:
        path: The file.
        reading: How captions are read, which decides the form of nouns.

    Returns:
        The groups.

    Raises:
        UserError: A line has fewer than two words, or the file cannot be read.
    """
    try:
        lines = read_text(path, MOST_LIST).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); give a text file with a group of words per line."
        ) from None
    attributes: dict[str, set[str]] = defaultdict(set)
    objects: dict[str, set[str]] = defaultdict(set)
    groups = 0
    several = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = {normalised(word) for word in line.split(",")} - {""}
        if len(words) < 2:
            raise UserError(
                f"{path}, line {number}: expected words separated by commas, got "
                f"'{line.strip():.60}'."
            )
        single = {word for word in words if " " not in word}
        several += len(words) - len(single)
        groups += 1
        # The file does not say which words are nouns, so each is entered as both.
        for word in single:
            attributes[word] |= single
        nouns = {reading.noun(word) for word in single}
        for noun in nouns:
            objects[noun] |= nouns
    if several:
        logger.info(
            f"{several:,} multi-word names in {path} match nothing: an object or attribute is one "
            f"word."
        )
    return Synonyms(dict(attributes), dict(objects), groups)
