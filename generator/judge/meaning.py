"""What a text says, as the judge holds it: written apart from the form that the text was made from."""

from typing import Any, NamedTuple

Pair = tuple[str, str]
Link = tuple[int, str, int, bool]
"""A relation: place of the subject, name, place of the object, and whether it is said to hold."""


class Thing(NamedTuple):
    """A mention: category (None for "object"), (kind, value) in order of kind, what it has not, and the number of them."""

    category: str | None
    attributes: tuple[Pair, ...] = ()
    without: Pair | None = None
    number: int = 1


class Said(NamedTuple):
    """What a text asserts: things in the order of first mention, relations in the order in which they are said."""

    things: tuple[Thing, ...]
    links: tuple[Link, ...] = ()
    denied: bool = False
    environment: str | None = None

    @property
    def n_objects(self) -> int:
        """Objects asserted or denied, "two cubes" being two and "no cube" one."""
        return sum(max(1, thing.number) for thing in self.things)

    @property
    def n_attributes(self) -> int:
        """Attributes that are said or denied of a thing."""
        return sum(len(thing.attributes) + (thing.without is not None) for thing in self.things)

    @property
    def level(self) -> str:
        """L1: objects only; OA: with attributes; OR: with relations; OAR: with both."""
        if self.links:
            return "OAR" if self.n_attributes else "OR"
        return "OA" if self.n_attributes else "L1"

    def to_dict(self) -> dict[str, Any]:
        """The data that the column `form` holds as JSON (docs/language.md)."""
        data: dict[str, Any] = {"objects": [_thing_data(thing) for thing in self.things]}
        if self.links:
            data["relations"] = [list(link) for link in self.links]
        if self.denied:
            data["negated"] = True
        if self.environment is not None:
            data["environment"] = self.environment
        return data


def _thing_data(thing: Thing) -> dict[str, Any]:
    data: dict[str, Any] = {"category": thing.category, "attributes": dict(thing.attributes)}
    if thing.without is not None:
        data["without"] = dict([thing.without])
    if thing.number != 1:
        data["count"] = thing.number
    return data
