"""What a scene shows, recomputed from its recorded poses. Written apart from the code that placed the objects."""

import json
import math
import tomllib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from generator.judge.said import Pair, Thing

Masks = list[int]
"""For each object of a scene, a set of objects of the scene, as bits."""


class Decided(NamedTuple):
    """A relation (or its denial) between the objects of a scene, by object.

    `sure[i]` are the objects j for which "i is REL j" is true, `open[i]` those for which it is not false;
    `sure_of[j]` and `open_of[j]` are the same by the second object.
    """

    sure: Masks
    open: Masks
    sure_of: Masks
    open_of: Masks


@dataclass(frozen=True)
class Terms:
    """What a family's scenes are described in: its word for categories; direction and margin (metres) of each relation.

    `met` has the objects of the scenes read so far, so that like objects are held once.
    """

    category: str
    relations: dict[str, tuple[str, float]]
    met: dict[tuple[str, tuple[Pair, ...]], tuple[str, dict[str, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, vocabulary_toml: str) -> "Terms":
        """Read the terms of a family."""
        data = tomllib.loads(vocabulary_toml)
        relations = data.get("relations", {}).items()
        return cls(data["category"], {name: (rule["rule"], rule["margin"]) for name, rule in relations})


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """A scene: its objects (category, and values by kind), their places on the ground, and its environment, if known.

    `along` gives for each object the metres to the right and away from the camera, from an origin that means nothing.
    """

    objects: list[tuple[str, dict[str, str]]]
    along: list[tuple[float, float]]
    environment: str | None
    terms: Terms
    _fitting: dict[Thing, int] = field(default_factory=dict)
    _having: dict[Pair, int] = field(default_factory=dict)
    _decided: dict[tuple[str, bool], Decided] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop what was computed on the way."""
        self._fitting.clear()
        self._having.clear()
        self._decided.clear()

    @property
    def all(self) -> int:
        """All objects, as bits."""
        return (1 << len(self.objects)) - 1

    def fitting(self, thing: Thing) -> int:
        """The objects that fit a thing, whatever its count, as bits."""
        found = self._fitting.get(thing)
        if found is None:
            having = self._traits()
            found = self.all if thing.category is None else having.get((self.terms.category, thing.category), 0)
            for pair in thing.attributes:
                found &= having.get(pair, 0)
            if thing.without is not None:
                found &= ~having.get(thing.without, 0)
            self._fitting[thing] = found
        return found

    def _traits(self) -> dict[Pair, int]:
        """The objects that have each value, the category being one."""
        if not self._having:
            for i, (category, values) in enumerate(self.objects):
                for pair in ((self.terms.category, category), *values.items()):
                    self._having[pair] = self._having.get(pair, 0) | 1 << i
        return self._having

    def decided(self, relation: str, holds: bool) -> Decided:
        """A relation between the objects, or with `holds` false its denial."""
        found = self._decided.get((relation, holds))
        if found is None:
            found = self._decided[relation, holds] = self._relation(relation) if holds else self._denial(relation)
        return found

    def _relation(self, name: str) -> Decided:
        direction, margin = self.terms.relations[name]
        steps = towards(self.along, direction)
        n = len(steps)
        sure, open_, sure_of, open_of = ([0] * n for _ in range(4))
        for i, here in enumerate(steps):
            for j, there in enumerate(steps):
                if i == j:
                    continue
                if here - there >= margin:
                    sure[i] |= 1 << j
                    sure_of[j] |= 1 << i
                if not here - there <= -margin:
                    open_[i] |= 1 << j
                    open_of[j] |= 1 << i
        return Decided(sure, open_, sure_of, open_of)

    def _denial(self, name: str) -> Decided:
        said = self.decided(name, True)
        others = [self.all & ~(1 << i) for i in range(len(self.objects))]

        def lacking(masks: Masks) -> Masks:
            return [others[i] & ~mask for i, mask in enumerate(masks)]

        return Decided(lacking(said.open), lacking(said.sure), lacking(said.open_of), lacking(said.sure_of))


def towards(along: list[tuple[float, float]], direction: str) -> list[float]:
    """How far each object lies in a ground direction as the camera sees it, metres."""
    axis, sign = {"right": (0, 1.0), "left": (0, -1.0), "behind": (1, 1.0), "front": (1, -1.0)}[direction]
    return [sign * place[axis] for place in along]


def read_scene(record: str, terms: Terms) -> Shown:
    """The scene of a record (JSON). Raises ValueError, KeyError or TypeError where it is none."""
    data = json.loads(record)
    objects = []
    for thing in data["objects"]:
        category, values = thing["category"], thing["attributes"]
        objects.append(terms.met.setdefault((category, tuple(values.items())), (category, values)))
    away_x, away_y = _sight(data["camera"])
    along = [
        (x * away_y - y * away_x, x * away_x + y * away_y)
        for x, y in ((float(thing["position"][0]), float(thing["position"][1])) for thing in data["objects"])
    ]
    environment = data.get("environment")
    return Shown(objects, along, environment if isinstance(environment, str) else None, terms)


def _sight(camera: dict[str, Any]) -> tuple[float, float]:
    """The direction on the ground in which a camera looks, of length 1."""
    (x, y, _), (target_x, target_y, _) = camera["position"], camera["target"]
    length = math.hypot(target_x - x, target_y - y)
    if not (0.0 < length < math.inf):
        raise ValueError("its camera looks straight down, so that left and front mean nothing")
    return (target_x - x) / length, (target_y - y) / length
