"""What a sentence says, read from its words alone. Written apart from the grammar that writes sentences."""

import re
import tomllib
from dataclasses import dataclass

Claim = tuple[str, tuple[tuple[str, str], ...]]
"""An object that a sentence says is there: category, and (kind, value) of the attributes named, in order of kind."""


class UnreadableError(Exception):
    """A sentence that has no reading, or more than one."""


@dataclass(frozen=True)
class Lexicon:
    """What each word of a world's vocabulary means."""

    categories: dict[str, str]
    values: dict[str, tuple[str, str]]

    @classmethod
    def of(cls, vocabulary_toml: str) -> "Lexicon":
        """Read the words of a family: names and synonyms of objects and attribute values."""
        data = tomllib.loads(vocabulary_toml)
        categories = {
            word: name for name, kind in data["objects"].items() for word in (name, *kind.get("synonyms", []))
        }
        values = {
            word: (kind, name)
            for kind, declared in data["attributes"].items()
            for name, value in declared.items()
            for word in (name, *value.get("synonyms", []))
        }
        return cls(categories, values)


def read_sentence(text: str, lexicon: Lexicon) -> list[Claim]:
    """The objects that a sentence claims, in order of mention. Raises UnreadableError.

    A sentence is a list of phrases joined by commas and "and"; a phrase is an article, values and a category.
    """
    return [_read_phrase(phrase, text, lexicon) for phrase in re.split(r", and |, | and ", text.strip().rstrip("."))]


def _read_phrase(phrase: str, text: str, lexicon: Lexicon) -> Claim:
    article, *words = phrase.split()
    if article.lower() not in ("a", "an") or not words:
        raise UnreadableError(f"'{text}': expected 'a' or 'an' and an object in '{phrase}'")
    for length in range(len(words), 0, -1):
        category = lexicon.categories.get(" ".join(words[-length:]))
        if category is not None:
            return category, _read_values(words[: len(words) - length], text, lexicon)
    raise UnreadableError(f"'{text}': '{words[-1]}' is no object of this world")


def _read_values(words: list[str], text: str, lexicon: Lexicon) -> tuple[tuple[str, str], ...]:
    values: dict[str, str] = {}
    while words:
        length = next((n for n in range(len(words), 0, -1) if " ".join(words[:n]) in lexicon.values), 0)
        if not length:
            raise UnreadableError(f"'{text}': '{words[0]}' is no attribute of this world")
        kind, value = lexicon.values[" ".join(words[:length])]
        if kind in values:
            raise UnreadableError(f"'{text}': one object has two values of {kind}")
        values[kind] = value
        words = words[length:]
    return tuple(sorted(values.items()))
