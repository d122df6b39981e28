"""The meaning of a text as the judge reads it. Independent of the form from which the text was written."""

import json
from functools import lru_cache
from typing import Any, NamedTuple

Pair = tuple[str, str]
Link = tuple[int, str, int, bool]
"""A relation: index of the subject's mention, name, index of the object's, whether it is asserted (not denied)."""


class Thing(NamedTuple):
    """A mentioned object.

    `category`: None for "object". `attributes`: (kind, value) in order of kind. `without`: a (kind, value) that is
    denied of it. `number`: how many of them, 0 for "no cube".
    """

    category: str | None
    attributes: tuple[Pair, ...] = ()
    without: Pair | None = None
    number: int = 1


class Meaning(NamedTuple):
    """What a text asserts: mentioned objects in order of first mention, relations in order.

    `denied`: whether the whole is denied ("It is not true that …"). `environment`: its name, if the text names one.
    """

    things: tuple[Thing, ...]
    links: tuple[Link, ...] = ()
    denied: bool = False
    environment: str | None = None

    @property
    def n_objects(self) -> int:
        """The number of objects asserted or denied: 2 for "two cubes", 1 for "no cube"."""
        return sum(max(1, thing.number) for thing in self.things)

    @property
    def n_attributes(self) -> int:
        """The number of attributes asserted or denied."""
        return sum(len(thing.attributes) + (thing.without is not None) for thing in self.things)

    @property
    def level(self) -> str:
        """L1: objects only. OA: with attributes. OR: with relations. OAR: with both."""
        if self.links:
            return "OAR" if self.n_attributes else "OR"
        return "OA" if self.n_attributes else "L1"

    def to_json(self) -> str:
        """The column `form` (docs/language.md), as the generator writes it."""
        parts = [f'"objects":[{",".join(map(_thing_json, self.things))}]']
        if self.links:
            parts.append(f'"relations":{_json([list(link) for link in self.links])}')
        if self.denied:
            parts.append('"negated":true')
        if self.environment is not None:
            parts.append(f'"environment":{_json(self.environment)}')
        return "{" + ",".join(parts) + "}"


@lru_cache(maxsize=100_000)  # a world has some hundred things that texts mention again and again
def _thing_json(thing: Thing) -> str:
    data: dict[str, Any] = {"category": thing.category, "attributes": dict(thing.attributes)}
    if thing.without is not None:
        data["without"] = dict([thing.without])
    if thing.number != 1:
        data["count"] = thing.number
    return _json(data)


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
