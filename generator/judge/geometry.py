"""Recomputes what holds in a scene from its recorded poses. Independent of the code that placed the
objects."""

import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_json
from generator.judge.meaning import Pair, Thing

CONTACT = 0.001
"""Largest gap in metres between an object's foot and the flat top on which it rests."""
Masks = list[int]
"""For each object of a scene, a set of the scene's objects as bits."""


class Decided(NamedTuple):
    """Whether a relation, or its denial, holds between the objects of a scene.

    `sure[i]`: the objects j for which "i is REL j" is true. `open[i]`: the j for which it is not
    false. `sure_of[j]`,
    `open_of[j]`: the same, by the second object. For a relation of three objects, `sure[i][j]` and
    `open[i][j]` are the
    sets of third objects, and `sure_of` and `open_of` are empty.
    """

    sure: list
    open: list
    sure_of: Masks
    open_of: Masks


class Relation(NamedTuple):
    """A relation of a vocabulary: its margin and, for some relations, its distance, both in
    metres."""

    margin: float
    distance: float


@dataclass(frozen=True)
class Terms:
    """The terms of a vocabulary that decide the facts of scenes.

    `category`: its word for categories. `relations`: by name, all in `RULES`. `tops`: by category,
    (height, radius) of
    its flat top before scaling. `scales`: by (kind, value). A top times a scale is in metres.
    `met`: cache of the
    objects seen so far, so that equal objects share memory.
    """

    category: str
    relations: dict[str, Relation]
    tops: dict[str, tuple[float, float]] = field(default_factory=dict)
    scales: dict[Pair, float] = field(default_factory=dict)
    met: dict[tuple[str, tuple[Pair, ...]], tuple[str, dict[str, str]]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, vocabulary_toml: str) -> "Terms":
        """Read the terms from a vocabulary in TOML. Raises UserError for a relation that is not in
        `RULES`."""
        data = tomllib.loads(vocabulary_toml)
        relations = {
            name: Relation(told["margin"], told.get("distance", 0.0))
            for name, told in data.get("relations", {}).items()
        }
        for name in relations:
            if name not in RULES:
                raise UserError(
                    f"world/vocabulary.toml: this version does not know the relation '{name}'; "
                    f"{did_you_mean(name, list(RULES))}"
                )
        tops = {
            name: (
                kind["top"]["height"] * kind.get("size", 1),
                kind["top"]["radius"] * kind.get("size", 1),
            )
            for name, kind in data.get("objects", {}).items()
            if "top" in kind
        }
        scales = {
            (kind, name): value["scale"]
            for kind, values in data.get("attributes", {}).items()
            for name, value in values.items()
            if "scale" in value
        }
        return cls(data["category"], relations, tops, scales)

    def top(self, category: str, values: dict[str, str]) -> tuple[float, float]:
        """Height and radius (metres) of an object's flat top; 0, 0 if it has none."""
        if category not in self.tops:
            return 0.0, 0.0
        height, radius = self.tops[category]
        scale = next((self.scales[pair] for pair in values.items() if pair in self.scales), None)
        if scale is None:
            raise ValueError(f"its {category} has no value with a scale")
        return height * scale, radius * scale


@dataclass(frozen=True, eq=False, slots=True)
class SceneGeometry:
    """A scene, from its record.

    `objects`: category, and values by kind. `along`: for each object the metres to the right and
    away from the
    camera, from an arbitrary origin. `feet`: the height on which it stands; `tops`: height and
    radius of its flat
    top; metres. `environment`: its name, if known.
    """

    objects: list[tuple[str, dict[str, str]]]
    along: list[tuple[float, float]]
    feet: list[float]
    tops: list[tuple[float, float]]
    environment: str | None
    terms: Terms
    _fitting: dict[Thing, int] = field(default_factory=dict)
    _having: dict[Pair, int] = field(default_factory=dict)
    _decided: dict[tuple[str, bool], Decided] = field(default_factory=dict)
    _grids: dict[int, list["Stand"]] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop cached results, to save memory."""
        self._fitting.clear()
        self._having.clear()
        self._decided.clear()
        self._grids.clear()

    @property
    def all(self) -> int:
        """All objects as bits."""
        return (1 << len(self.objects)) - 1

    def fitting(self, thing: Thing) -> int:
        """The objects that fit a mention, as bits. Ignores the mention's count."""
        found = self._fitting.get(thing)
        if found is None:
            having = self._traits()
            found = (
                self.all
                if thing.category is None
                else having.get((self.terms.category, thing.category), 0)
            )
            for pair in thing.attributes:
                found &= having.get(pair, 0)
            if thing.without is not None:
                found &= ~having.get(thing.without, 0)
            self._fitting[thing] = found
        return found

    def _traits(self) -> dict[Pair, int]:
        """The objects that have each (kind, value), including the category, as bits."""
        if not self._having:
            for i, (category, values) in enumerate(self.objects):
                for pair in ((self.terms.category, category), *values.items()):
                    self._having[pair] = self._having.get(pair, 0) | 1 << i
        return self._having

    def decided(self, relation: str, holds: bool) -> Decided:
        """Between which objects a relation holds, or its denial if `holds` is false."""
        found = self._decided.get((relation, holds))
        if found is None:
            found = self._decided[relation, holds] = (
                self._relation(relation) if holds else self._denial(relation)
            )
        return found

    def _relation(self, name: str) -> Decided:
        least, margins = self.terms.relations[name].margin, self.margins(name)
        if RULES[name].arity == 3:
            return self._of_three(np.asarray(margins) >= least, ~(np.asarray(margins) <= -least))
        sure, open_, sure_of, open_of = ([0] * len(self.objects) for _ in range(4))
        for i, row in enumerate(margins):
            for j, margin in enumerate(row):
                if i == j:
                    continue
                if margin >= least:
                    sure[i] |= 1 << j
                    sure_of[j] |= 1 << i
                if not margin <= -least:
                    open_[i] |= 1 << j
                    open_of[j] |= 1 << i
        return Decided(sure, open_, sure_of, open_of)

    def _of_three(self, sure: NDArray[np.bool_], open_: NDArray[np.bool_]) -> Decided:
        bits = np.array([1 << place for place in range(len(self.objects))], dtype=object)
        return Decided((sure * bits).sum(2).tolist(), (open_ * bits).sum(2).tolist(), [], [])

    def margins(self, name: str) -> list:
        """Signed margins of a relation in metres, rounded to micrometres (docs/vocabularies.md), by
        first, second and, if there is one, third object."""
        rule, relation = RULES[name], self.terms.relations[name]
        if rule.arity not in self._grids:
            columns, axes = np.array(self.stands()).reshape(-1, 5).T, np.eye(rule.arity, dtype=int)
            shapes = [tuple(np.where(axis, -1, 1)) for axis in axes]
            self._grids[rule.arity] = [
                Stand(*(column.reshape(shape) for column in columns)) for shape in shapes
            ]
        margins: list = np.round(
            rule.margin(*self._grids[rule.arity], relation.distance), 6
        ).tolist()
        return margins

    def resting(self, upper: int, lower: int) -> float:
        """How far inside the rim of the lower object's flat top the upper object stands, in metres;
        ≤ 0 if it does not rest there."""
        stands = self.stands()
        return float(_resting(stands[upper], stands[lower]))

    def stands(self) -> list["Stand"]:
        """Position and flat top of each object."""
        return [
            Stand(*place, foot, *top)
            for place, foot, top in zip(self.along, self.feet, self.tops, strict=True)
        ]

    def _denial(self, name: str) -> Decided:
        meaning = self.decided(name, True)
        if RULES[name].arity == 3:
            sure, open_ = (
                [[~mask for mask in row] for row in masks] for masks in (meaning.open, meaning.sure)
            )
            return Decided(sure, open_, [], [])
        others = [self.all & ~(1 << i) for i in range(len(self.objects))]

        def lacking(masks: Masks) -> Masks:
            return [others[i] & ~mask for i, mask in enumerate(masks)]

        return Decided(
            lacking(meaning.open),
            lacking(meaning.sure),
            lacking(meaning.open_of),
            lacking(meaning.sure_of),
        )


class Stand(NamedTuple):
    """Position and flat top of an object, in metres, or arrays of several: metres to the right and
    away from the camera, height of the foot, height and radius of the flat top."""

    right: Any
    away: Any
    foot: Any
    height: Any
    radius: Any


def _off(first: Stand, second: Stand) -> Any:
    """Distance on the ground, metres."""
    return np.hypot(first.right - second.right, first.away - second.away)


def _resting(upper: Stand, lower: Stand) -> Any:
    gap, off = np.abs(upper.foot - lower.foot - lower.height), _off(upper, lower)
    return np.where(gap <= CONTACT, lower.radius - off, -np.maximum(off, gap))


class Rule(NamedTuple):
    """The rule that decides a relation (docs/vocabularies.md, "Rules of space").

    `margin`: a function of `arity` (2 or 3) objects and the relation's distance that returns the
    signed margin in
    metres. `opposite`: the relation that cannot hold together with this relation. `converse`: the
    same relation seen
    from the second object.
    """

    margin: Callable[..., Any]
    opposite: str = ""
    converse: str = ""
    arity: int = 2


RULES = {
    "right": Rule(lambda first, second, _: first.right - second.right, "left", "left"),
    "left": Rule(lambda first, second, _: second.right - first.right, "right", "right"),
    "behind": Rule(lambda first, second, _: first.away - second.away, "front", "front"),
    "front": Rule(lambda first, second, _: second.away - first.away, "behind", "behind"),
    "near": Rule(lambda first, second, distance: distance - _off(first, second), "far", "near"),
    "far": Rule(lambda first, second, distance: _off(first, second) - distance, "near", "far"),
    "on": Rule(lambda first, second, _: _resting(first, second), "beneath", "beneath"),
    "beneath": Rule(lambda first, second, _: _resting(second, first), "on", "on"),
}
"""Every relation that the judge can decide."""


def read_scene(record: str, terms: Terms) -> SceneGeometry:
    """Read the record of a scene (JSON). Raises ValueError, KeyError or TypeError if it is
    malformed, repeats a key, or has a number that is not finite."""
    data = parse_json(record)
    json.dumps(data, allow_nan=False)
    objects = []
    for thing in data["objects"]:
        category, values = thing["category"], thing["attributes"]
        objects.append(terms.met.setdefault((category, tuple(values.items())), (category, values)))
    away_x, away_y = _sight(data["camera"])
    places = [tuple(map(float, thing["position"])) for thing in data["objects"]]
    along = [(x * away_y - y * away_x, x * away_x + y * away_y) for x, y, _ in places]
    tops = [terms.top(*thing) for thing in objects]
    environment = data.get("environment")
    known = environment if isinstance(environment, str) else None
    return SceneGeometry(objects, along, [z for _, _, z in places], tops, known, terms)


def _sight(camera: dict[str, Any]) -> tuple[float, float]:
    """The viewing direction of a camera on the ground, a unit vector."""
    (x, y, _), (target_x, target_y, _) = camera["position"], camera["target"]
    length = math.hypot(target_x - x, target_y - y)
    if not (0.0 < length < math.inf):
        raise ValueError("its camera looks straight down, so left and front are undefined")
    return (target_x - x) / length, (target_y - y) / length
