"""Draws the heading of each object of a scene.

A heading is free within what its family allows, unless the plan says on which own side of the
object the other one stands. Then it is free within that: the other object has to be beyond the
margin in the planned direction, and if it stands straight there, within the margin of the other
axis.
"""

import math
from collections.abc import Sequence

from generator.base.streams import Stream
from generator.dataset.relations import OWN
from generator.scene.own_side import OwnSide
from generator.scene.planned import Planned
from generator.scene.scene import Camera, Point
from generator.vocabulary.schema import Vocabulary
from generator.vocabulary.tables import ObjectSpec

# How far a planned heading keeps from the margin, as a share of it. Recorded positions are rounded
# to the micrometre, and so are the margins that the judge computes from them.
_SLACK = 0.05

_LEFTWARD = {
    OWN["front"]: 0.0,
    OWN["left"]: math.pi / 2,
    OWN["behind"]: math.pi,
    OWN["right"]: -math.pi / 2,
}
"""By own direction, the angle to it from the object's front, counter-clockwise as seen from above,
radians."""
_ACROSS = {
    OWN["front"]: OWN["left"],
    OWN["behind"]: OWN["left"],
    OWN["left"]: OWN["front"],
    OWN["right"]: OWN["front"],
}
"""By own direction, one of the two on the other axis."""


def draw_headings(
    planned: Planned,
    positions: Sequence[Point],
    *,
    camera: Camera,
    vocabulary: Vocabulary,
    stream: Stream,
) -> list[float] | None:
    """Draw a heading for each object.

    Where cameras stand on all sides, an object with a front may look in any direction: else its
    front would be to the left or right of all cameras of one side.

    Args:
        planned: The plan of the scene.
        positions: Of all objects, metres.
        camera: Which sees them.
        vocabulary: Of the world.
        stream: Draws the headings.

    Returns:
        Radians; None if the objects stand too close together for a planned own direction.
    """
    planned_sides = {side.object: side for side in planned.own_sides}
    headings: list[float] = []
    for i, position in enumerate(positions):
        category, _ = planned.objects[i]
        spec = vocabulary.objects[category]
        if i in planned_sides:
            side = planned_sides[i]
            facing = _draw_facing(
                side, position, other=positions[side.subject], vocabulary=vocabulary, stream=stream
            )
            if facing is None:
                return None
            front = math.radians(spec.front or 0.0)
            heading = math.remainder(facing - front, 2 * math.pi)
            headings.append(round(heading, 6))
        elif planned.azimuth is not None and spec.front is not None:
            heading = 2 * math.pi * stream.uniform(-0.5, 0.5)
            headings.append(round(heading, 6))
        else:
            headings.append(_draw_heading(position, camera, spec=spec, stream=stream))
    return headings


def _draw_facing(
    side: OwnSide, position: Point, *, other: Point, vocabulary: Vocabulary, stream: Stream
) -> float | None:
    """A random direction (radians) in which an object looks so that the other one stands on a side
    of it; None if the two are too close together."""
    own_x, own_y, _ = position
    other_x, other_y, _ = other
    x, y = other_x - own_x, other_y - own_y
    distance = math.hypot(x, y)
    least_along = _margin(side.relation, vocabulary) * (1 + _SLACK)
    if distance < least_along:
        return None
    # The largest angle between the middle of the side and the direction to the other object.
    most_angle = math.acos(least_along / distance)
    if side.is_straight:
        # Then the other object is within the margin of the axis across, on neither of its sides.
        most_across = _margin(_ACROSS[side.relation], vocabulary) * (1 - _SLACK)
        sine = min(1.0, most_across / distance)
        most_angle = min(most_angle, math.asin(sine))
    facing_side = math.atan2(y, x) - _LEFTWARD[side.relation]
    return facing_side + most_angle * stream.uniform(-1, 1)


def _margin(direction: str, vocabulary: Vocabulary) -> float:
    """The margin of an own direction, metres. A family may declare one axis alone, whose margin
    then serves for both."""
    relation = vocabulary.relations.get(direction)
    if relation is None:
        relation = vocabulary.relations[_ACROSS[direction]]
    return relation.margin


def _draw_heading(position: Point, camera: Camera, *, spec: ObjectSpec, stream: Stream) -> float:
    """A random heading (radians) within an object's `turn`, around the direction that shows its
    front or side."""
    x, y, _ = position
    camera_x, camera_y, _ = camera.position
    facing = math.atan2(camera_y - y, camera_x - x)
    if spec.shows == "side":
        # The left side or the right side.
        facing += math.pi * (stream.below(2) - 0.5)
    heading = facing + math.radians(spec.turn) * stream.uniform(-0.5, 0.5)
    return round(heading, 6)
