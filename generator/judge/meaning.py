"""The meaning of a text as the judge reads it. Independent of the form from which the text was
written."""

import json
from typing import Any, NamedTuple

Pair = tuple[str, str]
Link = tuple[Any, ...]
"""A relation (subject, name, object, asserted); with three objects, the third comes last. Objects
are indices of mentions; `asserted` is False if the relation is denied."""


class Thing(NamedTuple):
    """A mentioned object.

    `category`: None for "object". `attributes`: (kind, value) in order of kind. `without`: a (kind,
    value) that the
    text denies of it. `number`: the count, 0 for "no cube".
    """

    category: str | None
    attributes: tuple[Pair, ...] = ()
    without: Pair | None = None
    number: int = 1


class Meaning(NamedTuple):
    """What a text asserts: mentioned objects in order of first mention, relations in order.

    `denied`: whether the whole text is denied ("It is not true that …"). `environment`: its name,
    if the text has one.
    """

    things: tuple[Thing, ...]
    links: tuple[Link, ...] = ()
    denied: bool = False
    environment: str | None = None

    def to_json(self) -> str:
        """The column `form` (docs/language.md), as the generator writes it."""
        data: dict[str, Any] = {"objects": [_thing(thing) for thing in self.things]}
        if self.links:
            data["relations"] = self.links
        if self.denied:
            data["negated"] = True
        if self.environment is not None:
            data["environment"] = self.environment
        return json.dumps(data, separators=(",", ":"))


def _thing(thing: Thing) -> dict[str, Any]:
    data: dict[str, Any] = {"category": thing.category, "attributes": dict(thing.attributes)}
    if thing.without is not None:
        data["without"] = dict([thing.without])
    if thing.number != 1:
        data["count"] = thing.number
    return data
