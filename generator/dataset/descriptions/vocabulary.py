"""The words of a world: its categories, values and relations, with their synonyms and plurals."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

ADJECTIVE = "{value}"
"""The phrase of attribute kinds whose values stand before the noun: "a red cube"."""
Words = tuple[str, ...]
"""Terms of one meaning, the name first; a term may have several words."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words of a world, without anything about its images."""

    category: str
    """The world's word for categories, such as `shape`."""
    generic: str
    """The noun of an object without a category, such as `object`."""
    nouns: dict[str, Words]
    """Singular nouns by category."""
    plurals: dict[str, Words]
    """Plural nouns by category."""
    values: dict[str, dict[str, Words]]
    """Words by attribute kind and value."""
    phrases: dict[str, str]
    """Of kinds that are said after the noun, the phrase with `{value}`: "made of {value}"."""
    relations: dict[str, Words]
    """Phrases by relation between two objects."""
    environments: dict[str, str]
    """Phrases by place, such as "in a forest"."""

    @cached_property
    def judged_kinds(self) -> tuple[str, ...]:
        """The attribute kinds with several values. A value that all objects share tells nothing
        about an image, so descriptions need not name it."""
        return tuple(kind for kind, values in self.values.items() if len(values) > 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the vocabulary as JSON data.

        Returns:
            Data that `from_dict` reads back.
        """
        return {
            "category": self.category,
            "generic": self.generic,
            "nouns": _lists(self.nouns),
            "plurals": _lists(self.plurals),
            "values": {kind: _lists(values) for kind, values in self.values.items()},
            "phrases": dict(self.phrases),
            "relations": _lists(self.relations),
            "environments": dict(self.environments),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Vocabulary":
        """Make a vocabulary from JSON data. Equal data give the same object, so that its lexicon
        is built once.

        Args:
            data: as `to_dict` returns it.

        Returns:
            The vocabulary.

        Raises:
            ValueError: the data have another shape.
        """
        try:
            # Keys keep their order, which is that of the words in questions.
            return _from_json(json.dumps(data, sort_keys=False))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"Expected a vocabulary of a truth record ({error!r}).") from None

    @classmethod
    def from_toml(cls, text: str) -> "Vocabulary":
        """Read the words of a world's vocabulary.toml.

        Args:
            text: the contents of the file.

        Returns:
            The vocabulary.

        Raises:
            ValueError: the text is not TOML, or lacks a table.

        Example:
            >>> shapes = '[objects]\\ncube = { synonyms = ["block"] }\\n'
            >>> colors = '[attributes.color]\\nred = {}\\nblue = {}\\n'
            >>> words = Vocabulary.from_toml('category = "shape"\\n' + shapes + colors)
            >>> words.nouns, words.plurals, words.judged_kinds
            ({'cube': ('cube', 'block')}, {'cube': ('cubes', 'blocks')}, ('color',))
        """
        return cls.from_tables(tomllib.loads(text))

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any]) -> "Vocabulary":
        """Make the words of a world from the tables of its vocabulary.toml.

        Args:
            tables: the contents of the file.

        Returns:
            The vocabulary.

        Raises:
            ValueError: a table is missing, or has another shape.
        """
        try:
            return cls._of_tables(tables)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"Expected the tables of a vocabulary ({error!r}).") from None

    @classmethod
    def _of_tables(cls, tables: Mapping[str, Any]) -> "Vocabulary":
        nouns: dict[str, Words] = {}
        plurals: dict[str, Words] = {}
        for category, declared in tables["objects"].items():
            synonyms = declared.get("synonyms", ())
            nouns[category] = (category, *synonyms)
            own_plural = declared.get("plural") or plural_of(category)
            # "tori" and "cacti" are as usual as the regular plurals.
            latin = [f"{noun[:-2]}i" for noun in nouns[category] if noun.endswith("us")]
            plurals[category] = (own_plural, *map(plural_of, synonyms), *latin)

        values: dict[str, dict[str, Words]] = {}
        for kind, declared_values in tables["attributes"].items():
            values[kind] = {}
            for value, declared in declared_values.items():
                values[kind][value] = (value, *declared.get("synonyms", ()))

        phrases = {}
        for kind, declared in tables.get("kinds", {}).items():
            # Kinds that are adjectives need no phrase.
            phrase = declared.get("phrase", ADJECTIVE)
            if phrase != ADJECTIVE:
                phrases[kind] = phrase
        relations = {}
        for name, declared in tables.get("relations", {}).items():
            phrases_of_relation = (declared["phrase"], *declared.get("synonyms", ()))
            # Phrases with a place for an object say a frame of reference, which the grammar of
            # prose does not read.
            relations[name] = tuple(words for words in phrases_of_relation if "{" not in words)
        environments = {}
        for name, declared in tables.get("environments", {}).items():
            environments[name] = declared["phrase"]
        return cls(
            category=tables["category"],
            generic=tables.get("generic", "object"),
            nouns=nouns,
            plurals=plurals,
            values=values,
            phrases=phrases,
            relations=relations,
            environments=environments,
        )


def plural_of(noun: str) -> str:
    """Return the regular plural of a noun.

    Args:
        noun: a singular noun in small letters.

    Returns:
        Its plural.

    Example:
        >>> plural_of("cube"), plural_of("fox"), plural_of("pony"), plural_of("monkey")
        ('cubes', 'foxes', 'ponies', 'monkeys')
    """
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def _lists(words: Mapping[str, Words]) -> dict[str, list[str]]:
    return {name: list(terms) for name, terms in words.items()}


@lru_cache(maxsize=256)
def _from_json(text: str) -> Vocabulary:
    data = json.loads(text)

    def tuples(words: Mapping[str, list[str]]) -> dict[str, Words]:
        return {name: tuple(map(str, terms)) for name, terms in words.items()}

    return Vocabulary(
        category=str(data["category"]),
        generic=str(data["generic"]),
        nouns=tuples(data["nouns"]),
        plurals=tuples(data["plurals"]),
        values={kind: tuples(values) for kind, values in data["values"].items()},
        phrases=dict(data["phrases"]),
        relations=tuples(data["relations"]),
        environments=dict(data["environments"]),
    )
