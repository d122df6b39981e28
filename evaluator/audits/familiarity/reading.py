"""How captions and phrases become bindings: which extractor finds phrases, and which nouns count as the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluator.audits.familiarity.bindings import Binding, of_caption, of_phrase, of_strict
from evaluator.audits.familiarity.lemmas import singular
from evaluator.audits.familiarity.noun_phrases import NounPhrases
from evaluator.audits.familiarity.spacy_phrases import SpacyPhrases
from generator.base.errors import UserError

RULES, SPACY = "rules", "spacy:"
LEMMAS, EXACT = "lemmas", "exact"
"""Nouns in the singular, as BindSplit matches them (appendix B.3), or as they stand. Attributes stand as they are in both."""
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
        """`evaluator.audits.familiarity.bindings.of_phrase` with the nouns of this match."""
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
