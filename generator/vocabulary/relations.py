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
"""The parts of a plan that decide relations before positions are drawn."""
ORDERS: tuple[PlannedBy, ...] = ("left-right order", "depth order")
"""The parts that decide directions."""
CONTACT = 0.001
"""How far a foot may be above or below a top and still rest on it, metres."""


class Pose(NamedTuple):
    """Where an object stands, in metres."""

    right: float
    """Coordinate on the ground towards the right of the camera."""
    behind: float
    """Coordinate on the ground away from the camera."""
    foot: float
    """The height on which it stands."""
    top_height: float
    """The height of its flat top above `foot`; 0 without a top."""
    top_radius: float
    """The radius of its top; 0 without a top."""


@dataclass(frozen=True)
class Axis:
    """Two relations that are each other's opposite, such as right and left; or one relation of more
    than two objects.

    A relation of three objects (A between B and C) is an axis with one rule; captions name it, but
    it is never planned or held out.
    """

    rules: tuple[str, ...]
    """The two relations, or the one of more than two objects."""
    measure: Callable[..., float]
    """Takes `arity` poses and the `distance` of the relation (0 if not declared). Returns the
    signed metres by which the first of the `rules` holds."""
    planned_by: PlannedBy | None = None
    """The part of a plan that decides both rules before positions are drawn; None if only positions
    decide."""
    symmetric: bool = False
    """Whether each rule is its own converse (near); else its converse is the other rule (left,
    right)."""
    needs_distance: bool = False
    """Whether its relations declare a `distance`."""
    arity: int = 2
    """The number of objects that a relation joins."""

    def opposite(self, rule: str) -> str:
        """The other rule."""
        return self.rules[-1] if rule == self.rules[0] else self.rules[0]

    def converse(self, rule: str) -> str:
        """The rule that holds of (B, A) when this rule holds of (A, B)."""
        return rule if self.symmetric else self.opposite(rule)

    def in_terms_of_first_rule(
        self, rule: str, first: _Side, second: _Side
    ) -> tuple[_Side, _Side, bool]:
        """How to decide `rule` by the first rule of the axis.

        Args:
            rule: one of the two rules.
            first: the object that stands in the relation.
            second: the object to which it stands so.

        Returns:
            The two objects in the order in which the first rule takes them, and whether its answer
            has to be negated.

        >>> AXIS_OF["left"].in_terms_of_first_rule("left", "cube", "cone")
        ('cone', 'cube', False)
        """
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
    lift = upper.foot - (lower.foot + lower.top_height)
    aside = _apart(upper, lower)
    if abs(lift) <= CONTACT:
        return lower.top_radius - aside
    return -max(aside, abs(lift))


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
    """A relation of a family."""

    name: str = Field(exclude=True)
    """The name of its rule."""
    phrase: Words
    """Its words, such as "to the left of"."""
    synonyms: tuple[Words, ...] = ()
    """Other phrases for it."""
    margin: Positive
    """It is undecided where its rule gives fewer metres than this, in either direction."""
    distance: Positive | None = None
    """The bound of rules that need a distance, metres; None for other rules."""

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
    """Check that each opposite is declared with the same margin and distance, and that exactly the
    rules that need a distance have one.

    Raises:
        ValueError: names all mistakes.
    """
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
            f"relation '{name}' has the opposite '{relation.opposite}', which is not declared; "
            f"add it."
        )
    if (opposite.margin, opposite.distance) != (relation.margin, relation.distance):
        raise ValueError(
            f"relation '{name}' and its opposite '{opposite.name}' differ in margin or distance; "
            f"give them the same, or one would be undecided where the other is decided."
        )
    if (relation.distance is not None) != relation.axis.needs_distance:
        needing = [rule for rule, axis in AXIS_OF.items() if axis.needs_distance]
        raise ValueError(
            f"relation '{name}' has distance = {relation.distance}; {' and '.join(needing)} need a "
            f"distance, the others have none."
        )
