"""The meaning of a text as the judge reads it. Independent of the form from which the text was
written."""

import json
from typing import Any, NamedTuple

Pair = tuple[str, str]
"""A kind of attribute, or the vocabulary's word for categories, and one of its values."""
RelationMention = tuple[Any, ...]
"""A relation that a text names: (subject, name, object, asserted); with three objects, the third
comes last. Objects are indices of `Meaning.objects`; `asserted` is False if the relation is
denied."""


class ObjectMention(NamedTuple):
    """An object that a text mentions."""

    category: str | None
    """None for the word for all categories, such as "object"."""
    attributes: tuple[Pair, ...] = ()
    """Its values by kind, in order of kind."""
    without: Pair | None = None
    """A value or category that the text denies of it; None if it denies none."""
    number: int = 1
    """How many such objects there are; 0 for "no cube"."""


class Meaning(NamedTuple):
    """What a text asserts."""

    objects: tuple[ObjectMention, ...]
    """The mentioned objects, in order of first mention."""
    relations: tuple[RelationMention, ...] = ()
    """The relations, in order of mention."""
    denied: bool = False
    """Whether the whole text is denied ("It is not true that …")."""
    environment: str | None = None
    """Name of the environment; None if the text has none."""

    def to_json(self) -> str:
        """The column `form` (docs/language.md), as the generator writes it."""
        data: dict[str, Any] = {"objects": [_object_data(mention) for mention in self.objects]}
        # The generator leaves defaults out, so that forms are short; the comparison is of texts.
        if self.relations:
            data["relations"] = self.relations
        if self.denied:
            data["negated"] = True
        if self.environment is not None:
            data["environment"] = self.environment
        return json.dumps(data, separators=(",", ":"))


def _object_data(mention: ObjectMention) -> dict[str, Any]:
    data: dict[str, Any] = {
        "category": mention.category,
        "attributes": dict(mention.attributes),
    }
    if mention.without is not None:
        data["without"] = dict([mention.without])
    if mention.number != 1:
        data["count"] = mention.number
    return data
