"""What a caption asserts, as data."""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Mention:
    """An object that a caption says exists.

    `category` is None for "an object"; `attributes` are (kind, value) in order of kind; `without` is one (kind, value)
    that the object has not, the kind being the world's word for categories where it is not a such. A `count` other
    than 1 says exactly how many there are ("no red cube", "two red cubes").
    """

    category: str | None
    attributes: Pairs = ()
    without: Pairs = ()
    count: int = 1

    @cached_property
    def values(self) -> dict[str, str]:
        """Value by kind of the attributes."""
        return dict(self.attributes)

    def given(self, kind: str, value: str) -> "Mention":
        """The mention with the value of one kind set."""
        return replace(self, attributes=tuple(sorted({**self.values, kind: value}.items())))

    def lacking(self, kind: str) -> "Mention":
        """The mention without the attribute of one kind."""
        return replace(self, attributes=tuple(pair for pair in self.attributes if pair[0] != kind))


@dataclass(frozen=True)
class Link:
    """A relation between two mentions, given by their places; `holds` is False for "is not to the left of"."""

    subject: int
    relation: str
    object: int
    holds: bool = True


@dataclass(frozen=True)
class Form:
    """A caption's assertion: there are these different objects, in this order of mention, and these relations hold.

    `negated` denies the whole ("It is not true that …"). `environment` names the world's environment.
    """

    objects: tuple[Mention, ...]
    relations: tuple[Link, ...] = ()
    negated: bool = False
    environment: str | None = None

    @property
    def n_objects(self) -> int:
        """Objects asserted or denied, "two cubes" being two and "no cube" one."""
        return sum(max(1, mention.count) for mention in self.objects)

    @property
    def n_attributes(self) -> int:
        """Attributes asserted or denied of a mention."""
        return sum(len(mention.attributes) + len(mention.without) for mention in self.objects)

    @property
    def n_relations(self) -> int:
        """Relations asserted or denied."""
        return len(self.relations)

    @property
    def level(self) -> str:
        """What the form names: L1 objects only, OA with attributes, OR with relations, OAR with both."""
        named = "O" + "A" * bool(self.n_attributes) + "R" * bool(self.relations)
        return "L1" if named == "O" else named

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data; what is as usual is left out."""
        objects = []
        for mention in self.objects:
            entry: dict[str, Any] = {"category": mention.category, "attributes": dict(mention.attributes)}
            if mention.without:
                entry["without"] = dict(mention.without)
            if mention.count != 1:
                entry["count"] = mention.count
            objects.append(entry)
        data: dict[str, Any] = {"objects": objects}
        if self.relations:
            data["relations"] = [[link.subject, link.relation, link.object, link.holds] for link in self.relations]
        if self.negated:
            data["negated"] = True
        if self.environment is not None:
            data["environment"] = self.environment
        return data

    def to_json(self) -> str:
        """Compact JSON of `to_dict`."""
        return json.dumps(self.to_dict(), separators=(",", ":"))
