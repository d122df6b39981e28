"""The rules of space: what a relation can mean, in one table (docs/vocabularies.md, "Rules of space").

A new rule is an entry of `AXES` here, a relation with a phrase in a family, and an entry of the judge's own table
(generator/judge/geometry.py).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

_Side = TypeVar("_Side")
PlannedBy = Literal["left-right order", "depth order", "clumps", "stacks"]
ORDERS: tuple[PlannedBy, ...] = ("left-right order", "depth order")
CONTACT = 0.001
"""How far a foot may be above or below a top and still rest on it, metres."""


class Pose(NamedTuple):
    """Where an object stands, in metres.

    `right` and `behind` are coordinates on the ground along the camera's directions, `foot` is the height on which it
    stands, `top_height` the height of its flat top above that and `top_radius` the radius of the top; both 0 without
    one.
    """

    right: float
    behind: float
    foot: float
    top_height: float
    top_radius: float


@dataclass(frozen=True)
class Axis:
    """Two rules that are each other's opposite, such as right and left.

    `measure` gives the signed metres by which the first of the two `rules` holds of two poses; its third argument is
    the `distance` that the relation declares, 0 where it declares none. `planned_by` is the part of a plan that
    decides both rules before anything has a place; None where only the places of a scene decide. A rule of a
    `symmetric` axis is its own converse (near); else its converse is the other rule (left, right).
    """

    rules: tuple[str, str]
    measure: Callable[[Pose, Pose, float], float]
    planned_by: PlannedBy | None = None
    symmetric: bool = False
    needs_distance: bool = False

    def opposite(self, rule: str) -> str:
        """The other rule."""
        return self.rules[rule == self.rules[0]]

    def converse(self, rule: str) -> str:
        """The rule that holds of the second object and the first when this one holds of the first and the second."""
        return rule if self.symmetric else self.opposite(rule)

    def asked(self, rule: str, first: _Side, second: _Side) -> tuple[_Side, _Side, bool]:
        """How to answer `rule` by the first rule: in which order to take the two, and whether to negate the answer."""
        if rule == self.rules[0]:
            return first, second, False
        return (first, second, True) if self.symmetric else (second, first, False)

    def margin(self, rule: str, first: Pose, second: Pose, distance: float) -> float:
        """Signed metres, to the micrometre, by which a rule holds of two poses; negative where it does not."""
        one, other, negated = self.asked(rule, first, second)
        metres = self.measure(one, other, distance)
        return round(-metres if negated else metres, 6)


def _apart(first: Pose, second: Pose) -> float:
    """The distance on the ground, metres."""
    right, behind = first.right - second.right, first.behind - second.behind
    return math.sqrt(right * right + behind * behind)


def _resting(upper: Pose, lower: Pose, _distance: float) -> float:
    """How far inside the rim of a top a foot touches it, metres; where it does not, minus how far it is from there.

    An object without a flat top counts as one whose top is a point on the ground under it, so nothing rests on it.
    """
    lift, aside = upper.foot - (lower.foot + lower.top_height), _apart(upper, lower)
    return lower.top_radius - aside if abs(lift) <= CONTACT else -max(aside, abs(lift))


AXES = (
    Axis(("right", "left"), lambda one, other, _: one.right - other.right, "left-right order"),
    Axis(("behind", "front"), lambda one, other, _: one.behind - other.behind, "depth order"),
    Axis(
        ("near", "far"), lambda one, other, distance: distance - _apart(one, other), "clumps", symmetric=True,
        needs_distance=True,
    ),
    Axis(("on", "beneath"), _resting, "stacks"),
)  # fmt: skip

AXIS_OF = {rule: axis for axis in AXES for rule in axis.rules}
"""The axis of every rule."""
