"""Hard negatives and hard positives of natural captions, by rules over their noun phrases.

A negative changes the meaning of a caption, a positive keeps it. They are the texts of BindSplit's
fine-tuning (Peng et al. 2026, section 3.4: exchanged attributes, as in NegCLIP) and of Kamath et
al. 2024 (section 5.1: replacements and swaps; the authors' positives are written by a language
model). Only whole words are replaced: the published set replaced parts of words ("covecrimson").
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from evaluator.provenance.captions import DEFAULT
from generator.base.errors import UserError
from generator.base.streams import Stream

SYNONYMS = {
    "standing": "upright",
    "sitting": "seated",
    "walking": "strolling",
    "hanging": "dangling",
    "looking": "gazing",
    "white": "ivory",
    "black": "ebony",
    "blue": "sapphire",
    "brown": "chestnut",
    "red": "crimson",
    "green": "emerald",
    "large": "big",
    "small": "tiny",
    "long": "lengthy",
    "big": "large",
    "wet": "damp",
    "smiling": "happy",
    "old": "aged",
    "young": "youthful",
}
"""Attributes and their synonyms (Kamath et al. 2024, tables 5 and 6). "silver" (metallic), "clear"
(unclouded), "eating" (ingesting) and "huge" (big) are left out: they hold of some objects only."""
EXCLUSIVE = (
    (
        "black",
        "white",
        "blue",
        "brown",
        "red",
        "green",
        "yellow",
        "orange",
        "purple",
        "pink",
        "gray",
    ),
    ("large", "small"),
    ("big", "little"),
    ("long", "short"),
    ("wet", "dry"),
    ("old", "new"),
    ("open", "closed"),
    ("full", "empty"),
    ("clean", "dirty"),
    ("standing", "sitting"),
)
"""Attributes of which an object has at most one: a word becomes another of its line (CREPE, table
1)."""
_OTHERS: dict[str, list[str]] = {}
"""{attribute: the others of its line}."""
for _line in EXCLUSIVE:
    for _word in _line:
        _OTHERS[_word] = [other for other in _line if other != _word]
_DETERMINER = r"(?:(?:a|an|the|one|his|her|its|their|another)\s+)?"


class Phrase(NamedTuple):
    """A noun phrase in a caption: caption[start:end] is attributes and noun, without the
    article."""

    start: int
    """Index of the first character."""
    end: int
    """Index after the last character."""
    attributes: str
    """The words before the noun; "" for a bare noun."""
    noun: str
    """The last word."""


@dataclass(frozen=True)
class HardTexts:
    """The hard texts of a caption by kind, as `score train` takes them; a kind without a text is
    missing."""

    negatives: dict[str, list[str]] = field(default_factory=dict)
    """False texts, if the caption describes all that its nouns and attributes apply to."""
    positives: dict[str, list[str]] = field(default_factory=dict)
    """Texts that mean the same as the caption."""


def make_hard_texts(caption: str, seed: int = 0) -> HardTexts:
    """At most one negative and one positive of each kind (`swap`, `replace`) for a caption.

    Args:
        caption: an English caption. Phrases that occur twice in it are left as they are.
        seed: of the choice among several possible texts, which also depends on the caption.

    Returns:
        The texts by kind.

    >>> texts = make_hard_texts("A red car and a small dog")
    >>> texts.negatives["swap"], texts.positives["swap"]
    (['A small car and a red dog'], ['A small dog and a red car'])
    """
    phrases = find_phrases(caption)
    # By the caption, so that other lines of the corpus do not change its texts.
    stream = Stream("hard texts", seed, caption)

    def one_of(texts: Iterator[str]) -> list[str]:
        different = [text for text in dict.fromkeys(texts) if text != caption]
        return [different[stream.below(len(different))]] if different else []

    negatives = {
        "swap": one_of(_exchanged_attributes(caption, phrases)),
        "replace": one_of(_other_values(caption, phrases)),
    }
    positives = {
        "swap": one_of(_exchanged_phrases(caption, phrases)),
        "replace": one_of(_synonyms(caption, phrases)),
    }
    return HardTexts(_without_empty(negatives), _without_empty(positives))


def _without_empty(texts_of: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {kind: texts for kind, texts in texts_of.items() if texts}


def find_phrases(caption: str) -> list[Phrase]:
    """The noun phrases whose words stand together in the caption and occur once in it, in order."""
    phrases = []
    for words in DEFAULT.phrases(caption):
        *attributes, noun = words.split()
        # The extractor gives words in lower case with single spaces, so they are looked up again.
        # A phrase must not be a part of a longer word, such as "dog" of "hot-dog".
        own_words = r"\s+".join(map(re.escape, words.split()))
        pattern = rf"(?<![\w'-]){own_words}(?![\w'-])"
        places = [match.span() for match in re.finditer(pattern, caption, re.IGNORECASE)]
        # The extractor does not say which of several places it read.
        if len(places) == 1:
            start, end = places[0]
            phrases.append(Phrase(start, end, " ".join(attributes), noun))
    return sorted(set(phrases))


def add_hard_texts(lines: Sequence[str], *, corpus: str, seed: int = 0) -> list[str]:
    """Lines of a corpus with hard texts of their captions added, as JSON lines.

    Args:
        lines: JSON objects with a `caption`; empty lines are left out. A line keeps the negatives
            and positives that it has; kinds that it lacks are added.
        corpus: the name of the corpus, for messages.
        seed: as for `make_hard_texts`.

    Returns:
        The lines, without line breaks.

    Raises:
        UserError: a line is no JSON object with a string `caption`.
    """
    written = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _read_record(line)
        if record is None:
            raise UserError(
                f"Line {number} of {corpus} is not a line of a corpus; expected "
                '{"image": ..., "caption": ...}; correct it.'
            )
        hard_texts = make_hard_texts(record["caption"], seed)
        own_negatives = record.get("negatives") or {}
        own_positives = record.get("positives") or {}
        record["negatives"] = {**hard_texts.negatives, **own_negatives}
        record["positives"] = {**hard_texts.positives, **own_positives}
        written.append(json.dumps(record, ensure_ascii=False))
    return written


def _read_record(line: str) -> dict[str, Any] | None:
    """The JSON object of a line; None if it is none, or has no caption."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(record, dict) and isinstance(record.get("caption"), str)
    return record if known else None


def _exchanged_attributes(caption: str, phrases: Sequence[Phrase]) -> Iterator[str]:
    """Two phrases exchange their attributes: "a red car and a small dog" → "a small car and a red
    dog"."""
    described = [phrase for phrase in phrases if phrase.attributes]
    for first, second in combinations(described, 2):
        # With equal attributes or nouns the text would mean the same. Phrases may also overlap, and
        # then have no places to exchange.
        differ = first.attributes != second.attributes and first.noun != second.noun
        if differ and first.end <= second.start:
            new = {
                first: f"{second.attributes} {first.noun}",
                second: f"{first.attributes} {second.noun}",
            }
            yield _with_phrases(caption, new)


def _other_values(caption: str, phrases: Sequence[Phrase]) -> Iterator[str]:
    """One attribute becomes another that excludes it, and that the caption does not name."""
    named = set(re.findall(r"\w+", caption.lower()))
    for phrase, place, word in _attributes(phrases):
        for other in _OTHERS.get(word, ()):
            if other not in named:
                yield _with_word(caption, phrase, place=place, word=other)


def _synonyms(caption: str, phrases: Sequence[Phrase]) -> Iterator[str]:
    """One attribute becomes its synonym."""
    for phrase, place, word in _attributes(phrases):
        if word in SYNONYMS:
            yield _with_word(caption, phrase, place=place, word=SYNONYMS[word])


def _exchanged_phrases(caption: str, phrases: Sequence[Phrase]) -> Iterator[str]:
    """Two phrases joined by "and" at the end of a caption change places.

    Words after the second phrase could belong to it alone ("a dog and a cat on a mat"), so that the
    exchange would change the meaning.
    """
    for first, second in combinations(phrases, 2):
        pattern = (
            f"({_DETERMINER}{re.escape(caption[first.start : first.end])})"
            f"(\\s+and\\s+)({_DETERMINER}{re.escape(caption[second.start : second.end])})(?=\\W*$)"
        )
        match = re.search(r"(?<![\w'-])" + pattern, caption, re.IGNORECASE)
        if match:
            left, joined, right = match.groups()
            if left[0].isupper() and match.start() == 0:
                left = left[0].lower() + left[1:]
                right = right[0].upper() + right[1:]
            yield caption[: match.start()] + right + joined + left + caption[match.end() :]


def _attributes(phrases: Sequence[Phrase]) -> Iterator[tuple[Phrase, int, str]]:
    """Each attribute of each phrase: the phrase, the attribute's place in it, and the word."""
    for phrase in phrases:
        for place, word in enumerate(phrase.attributes.split()):
            yield phrase, place, word


def _with_word(caption: str, phrase: Phrase, *, place: int, word: str) -> str:
    words = [*phrase.attributes.split(), phrase.noun]
    words[place] = word
    return _with_phrases(caption, {phrase: " ".join(words)})


def _with_phrases(caption: str, new: Mapping[Phrase, str]) -> str:
    """The caption with phrases replaced, from the last to the first, and their "a" or "an"
    adapted."""
    # From the last to the first, so that the places of earlier phrases stay right.
    for phrase in sorted(new, reverse=True):
        words = new[phrase]
        if caption[phrase.start].isupper():
            words = words[0].upper() + words[1:]
        before = caption[: phrase.start]
        article = re.search(r"\b(a)n?(\s+)$", before, re.IGNORECASE)
        if article:
            n = "n" if words[0].lower() in "aeiou" else ""
            before = before[: article.start()] + article[1] + n + article[2]
        caption = before + words + caption[phrase.end :]
    return caption
