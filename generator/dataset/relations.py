"""The relations that datasets record, and the rules of space that decide them
(docs/vocabularies.md, "Rules of space").

A new relation is an entry of `AXES` here, its phrase in a family, and an entry of the judge's own
table (generator/judge/geometry.py). The rules lie below vocabularies, since whoever counts a
dataset must know which relation is the converse of which. The judge must not read them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

_Side = TypeVar("_Side")
PlannedBy = Literal["left-right order", "depth order", "clumps", "stacks"]
"""The parts of a plan that decide relations before positions are drawn."""
Frame = Literal["viewer", "object", "third"]
"""Whose directions a relation means: those of the camera; of the second object, by its front; or of
a third object that looks at the second."""
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
    facing_right: float = 0.0
    """Component, to the right of the camera, of the unit vector to its front on the ground; both
    components are 0 without a front."""
    facing_behind: float = 0.0
    """Component away from the camera."""


@dataclass(frozen=True)
class Axis:
    """Two relations that are each other's opposite, such as right and left; or one relation of more
    than two objects.

    A relation of three objects (A between B and C) is an axis with one rule or two; captions name
    it, but it is never planned or held out.
    """

    rules: tuple[str, ...]
    """The two relations; or one of more than two objects, which has no opposite."""
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
    frame: Frame | None = None
    """Whose directions its rules mean; None if they are no directions (near, on)."""

    @property
    def has_converse(self) -> bool:
        """Whether a rule of (A, B) says which rule holds of (B, A). "On the lion's own left" says
        nothing of where the lion is as the other object looks."""
        return self.arity == 2 and self.frame in (None, "viewer")

    @property
    def _negates(self) -> bool:
        """Whether the second rule is the negation of the first for the same objects in the same
        order."""
        return self.symmetric or not self.has_converse

    def opposite(self, rule: str) -> str:
        """Find the rule that cannot hold together with a rule.

        Args:
            rule: One of the rules.

        Returns:
            The other rule.

        Example:
            >>> AXIS_OF["left"].opposite("left")
            'right'
        """
        return self.rules[-1] if rule == self.rules[0] else self.rules[0]

    def converse(self, rule: str) -> str | None:
        """Find the rule that holds of (B, A) when a rule holds of (A, B).

        Args:
            rule: One of the rules.

        Returns:
            Its converse: the rule itself if the axis is symmetric, else the other rule; None where
            nothing follows.

        Example:
            >>> [AXIS_OF[rule].converse(rule) for rule in ("left", "near", "own-left")]
            ['right', 'near', None]
        """
        if not self.has_converse:
            return None
        return rule if self.symmetric else self.opposite(rule)

    def in_terms_of_first_rule(
        self, rule: str, first: _Side, second: _Side
    ) -> tuple[_Side, _Side, bool]:
        """How to decide `rule` by the first rule of the axis.

        Args:
            rule: One of the two rules.
            first: The object that stands in the relation.
            second: The object to which it stands so.

        Returns:
            The two objects in the order in which the first rule takes them, and whether its answer
            has to be negated.

        Example:
            >>> AXIS_OF["left"].in_terms_of_first_rule("left", "cube", "cone")
            ('cone', 'cube', False)
        """
        if rule == self.rules[0]:
            return first, second, False
        return (first, second, True) if self._negates else (second, first, False)

    def margin(self, rule: str, poses: Sequence[Pose], distance: float) -> float:
        """Measure by how much a rule holds.

        Args:
            rule: One of the rules.
            poses: The objects that the relation joins, in its order.
            distance: The `distance` of the relation, metres; 0 if not declared.

        Returns:
            Signed metres, to the micrometre; negative where the rule does not hold.
        """
        if rule == self.rules[0]:
            # The judge rounds to the micrometre too, so that both decide alike at a margin.
            return round(self.measure(*poses, distance), 6)
        if self._negates:
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


def _own_right(one: Pose, ground: Pose, _distance: float) -> float:
    """How far an object is to the right of another as that one looks, metres; 0 if it has no
    front."""
    right, behind = one.right - ground.right, one.behind - ground.behind
    # Along its right hand, which is its front turned a quarter clockwise, as seen from above.
    return right * ground.facing_behind - behind * ground.facing_right


def _own_behind(one: Pose, ground: Pose, _distance: float) -> float:
    """How far an object is behind the back of another, metres; 0 if that one has no front."""
    right, behind = one.right - ground.right, one.behind - ground.behind
    return -(right * ground.facing_right + behind * ground.facing_behind)


def _sight_line(looking: Pose, ground: Pose) -> tuple[float, float]:
    """The unit vector on the ground from an object to another; 0, 0 if they are at one place."""
    right, behind = ground.right - looking.right, ground.behind - looking.behind
    length = math.sqrt(right * right + behind * behind)
    return (right / length, behind / length) if length else (0.0, 0.0)


def _seen_right(one: Pose, ground: Pose, looking: Pose, _distance: float) -> float:
    """How far an object is to the right of another as a third sees them, metres."""
    across, ahead = _sight_line(looking, ground)
    return (one.right - ground.right) * ahead - (one.behind - ground.behind) * across


def _seen_behind(one: Pose, ground: Pose, looking: Pose, _distance: float) -> float:
    """How far an object is behind another as a third sees them, metres."""
    # "In front of" is nearer to the one that looks, as for the camera.
    across, ahead = _sight_line(looking, ground)
    return (one.right - ground.right) * across + (one.behind - ground.behind) * ahead


AXES = (
    Axis(
        ("right", "left"),
        lambda one, other, _: one.right - other.right,
        "left-right order",
        frame="viewer",
    ),
    Axis(
        ("behind", "front"),
        lambda one, other, _: one.behind - other.behind,
        "depth order",
        frame="viewer",
    ),
    Axis(
        ("near", "far"),
        lambda one, other, distance: distance - _apart(one, other),
        "clumps",
        symmetric=True,
        needs_distance=True,
    ),
    Axis(("on", "beneath"), _resting, "stacks"),
    Axis(("own-right", "own-left"), _own_right, frame="object"),
    Axis(("own-behind", "own-front"), _own_behind, frame="object"),
    Axis(("seen-right", "seen-left"), _seen_right, arity=3, frame="third"),
    Axis(("seen-behind", "seen-front"), _seen_behind, arity=3, frame="third"),
)

AXIS_OF = {rule: axis for axis in AXES for rule in axis.rules}
"""The axis of every rule."""

OWN = {"left": "own-left", "right": "own-right", "front": "own-front", "behind": "own-behind"}
"""For each direction of the viewer, the same direction in the frame of the second object."""


def converse_of(rule: str) -> str | None:
    """Find the relation of the second object to the first.

    Args:
        rule: The relation of the first object to the second.

    Returns:
        Its converse; None where nothing follows, and for a relation that has no rule here.

    Example:
        >>> converse_of("left"), converse_of("near"), converse_of("orbiting")
        ('right', 'near', None)
    """
    axis = AXIS_OF.get(rule)
    return None if axis is None else axis.converse(rule)
