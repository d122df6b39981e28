"""Noun phrases of captions by rules over a lexicon: "a small white dog on a red couch" has "small white dog" and "red
couch".

A phrase is a noun and the adjectives, participles and nouns before it. Articles, possessives, quantities and adverbs
are left out, and so is the "and" between two adjectives (BindSplit, appendix B.2; the published extractor is a language
model).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.files import read_text

_FILE = "en/en-lexicon.txt"


@lru_cache(maxsize=1)
def parts_of_speech() -> dict[str, str]:
    """Tags of the Penn Treebank by word, of those that are written in lower case as such.

    The lexicon is that of Brill's tagger (Brill 1992; Brown corpus and Penn Treebank), MIT licence. Raises UserError
    where textblob is not installed. The package is not imported: only its file is read.
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


VERSION = 1
"""Counts of a corpus are made again where this is another number."""
_TOKEN = re.compile(r"'s\b|[^\W_]+(?:[-'’](?!s\b)[^\W_]+)*|[^\s\w]")
_COMPLEX = re.compile(
    r"\b(?:in front|on top|on the top|at the top|in back) of\b|\bnext to\b|\b(?:a|the) (?:lot|number) of\b"
)

# What a word can be: determiner, quantity, adjective, noun, -ing, past participle, other verb, preposition, before a
# verb, conjunction, comma, adverb, or the end of any phrase.
_DET, _QUANTITY, _ADJ, _NOUN, _ING, _PAST, _VERB, _PREP, _LINK, _AND, _COMMA, _ADV, _END = range(13)
_MODIFIES = frozenset((_ADJ, _NOUN, _ING, _PAST))
_OPENS = frozenset((_DET, _QUANTITY, _ADJ))

_WORDS: dict[str, int] = {
    **dict.fromkeys(
        ["a", "an", "the", "his", "her", "its", "their", "my", "your", "our", "'s", "this", "these", "those"], _DET
    ),
    **dict.fromkeys(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "dozen",
            "dozens",
            "hundred",
            "hundreds",
            "several",
            "many",
            "few",
            "some",
            "any",
            "all",
            "both",
            "each",
            "every",
            "another",
            "other",
            "others",
            "more",
            "most",
            "much",
            "multiple",
            "numerous",
            "various",
            "half",
            "such",
            "no",
            "lots",
        ],
        _QUANTITY,
    ),
    **dict.fromkeys(["and", "or", "&", "/"], _AND),
    **dict.fromkeys(
        [
            "to",
            "while",
            "by",
            "for",
            "before",
            "after",
            "when",
            "as",
            "without",
            "from",
            "who",
            "that",
            "which",
            "not",
            "n't",
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "being",
            "am",
            "has",
            "have",
            "had",
            "having",
            "does",
            "do",
            "did",
            "can",
            "could",
            "will",
            "would",
            "may",
            "might",
            "out",
            "up",
            "down",
            "off",
            "over",
            "around",
            "along",
            "about",
        ],
        _LINK,
    ),
    **dict.fromkeys(
        [
            "looks",
            "seems",
            "appears",
            "gets",
            "makes",
            "sits",
            "stands",
            "has",
            "rides",
            "walks",
            "plays",
            "holds",
            "lies",
            "lays",
            "eats",
            "runs",
            "wears",
            "watches",
            "hangs",
            "flies",
            "uses",
            "takes",
            "looks",
            "shows",
            "waits",
            "poses",
            "jumps",
            "talks",
            "drinks",
            "reaches",
            "drives",
            "rests",
            "throws",
            "catches",
            "swings",
            "hits",
            "cuts",
            "travels",
            "crosses",
            "grazes",
            "displays",
            "sleeps",
            "smiles",
            "leans",
            "carries",
            "pulls",
            "blows",
            "pushes",
            "rolls",
            "chases",
            "approaches",
            "stares",
            "wears",
            "touches",
            "turns",
            "serves",
            "prepares",
            "performs",
            "depicts",
            "contains",
            "features",
            "sit",
            "stand",
            "lay",
            "lie",
            "hang",
            "let",
            "lets",
            "put",
        ],
        _VERB,
    ),
    **dict.fromkeys(
        [
            "near",
            "like",
            "past",
            "inside",
            "outside",
            "behind",
            "beneath",
            "beside",
            "alongside",
            "atop",
            "among",
            "amongst",
            "amid",
            "onto",
            "into",
            "upon",
            "through",
            "throughout",
            "toward",
            "towards",
            "underneath",
            "above",
            "below",
            "under",
            "across",
            "against",
            "between",
            "beyond",
            "during",
            "with",
            "within",
            "on",
            "in",
            "at",
            "of",
            "via",
            "per",
        ],
        _PREP,
    ),
    **dict.fromkeys(["close", "next", "very", "so", "too", "together", "apart", "away", "also", "just", "ready"], _ADV),
    **dict.fromkeys(
        [
            "red",
            "orange",
            "yellow",
            "green",
            "blue",
            "purple",
            "pink",
            "white",
            "black",
            "brown",
            "gray",
            "grey",
            "tan",
            "beige",
            "silver",
            "gold",
            "golden",
            "wooden",
            "stuffed",
            "front",
            "young",
            "little",
            "dark",
            "light",
            "open",
            "male",
            "female",
            "flat",
            "left",
            "right",
            "top",
            "bottom",
            "back",
            "round",
        ],
        _ADJ,
    ),
    **dict.fromkeys(
        [
            "he",
            "she",
            "it",
            "they",
            "them",
            "him",
            "you",
            "we",
            "us",
            "i",
            "me",
            "someone",
            "something",
            "himself",
            "herself",
            "itself",
            "themselves",
            "there",
            "here",
            "what",
            "where",
            "how",
        ],
        _END,
    ),
    **dict.fromkeys(
        [
            "stop",
            "skate",
            "match",
            "prop",
            "bear",
            "bears",
            "sink",
            "building",
            "buildings",
            "ceiling",
            "wedding",
            "railing",
            "clothing",
            "awning",
            "parking",
            "living",
            "dining",
            "evening",
            "morning",
            "bed",
            "shed",
            "sled",
        ],
        _NOUN,
    ),
}
"""Words of captions that the lexicon, of newspapers, has otherwise or not at all, and those that end phrases."""
_PENN = {
    "NN": _NOUN,
    "NNS": _NOUN,
    "NNP": _NOUN,
    "NNPS": _NOUN,
    "FW": _NOUN,
    "JJ": _ADJ,
    "JJR": _ADJ,
    "JJS": _ADJ,
    "VBG": _ING,
    "VBN": _PAST,
    "VBD": _PAST,
    "VB": _VERB,
    "VBP": _VERB,
    "VBZ": _VERB,
    "MD": _VERB,
    "IN": _PREP,
    "TO": _LINK,
    "RP": _PREP,
    "CC": _AND,
    "RB": _ADV,
    "RBR": _ADV,
    "RBS": _ADV,
    "DT": _DET,
    "PRP$": _DET,
    "PDT": _QUANTITY,
    "CD": _QUANTITY,
    ",": _COMMA,
}


class NounPhrases:
    """The extractor. `tags`: the most frequent tag of each word, by default those of the lexicon."""

    version = str(VERSION)

    def __init__(self, tags: Mapping[str, str] | None = None) -> None:
        tags = parts_of_speech() if tags is None else tags
        self._classes = {word: _PENN.get(tag, _END) for word, tag in tags.items()} | _WORDS

    def __call__(self, caption: str) -> list[str]:
        """The phrases of a caption in its order, words separated by single spaces, in lower case."""
        words = _TOKEN.findall(_COMPLEX.sub(" of ", caption.lower().replace("’", "'")))
        classes = [self._class(word) for word in words]
        return [" ".join(phrase) for phrase in _phrases(words, _resolved(words, classes))]

    def _class(self, word: str) -> int:
        found = self._classes.get(word)
        if found is None:
            found = self._classes[word] = _guess(word) if len(self._classes) < 1 << 20 else _NOUN
        return found


def _guess(word: str) -> int:
    """The class of a word that the lexicon lacks."""
    if not word[0].isalnum():
        return _END
    if word[0].isdigit():
        return _QUANTITY
    for suffix, found in (("ly", _ADV), ("ing", _ING), ("ed", _PAST)):
        if word.endswith(suffix) and len(word) > len(suffix) + 2:
            return _ADJ if "-" in word else found
    return _NOUN


def _resolved(words: Sequence[str], classes: Sequence[int]) -> list[int]:
    """The classes of a caption's words where each stands: a form of a verb may modify a noun or be one, a noun be a
    verb."""
    found: list[int] = []
    before = _END
    for place, own in enumerate(classes):
        after = classes[place + 1] if place + 1 < len(classes) else _END
        if own in (_ING, _PAST):
            own = _participle(own, before, after, found)
        elif own == _VERB:
            own = _verb(before, after)
        elif own == _NOUN and before == _NOUN and after == _DET and words[place].endswith(("s", "ing")):
            own = _VERB
        elif own == _ADJ and before in (_DET, _ADJ) and after not in (_ADJ, _ING, _PAST, _NOUN, _AND, _COMMA, _VERB):
            own = _NOUN if _opened(found) else own
        found.append(own)
        before = own
    return found


def _participle(own: int, before: int, after: int, found: Sequence[int]) -> int:
    """ "a smiling woman", "a horse drawn carriage", "the left"; but "a man riding a horse"."""
    nominal = after in (_NOUN, _ADJ)
    if before in _OPENS:
        return own if nominal or after in (_ING, _PAST, _VERB) else _NOUN if before == _DET else _VERB
    if before == _NOUN and own == _PAST and after == _NOUN and len(found) > 1 and found[-2] in _OPENS:
        return own
    if before in (_PREP, _END, _ADV) or (before == _COMMA and own == _PAST) or (before == _AND and own == _PAST):
        return own if nominal else _VERB
    return _VERB


def _verb(before: int, after: int) -> int:
    """ "the stands", "of play"; but "a man stands", "to play"."""
    return _NOUN if before in (_DET, _ADJ, _ING, _PAST, _PREP) or (before == _QUANTITY and after != _DET) else _VERB


def _opened(found: Sequence[int]) -> bool:
    """Whether an article stands before the adjectives at the end."""
    for own in reversed(found):
        if own != _ADJ:
            return own == _DET
    return False


def _phrases(words: Sequence[str], classes: Sequence[int]) -> Iterator[list[str]]:
    place, end = 0, len(words)
    while place < end:
        if classes[place] not in _MODIFIES:
            place += 1
            continue
        phrase, head = [], -1
        while place < end:
            own = classes[place]
            if own in _MODIFIES:
                phrase.append(words[place])
                if own == _NOUN:
                    head = len(phrase)
                place += 1
            elif head < 0 and (gap := _gap(classes, place)):
                place += gap
            else:
                break
        if head > 0:
            yield phrase[:head]


def _gap(classes: Sequence[int], place: int) -> int:
    """How many words join two adjectives here: "black and white", "small, old", "big, very old"; 0 for none."""
    gap = 0
    while place + gap < len(classes) and gap < 3 and classes[place + gap] in (_AND, _COMMA, _ADV):
        gap += 1
    after = classes[place + gap] if place + gap < len(classes) else _END
    return gap if after in (_ADJ, _PAST) else 0


_NOUNS = ("NOUN", "PROPN")
_KEPT = (*_NOUNS, "ADJ", "VERB")
_UNUSED = ("ner", "lemmatizer")


class SpacyPhrases:
    """The extractor: spaCy's noun chunks up to their head, without determiners, numbers, adverbs and conjunctions.
    version: which pipeline it is."""

    def __init__(self, model: str) -> None:
        """model: the name of an installed pipeline, or its folder. Raises UserError where there is none, or it has no
        parser or no parts of speech."""
        check_installed("spacy")
        import spacy

        try:
            self._pipeline: Any = spacy.load(model, exclude=_UNUSED)
            doc = self._pipeline("a red car")
            list(doc.noun_chunks)
        except (OSError, ValueError, ImportError, NotImplementedError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise UserError(
                f"spaCy cannot find noun phrases with '{model}' ({reason}); name a pipeline that is installed."
            ) from None
        if not doc.has_annotation("POS"):
            raise UserError(f"The pipeline '{model}' of spaCy tells no parts of speech; name one with a tagger.")
        self.version = f"{self._pipeline.meta['name']} {self._pipeline.meta['version']}, spaCy {spacy.__version__}"

    def __call__(self, caption: str) -> list[str]:
        """The phrases of a caption in its order, words separated by single spaces, in lower case."""
        return [
            " ".join(word.lower_ for word in chunk if word.pos_ in _KEPT)
            for chunk in self._pipeline(caption).noun_chunks
            if chunk.root.pos_ in _NOUNS
        ]
