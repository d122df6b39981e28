"""Relations and the rules of space that decide them (docs/vocabularies.md, "Rules of space").

A new relation is an entry of `AXES` here, its phrase in a family, and an entry of the judge's own
table (generator/judge/geometry.py).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from pydantic import Field, field_validator

from generator.base.declarations import Declared, Positive, Words, caught, refuse
from generator.base.errors import did_you_mean

_Side = TypeVar("_Side")
PlannedBy = Literal["left-right order", "depth order", "clumps", "stacks"]
ORDERS: tuple[PlannedBy, ...] = ("left-right order", "depth order")
CONTACT = 0.001
"""How far a foot may be above or below a top and still rest on it, metres."""


class Pose(NamedTuple):
    """Where an object stands, in metres.

    `right` and `behind` are coordinates on the ground along the camera's directions, `foot` is the
    height on which it
    stands, `top_height` the height of its flat top above `foot` and `top_radius` the radius of the
    top; both are 0
    without a top.
    """

    right: float
    behind: float
    foot: float
    top_height: float
    top_radius: float


@dataclass(frozen=True)
class Axis:
    """Two relations that are each other's opposite, such as right and left; or one relation of more
    than two objects.

    `measure` takes `arity` poses and the `distance` of the relation (0 if not declared), and
    returns the signed metres
    by which the first of the `rules` holds. `planned_by` is the part of a plan that decides both
    rules before positions
    are drawn; None if only positions decide. A rule of a `symmetric` axis is its own converse
    (near); else its converse
    is the other rule (left, right). A relation of three objects (A between B and C) is an axis with
    one rule; captions
    name it, but it is never planned or held out.
    """

    rules: tuple[str, ...]
    measure: Callable[..., float]
    planned_by: PlannedBy | None = None
    symmetric: bool = False
    needs_distance: bool = False
    arity: int = 2

    def opposite(self, rule: str) -> str:
        """The other rule."""
        return self.rules[-1] if rule == self.rules[0] else self.rules[0]

    def converse(self, rule: str) -> str:
        """The rule that holds of (B, A) when this rule holds of (A, B)."""
        return rule if self.symmetric else self.opposite(rule)

    def in_terms_of_first_rule(
        self, rule: str, first: _Side, second: _Side
    ) -> tuple[_Side, _Side, bool]:
        """How the first rule answers `rule`: the order of the two objects, and whether to negate
        the answer."""
        if rule == self.rules[0]:
            return first, second, False
        return (first, second, True) if self.symmetric else (second, first, False)

    def margin(self, rule: str, poses: Sequence[Pose], distance: float) -> float:
        """Signed metres, to the micrometre, by which a rule holds of some poses; negative where it
        does not."""
        if rule == self.rules[0]:
            return round(self.measure(*poses, distance), 6)
        if self.symmetric:
            return round(-self.measure(*poses, distance), 6)
        return round(self.measure(*reversed(poses), distance), 6)


def _apart(first: Pose, second: Pose) -> float:
    """The distance on the ground, metres."""
    right, behind = first.right - second.right, first.behind - second.behind
    return math.sqrt(right * right + behind * behind)


def _resting(upper: Pose, lower: Pose, _distance: float) -> float:
    """If a foot touches a top: its distance inside the rim, metres. Else -max(distance to the axis,
    height difference).

    An object without a flat top has a top of radius 0 at the height of its foot, so nothing rests
    on it.
    """
    lift, aside = upper.foot - (lower.foot + lower.top_height), _apart(upper, lower)
    return lower.top_radius - aside if abs(lift) <= CONTACT else -max(aside, abs(lift))


AXES = (
    Axis(("right", "left"), lambda one, other, _: one.right - other.right, "left-right order"),
    Axis(("behind", "front"), lambda one, other, _: one.behind - other.behind, "depth order"),
    Axis(
        ("near", "far"),
        lambda one, other, distance: distance - _apart(one, other),
        "clumps",
        symmetric=True,
        needs_distance=True,
    ),
    Axis(("on", "beneath"), _resting, "stacks"),
)

AXIS_OF = {rule: axis for axis in AXES for rule in axis.rules}
"""The axis of every rule."""


class Relation(Declared):
    """A relation of a family: its name (the name of its rule), its words, and the metres that
    decide it.

    It is undecided within `margin`; `distance` is the bound, for rules that need a distance.
    """

    name: str = Field(exclude=True)
    phrase: Words
    synonyms: tuple[Words, ...] = ()
    margin: Positive
    distance: Positive | None = None

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in AXIS_OF:
            raise ValueError(f"unknown relation '{name}'; {did_you_mean(name, list(AXIS_OF))}")
        return name

    @property
    def axis(self) -> Axis:
        """The axis of its rule."""
        return AXIS_OF[self.name]

    @property
    def converse(self) -> str:
        """The relation of the second object to the first."""
        return self.axis.converse(self.name)

    @property
    def opposite(self) -> str:
        """The relation that cannot hold together with this one."""
        return self.axis.opposite(self.name)


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Raise ValueError, naming all mistakes, unless each opposite is declared with the same margin
    and distance, and exactly the rules that need a distance have one."""
    refuse(
        mistake
        for name in relations
        for mistake in caught(partial(_check_relation, name, relations))
    )


def _check_relation(name: str, relations: Mapping[str, Relation]) -> None:
    relation = relations[name]
    opposite = relations.get(relation.opposite)
    if opposite is None:
        raise ValueError(
            f"relation '{name}' has the opposite '{relation.opposite}', which is not declared; add "
            f"it."
        )
    if (opposite.margin, opposite.distance) != (relation.margin, relation.distance):
        raise ValueError(
            f"relation '{name}' and its opposite '{opposite.name}' differ in margin or distance; "
            f"give them the same, "
            "or one would be undecided where the other is decided."
        )
    if (relation.distance is not None) != relation.axis.needs_distance:
        needing = [rule for rule, axis in AXIS_OF.items() if axis.needs_distance]
        raise ValueError(
            f"relation '{name}' has distance = {relation.distance}; {' and '.join(needing)} need a "
            f"distance, the "
            "others have none."
        )
