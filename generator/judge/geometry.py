"""Recomputes what holds in a scene from its recorded poses. Independent of the code that placed the
objects."""

import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_json
from generator.judge.meaning import ObjectMention, Pair

CONTACT = 0.001
"""Largest gap in metres between an object's foot and the flat top on which it rests."""
Masks = list[int]
"""For each object of a scene, a set of the scene's objects as bits."""


class DecidedPairs(NamedTuple):
    """Whether a relation, or its denial, holds between the objects of a scene."""

    sure: list
    """`sure[i]`: the objects j for which "i is REL j" is true, as bits. For a relation of three
    objects `sure[i][j]`: the third objects."""
    possible: list
    """`possible[i]`: the objects j for which it is not false; with three objects as in `sure`."""
    sure_by_second: Masks
    """`sure_by_second[j]`: the objects i for which "i is REL j" is true. Empty with three
    objects."""
    possible_by_second: Masks
    """The same for those for which it is not false."""


class Relation(NamedTuple):
    """A relation of a vocabulary."""

    margin: float
    """Metres by which it must hold; it is undecided within this margin."""
    distance: float
    """Bound of a relation such as near, metres; 0 for relations without a bound."""


CategoryAndValues = tuple[str, dict[str, str]]
"""The category of an object, and its values by kind."""


@dataclass(frozen=True)
class Terms:
    """The terms of a vocabulary that decide the facts of scenes."""

    category: str
    """The vocabulary's word for categories."""
    relations: dict[str, Relation]
    """The relations by name, all in `RULES`."""
    tops: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By category, height and radius of its flat top before scaling. Times a scale, in metres."""
    fronts: dict[str, float] = field(default_factory=dict)
    """By category, the direction of its front in its mesh, radians; without those that have
    none."""
    scales: dict[Pair, float] = field(default_factory=dict)
    """The scale that a value gives to its object, by (kind, value)."""
    known_objects: dict[tuple[str, tuple[Pair, ...]], CategoryAndValues] = field(
        default_factory=dict
    )
    """The objects read so far, so that equal objects of a hundred thousand scenes share memory."""

    @classmethod
    def from_toml(cls, vocabulary_toml: str) -> "Terms":
        """Read the terms from a vocabulary in TOML.

        Raises:
            UserError: It has a relation that is not in `RULES`.
            KeyError, TypeError, AttributeError: It is malformed.
        """
        data = tomllib.loads(vocabulary_toml)
        objects = data.get("objects", {})
        return cls(
            relations=_declared_relations(data.get("relations", {})),
            tops=_declared_tops(objects),
            fronts=_declared_fronts(objects),
            scales=_declared_scales(data.get("attributes", {})),
            category=data["category"],
        )

    def top(self, category: str, values: dict[str, str]) -> tuple[float, float]:
        """Height and radius of an object's flat top, metres; 0, 0 if it has none.

        Raises:
            ValueError: Its category has a top and none of its values has a scale.
        """
        if category not in self.tops:
            return 0.0, 0.0
        height, radius = self.tops[category]
        for pair in values.items():
            if pair in self.scales:
                return height * self.scales[pair], radius * self.scales[pair]
        raise ValueError(f"its {category} has no value with a scale")


def _declared_relations(declared_relations: dict[str, Any]) -> dict[str, Relation]:
    relations = {}
    for name, declared in declared_relations.items():
        # Not passed over: its texts and its held-out triples could not be judged.
        if name not in RULES:
            raise UserError(
                f"world/vocabulary.toml: this version does not know the relation '{name}'; "
                f"{did_you_mean(name, list(RULES))}"
            )
        relations[name] = Relation(declared["margin"], declared.get("distance", 0.0))
    return relations


def _declared_tops(declared_objects: dict[str, Any]) -> dict[str, tuple[float, float]]:
    tops = {}
    for name, declared in declared_objects.items():
        if "top" in declared:
            # `size` is a factor on the object's scale, and its top is given in that scale.
            size = declared.get("size", 1)
            top = declared["top"]
            tops[name] = (top["height"] * size, top["radius"] * size)
    return tops


def _declared_fronts(declared_objects: dict[str, Any]) -> dict[str, float]:
    fronts = {}
    for name, declared in declared_objects.items():
        if "front" in declared:
            fronts[name] = math.radians(declared["front"])
    return fronts


def _declared_scales(declared_kinds: dict[str, Any]) -> dict[Pair, float]:
    scales = {}
    for kind, values in declared_kinds.items():
        for name, declared in values.items():
            if "scale" in declared:
                scales[kind, name] = declared["scale"]
    return scales


@dataclass(frozen=True, eq=False, slots=True)
class SceneGeometry:
    """A scene, from its record."""

    objects: list[CategoryAndValues]
    """The objects in the order of the record."""
    ground: list[tuple[float, float]]
    """For each object the metres to the right and away from the camera, from an arbitrary
    origin."""
    feet: list[float]
    """The height on which each object stands, metres."""
    tops: list[tuple[float, float]]
    """Height and radius of each object's flat top, metres; 0, 0 without one."""
    facing: list[tuple[float, float]]
    """For each object the unit vector to its front, to the right and away; 0, 0 without one."""
    environment: str | None
    """Name of the environment; None if the record has none."""
    terms: Terms
    """The terms of the world's vocabulary."""
    _fitting: dict[ObjectMention, int] = field(default_factory=dict)
    """Cache of `fitting`."""
    _having: dict[Pair, int] = field(default_factory=dict)
    """The objects with each (kind, value), as bits; empty until first needed."""
    _decided: dict[tuple[str, bool], DecidedPairs] = field(default_factory=dict)
    """Cache of `decided`, by its arguments."""
    _grids: dict[int, list["StandingObject"]] = field(default_factory=dict)
    """Cache of `_objects_along_axes`, by arity."""

    def forget(self) -> None:
        """Drop cached results, to save memory."""
        self._fitting.clear()
        self._having.clear()
        self._decided.clear()
        self._grids.clear()

    @property
    def all_objects(self) -> int:
        """All objects as bits."""
        return (1 << len(self.objects)) - 1

    def fitting(self, mention: ObjectMention) -> int:
        """The objects that fit a mention, as bits. Ignores the mention's count."""
        fitting = self._fitting.get(mention)
        if fitting is None:
            fitting = self._fitting[mention] = self._find_fitting(mention)
        return fitting

    def _find_fitting(self, mention: ObjectMention) -> int:
        """As `fitting`, computed."""
        having = self._objects_by_trait()
        fitting = self.all_objects
        if mention.category is not None:
            fitting = having.get((self.terms.category, mention.category), 0)
        for pair in mention.attributes:
            fitting &= having.get(pair, 0)
        if mention.without is not None:
            fitting &= ~having.get(mention.without, 0)
        return fitting

    def _objects_by_trait(self) -> dict[Pair, int]:
        """The objects that have each (kind, value), including the category, as bits."""
        if not self._having:
            for i, (category, values) in enumerate(self.objects):
                for pair in ((self.terms.category, category), *values.items()):
                    self._having[pair] = self._having.get(pair, 0) | 1 << i
        return self._having

    def decided(self, relation: str, asserted: bool) -> DecidedPairs:
        """Between which objects a relation holds, or its denial if it is not `asserted`."""
        decided = self._decided.get((relation, asserted))
        if decided is None:
            decided = self._decide(relation) if asserted else self._decide_denial(relation)
            self._decided[relation, asserted] = decided
        return decided

    def _decide(self, name: str) -> DecidedPairs:
        """Where a relation holds: surely if by its margin or more, possibly unless its opposite
        does."""
        least = self.terms.relations[name].margin
        margins = self.margins(name)
        if RULES[name].arity == 3:
            return self._decide_of_three(margins, least)

        n_objects = len(self.objects)
        sure = [0] * n_objects
        possible = [0] * n_objects
        sure_by_second = [0] * n_objects
        possible_by_second = [0] * n_objects
        for i, row in enumerate(margins):
            for j, margin in enumerate(row):
                if i == j:
                    continue
                if margin >= least:
                    sure[i] |= 1 << j
                    sure_by_second[j] |= 1 << i
                # Negated, so that a margin that is not a number leaves the relation possible, not
                # false.
                if not margin <= -least:
                    possible[i] |= 1 << j
                    possible_by_second[j] |= 1 << i
        return DecidedPairs(sure, possible, sure_by_second, possible_by_second)

    def _decide_of_three(self, margins: list, least: float) -> DecidedPairs:
        """As `_decide`, of a relation of three objects."""
        array = np.asarray(margins)
        # Python's integers, since a scene may have more objects than a number of NumPy has bits.
        bits = np.array([1 << place for place in range(len(self.objects))], dtype=object)
        sure = (array >= least) * bits
        # Negated for margins that are not numbers, as in `_decide`.
        possible = ~(array <= -least) * bits
        # A set of third objects is the sum of their bits.
        return DecidedPairs(sure.sum(2).tolist(), possible.sum(2).tolist(), [], [])

    def _decide_denial(self, name: str) -> DecidedPairs:
        """The denial is sure where the relation is not possible, and possible where it is not
        sure."""
        relation = self.decided(name, True)
        if RULES[name].arity == 3:
            sure = [[~mask for mask in row] for row in relation.possible]
            possible = [[~mask for mask in row] for row in relation.sure]
            return DecidedPairs(sure, possible, [], [])
        # No object stands in a relation to itself, denied or not.
        others = [self.all_objects & ~(1 << i) for i in range(len(self.objects))]

        def without(masks: Masks) -> Masks:
            return [others[i] & ~mask for i, mask in enumerate(masks)]

        return DecidedPairs(
            without(relation.possible),
            without(relation.sure),
            without(relation.possible_by_second),
            without(relation.sure_by_second),
        )

    def margins(self, name: str) -> list:
        """Signed margins of a relation in metres, rounded to micrometres (docs/vocabularies.md), by
        first, second and, if there is one, third object."""
        rule = RULES[name]
        distance = self.terms.relations[name].distance
        objects = self._objects_along_axes(rule.arity)
        margins: list = np.round(rule.margin(*objects, distance), 6).tolist()
        return margins

    def _objects_along_axes(self, arity: int) -> list["StandingObject"]:
        """All objects `arity` times, each time along another axis of an array, so that one call of
        a rule computes the margins of all pairs (or triples)."""
        if arity not in self._grids:
            # Reshaped, since an array of no objects has no second axis.
            columns = np.array(self.standing()).reshape(-1, len(StandingObject._fields)).T
            grids = []
            for axis in range(arity):
                shape = [1] * arity
                shape[axis] = -1
                grids.append(StandingObject(*(column.reshape(shape) for column in columns)))
            self._grids[arity] = grids
        return self._grids[arity]

    def resting(self, upper: int, lower: int) -> float:
        """How far inside the rim of the lower object's flat top the upper object stands, in metres;
        ≤ 0 if it does not rest there."""
        standing = self.standing()
        return float(_resting(standing[upper], standing[lower]))

    def standing(self) -> list["StandingObject"]:
        """Position, flat top and front of each object."""
        standing = []
        columns = zip(self.ground, self.feet, self.tops, self.facing, strict=True)
        for position, foot, top, facing in columns:
            standing.append(StandingObject(*position, foot, *top, *facing))
        return standing


class StandingObject(NamedTuple):
    """Position, flat top and front of an object, or arrays of several; metres."""

    right: Any
    """Position to the right, as the camera sees it."""
    away: Any
    """Position away from the camera."""
    foot: Any
    """Height on which it stands."""
    height: Any
    """Height of its flat top above the foot; 0 without one."""
    radius: Any
    """Radius of its flat top; 0 without one."""
    facing_right: Any = 0.0
    """Component to the right of the unit vector to its front; 0 without one."""
    facing_away: Any = 0.0
    """Component away from the camera; 0 without a front."""


def _ground_distance(first: StandingObject, second: StandingObject) -> Any:
    return np.hypot(first.right - second.right, first.away - second.away)


def _resting(upper: StandingObject, lower: StandingObject) -> Any:
    """Metres inside the rim of the lower top, if the foot touches that top; else negative."""
    gap = np.abs(upper.foot - lower.foot - lower.height)
    aside = _ground_distance(upper, lower)
    return np.where(gap <= CONTACT, lower.radius - aside, -np.maximum(aside, gap))


def _turned_left(right: Any, away: Any) -> tuple[Any, Any]:
    """A direction on the ground after a quarter turn to the left, seen from above."""
    return -away, right


def _metres_along(direction: tuple[Any, Any], first: StandingObject, second: StandingObject) -> Any:
    """How far the first object is beyond the second in a direction on the ground."""
    right, away = direction
    return right * (first.right - second.right) + away * (first.away - second.away)


def _front_of(owner: StandingObject) -> tuple[Any, Any]:
    """The direction on the ground in which an object looks."""
    return owner.facing_right, owner.facing_away


def _own_left(first: StandingObject, second: StandingObject) -> Any:
    """Metres of the first object to the left hand of the second."""
    return _metres_along(_turned_left(*_front_of(second)), first, second)


def _own_front(first: StandingObject, second: StandingObject) -> Any:
    """Metres of the first object before the face of the second."""
    return _metres_along(_front_of(second), first, second)


def _line_of_sight(viewer: StandingObject, goal: StandingObject) -> tuple[Any, Any]:
    """The unit vector on the ground from one object to another; 0, 0 at one place."""
    length = _ground_distance(viewer, goal)
    # An object and itself are a pair of the arrays too: dividing by 1 keeps it 0, not NaN.
    divisor = np.where(length > 0, length, 1.0)
    return (goal.right - viewer.right) / divisor, (goal.away - viewer.away) / divisor


def _seen_left(first: StandingObject, second: StandingObject, third: StandingObject) -> Any:
    """Metres of the first object to the left of the second for whoever looks from the third."""
    return _metres_along(_turned_left(*_line_of_sight(third, second)), first, second)


def _seen_behind(first: StandingObject, second: StandingObject, third: StandingObject) -> Any:
    """Metres of the first object beyond the second for whoever looks from the third."""
    return _metres_along(_line_of_sight(third, second), first, second)


class Rule(NamedTuple):
    """The rule that decides a relation (docs/vocabularies.md, "Rules of space")."""

    margin: Callable[..., Any]
    """Returns the signed margin in metres, from `arity` objects and the relation's distance."""
    opposite: str = ""
    """The relation that cannot hold together with this one; empty if there is none."""
    converse: str = ""
    """The same relation seen from the second object; empty if there is none."""
    arity: int = 2
    """How many objects it relates: 2 or 3."""


RULES = {
    "right": Rule(lambda first, second, _: first.right - second.right, "left", "left"),
    "left": Rule(lambda first, second, _: second.right - first.right, "right", "right"),
    "behind": Rule(lambda first, second, _: first.away - second.away, "front", "front"),
    "front": Rule(lambda first, second, _: second.away - first.away, "behind", "behind"),
    "near": Rule(
        lambda first, second, distance: distance - _ground_distance(first, second), "far", "near"
    ),
    "far": Rule(
        lambda first, second, distance: _ground_distance(first, second) - distance, "near", "far"
    ),
    "on": Rule(lambda first, second, _: _resting(first, second), "beneath", "beneath"),
    "beneath": Rule(lambda first, second, _: _resting(second, first), "on", "on"),
    # In the frame of the second object, which says nothing of the frame of the first: no converse.
    "own-left": Rule(lambda first, second, _: _own_left(first, second), "own-right"),
    "own-right": Rule(lambda first, second, _: -_own_left(first, second), "own-left"),
    "own-front": Rule(lambda first, second, _: _own_front(first, second), "own-behind"),
    "own-behind": Rule(lambda first, second, _: -_own_front(first, second), "own-front"),
    # In the frame of a third object, which looks at the second.
    "seen-left": Rule(
        lambda first, second, third, _: _seen_left(first, second, third), "seen-right", arity=3
    ),
    "seen-right": Rule(
        lambda first, second, third, _: -_seen_left(first, second, third), "seen-left", arity=3
    ),
    "seen-behind": Rule(
        lambda first, second, third, _: _seen_behind(first, second, third), "seen-front", arity=3
    ),
    "seen-front": Rule(
        lambda first, second, third, _: -_seen_behind(first, second, third), "seen-behind", arity=3
    ),
}
"""Every relation that the judge can decide."""


def read_scene(record: str, terms: Terms) -> SceneGeometry:
    """Read the record of a scene.

    Args:
        record: JSON, as in the column `scene` of scenes.parquet.
        terms: The terms of the world's vocabulary.

    Raises:
        ValueError, KeyError, TypeError: The record is malformed, repeats a key, or has a number
            that is not finite.
    """
    data = parse_json(record)
    # Refuses NaN and infinity, which JSON parsers accept.
    json.dumps(data, allow_nan=False)
    objects = []
    positions = []
    fronts = []
    for object_data in data["objects"]:
        category = object_data["category"]
        values = object_data["attributes"]
        key = category, tuple(values.items())
        objects.append(terms.known_objects.setdefault(key, (category, values)))
        positions.append(tuple(map(float, object_data["position"])))
        fronts.append(_world_front(object_data, terms))
    away = _viewing_direction(data["camera"])
    environment = data.get("environment")
    return SceneGeometry(
        objects=objects,
        ground=[_as_seen(x, y, away) for x, y, _ in positions],
        feet=[z for _, _, z in positions],
        tops=[terms.top(category, values) for category, values in objects],
        facing=[_as_seen(x, y, away) for x, y in fronts],
        environment=environment if isinstance(environment, str) else None,
        terms=terms,
    )


def _world_front(object_data: dict[str, Any], terms: Terms) -> tuple[float, float]:
    """The unit vector to an object's front in the world; 0, 0 if its category has none."""
    category = object_data["category"]
    if category not in terms.fronts:
        return 0.0, 0.0
    angle = float(object_data["heading"]) + terms.fronts[category]
    return math.cos(angle), math.sin(angle)


def _as_seen(x: float, y: float, away: tuple[float, float]) -> tuple[float, float]:
    """A vector on the ground by its components to the right of the camera and away from it."""
    away_x, away_y = away
    # Right is the viewing direction turned clockwise by a quarter.
    return x * away_y - y * away_x, x * away_x + y * away_y


def _viewing_direction(camera: dict[str, Any]) -> tuple[float, float]:
    """The viewing direction of a camera on the ground, a unit vector."""
    (x, y, _), (target_x, target_y, _) = camera["position"], camera["target"]
    length = math.hypot(target_x - x, target_y - y)
    if not (0.0 < length < math.inf):
        raise ValueError("its camera looks straight down, so left and front are undefined")
    return (target_x - x) / length, (target_y - y) / length
