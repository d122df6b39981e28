"""Noun phrases of captions by rules over a lexicon: "a small white dog on a red couch" has "small
white dog" and "red couch".

A phrase is a noun and the adjectives, participles and nouns before it. Articles, possessives,
quantities and adverbs are left out, and so is the "and" between two adjectives (BindSplit, appendix
B.2; the published extractor is a language model).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.files import read_text, read_toml

ENGLISH = read_toml(Path(__file__).with_name("english.toml"), "list of words")
_FILE = "en/en-lexicon.txt"


@lru_cache(maxsize=1)
def parts_of_speech() -> dict[str, str]:
    """Penn Treebank tags by lower-case word. A lower-case entry wins over a capitalised one.

    The lexicon is that of Brill's tagger (Brill 1992; Brown corpus and Penn Treebank), MIT licence.
    Raises UserError if textblob is not installed. The package is not imported: only its file is
    read.
    """
    check_installed("textblob")
    spec = find_spec("textblob")
    folder = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
    tags: dict[str, str] = {}
    for line in read_text(folder / _FILE).splitlines():
        word, _, tag = line.partition(" ")
        if tag and not word.startswith(";;;"):
            if word.islower():
                tags[word] = tag
            else:
                tags.setdefault(word.lower(), tag)
    return tags


_TOKEN = re.compile(r"'s\b|[^\W_]+(?:[-'’](?!s\b)[^\W_]+)*|[^\s\w]")
"""A possessive, a word, also one with hyphens or apostrophes inside, or a punctuation mark."""
_COMPLEX = re.compile(
    r"\b(?:in front|on top|on the top|at the top|in back) of\b"
    r"|\bnext to\b|\b(?:a|the) (?:lot|number) of\b"
)
"""Phrases that are read as the preposition "of"."""

# Classes of words: determiner, quantity, adjective, noun, -ing, past participle, other verb,
# preposition, word before a verb, conjunction, comma, adverb, end of any phrase. Classes that can
# join modifiers are symbols, not letters.
_DET, _QUANTITY, _ADJ, _NOUN, _ING, _PAST, _VERB, _PREP, _LINK, _AND, _COMMA, _ADV, _END = (
    "dqangpvil&,~."
)
_OPENS = frozenset((_DET, _QUANTITY, _ADJ))
"""Classes of words that can begin a noun phrase."""
_TAGS = {
    _DET: "DT PRP$",
    _QUANTITY: "PDT CD",
    _ADJ: "JJ JJR JJS",
    _NOUN: "NN NNS NNP NNPS FW",
    _ING: "VBG",
    _PAST: "VBN VBD",
    _VERB: "VB VBP VBZ MD",
    _PREP: "IN RP",
    _LINK: "TO",
    _AND: "CC",
    _COMMA: ",",
    _ADV: "RB RBR RBS",
}
_PENN = {tag: own for own, tags in _TAGS.items() for tag in tags.split()}
"""By tag of the Penn Treebank, the class of a word."""
# Modifiers, which may be joined ("black and white", "small, old", "big, very old"), up to the last
# noun; later modifiers belong to no phrase.
_PHRASE = re.compile("((?:[agp](?:[&,~]{1,3}(?=[ap]))?)*n(?:[agpn]*n)?)[agp]*")


class NounPhrases:
    """Extractor of noun phrases by rules over the lexicon."""

    version = "1"
    """Part of the cache key: with a new version, corpora are counted again."""

    def __init__(self) -> None:
        own = {word: tag for tag, words in ENGLISH["tags"].items() for word in words.split()}
        self._classes = {
            word: _PENN.get(tag, _END) for word, tag in (parts_of_speech() | own).items()
        }

    def __call__(self, caption: str) -> list[str]:
        """The noun phrases of a caption in order, in lower case, words separated by single
        spaces."""
        words = _TOKEN.findall(_COMPLEX.sub(" of ", caption.lower().replace("’", "'")))
        classes = "".join(_resolved(words, [self._class(word) for word in words]))
        phrases = []
        for match in _PHRASE.finditer(classes):
            phrase = words[match.start() : match.end(1)]
            if not match[1].isalpha():
                phrase = [word for word, own in zip(phrase, match[1], strict=True) if own.isalpha()]
            phrases.append(" ".join(phrase))
        return phrases

    def _class(self, word: str) -> str:
        word_class = self._classes.get(word)
        if word_class is None:
            word_class = self._classes[word] = (
                _guess(word) if len(self._classes) < 1 << 20 else _NOUN
            )
        return word_class


def _guess(word: str) -> str:
    """The class of a word that the lexicon lacks."""
    if not word[0].isalnum():
        return _END
    if word[0].isdigit():
        return _QUANTITY
    for suffix, word_class in (("ly", _ADV), ("ing", _ING), ("ed", _PAST)):
        if word.endswith(suffix) and len(word) > len(suffix) + 2:
            return _ADJ if "-" in word else word_class
    return _NOUN


def _resolved(words: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Correct the words' classes by their neighbours: a verb form can be a modifier or noun, a noun
    can be a verb, an adjective can be a noun."""
    resolved: list[str] = []
    before = _END
    for place, own in enumerate(classes):
        after = classes[place + 1] if place + 1 < len(classes) else _END
        if own in (_ING, _PAST):
            own = _participle(own, before, after=after, resolved=resolved)
        elif own == _VERB:
            own = _verb(before, after)
        elif (
            own == _NOUN
            and before == _NOUN
            and after == _DET
            and words[place].endswith(("s", "ing"))
        ):
            own = _VERB
        elif (
            own == _ADJ
            and before in (_DET, _ADJ)
            and after not in (_ADJ, _ING, _PAST, _NOUN, _AND, _COMMA, _VERB)
        ):
            own = _NOUN if _has_article(resolved) else own
        resolved.append(own)
        before = own
    return resolved


def _participle(own: str, before: str, *, after: str, resolved: Sequence[str]) -> str:
    """The tag of a participle, by the tags before and after it. resolved: all tags before it.

    "a smiling woman", "a horse drawn carriage", "the left"; but "a man riding a horse".
    """
    precedes_noun = after in (_NOUN, _ADJ)
    if before in _OPENS:
        if precedes_noun or after in (_ING, _PAST, _VERB):
            return own
        # "the left", where the participle is the noun.
        return _NOUN if before == _DET else _VERB
    # "a horse drawn carriage": the noun before belongs to the participle.
    is_between_nouns = own == _PAST and before == _NOUN and after == _NOUN
    if is_between_nouns and len(resolved) > 1 and resolved[-2] in _OPENS:
        return own
    is_listed = own == _PAST and before in (_COMMA, _AND)
    if is_listed or before in (_PREP, _END, _ADV):
        return own if precedes_noun else _VERB
    return _VERB


def _verb(before: str, after: str) -> str:
    """The tag of a word that can be a verb or a noun, by the tags before and after it.

    "the stands", "of play"; but "a man stands", "to play".
    """
    if before in (_DET, _ADJ, _ING, _PAST, _PREP):
        return _NOUN
    return _NOUN if before == _QUANTITY and after != _DET else _VERB


def _has_article(resolved: Sequence[str]) -> bool:
    """Whether an article stands before the adjectives at the end."""
    return "".join(resolved).rstrip(_ADJ).endswith(_DET)


_NOUNS = ("NOUN", "PROPN")
_PARTS_OF_PHRASES = (*_NOUNS, "ADJ", "VERB")
_UNUSED = ("ner", "lemmatizer")


class SpacyPhrases:
    """Extractor by spaCy: its noun chunks up to the head, without determiners, numbers, adverbs and
    conjunctions. version: the pipeline and spaCy with their versions."""

    def __init__(self, model: str) -> None:
        """model: the name of an installed pipeline, or its folder. Raises UserError if it cannot be
        loaded, or has no parser or no part-of-speech tags."""
        check_installed("spacy")
        import spacy

        try:
            self._pipeline: Any = spacy.load(model, exclude=_UNUSED)
            doc = self._pipeline("a red car")
            list(doc.noun_chunks)
        # spaCy raises NotImplementedError for a language in which it has no noun chunks.
        except (OSError, ValueError, ImportError, NotImplementedError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise UserError(
                f"spaCy cannot find noun phrases with '{model}' ({reason}); name a pipeline that "
                f"is installed."
            ) from None
        if not doc.has_annotation("POS"):
            raise UserError(
                f"The spaCy pipeline '{model}' gives no part-of-speech tags; name one with a "
                f"tagger."
            )
        self.version = (
            f"{self._pipeline.meta['name']} {self._pipeline.meta['version']}, spaCy "
            f"{spacy.__version__}"
        )

    def __call__(self, caption: str) -> list[str]:
        """As NounPhrases.__call__."""
        return [
            " ".join(word.lower_ for word in chunk if word.pos_ in _PARTS_OF_PHRASES)
            for chunk in self._pipeline(caption).noun_chunks
            if chunk.root.pos_ in _NOUNS
        ]
