"""Draws the heading of each object of a scene.

A heading is free within what its family allows, unless the plan says on which own side of the
object the other one stands. Then the object looks so that the other stands within the margin of
that axis: to its left, for example, and neither in front of it nor behind it. How far from the axis
it stands is random within the margin.
"""

import math
from collections.abc import Sequence

from generator.base.streams import Stream
from generator.dataset.relations import OWN
from generator.scene.planned import Planned
from generator.scene.scene import Camera, Point
from generator.vocabulary.schema import Vocabulary
from generator.vocabulary.tables import ObjectSpec

# Metres between what a planned heading decides and the margin. Recorded positions are rounded to
# the micrometre, and so are the margins that the judge computes from them.
_SAFETY = 0.01

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
    planned_sides = {ground: (one, name) for one, name, ground in planned.own_facts}
    headings: list[float] = []
    for i, ((category, _), position) in enumerate(zip(planned.objects, positions, strict=True)):
        spec = vocabulary.objects[category]
        if i in planned_sides:
            one, direction = planned_sides[i]
            facing = _draw_own_facing(position, positions[one], direction, vocabulary, stream)
            if facing is None:
                return None
            front = math.radians(spec.front or 0.0)
            headings.append(round(math.remainder(facing - front, 2 * math.pi), 6))
        elif planned.azimuth is not None and spec.front is not None:
            headings.append(round(2 * math.pi * stream.uniform(-0.5, 0.5), 6))
        else:
            headings.append(_draw_heading(position, camera, spec, stream))
    return headings


def _draw_own_facing(
    position: Point, other: Point, direction: str, vocabulary: Vocabulary, stream: Stream
) -> float | None:
    """A random direction (radians) in which an object looks, so that another stands in a direction
    of its own frame, and in none of the other axis; None if the two are too close."""
    right, ahead = other[0] - position[0], other[1] - position[1]
    distance = math.hypot(right, ahead)
    least_along = _margin(direction, direction, vocabulary) + _SAFETY
    most_across = _margin(_ACROSS[direction], direction, vocabulary) - _SAFETY
    if distance < least_along:
        return None
    most_angle = min(math.asin(min(1.0, most_across / distance)), math.acos(least_along / distance))
    towards_other = math.atan2(ahead, right)
    return towards_other - _LEFTWARD[direction] + most_angle * stream.uniform(-1, 1)


def _margin(direction: str, declared: str, vocabulary: Vocabulary) -> float:
    """The margin of an own direction, metres. A family may declare one axis alone, whose margin
    then serves for both."""
    relations = vocabulary.relations
    if direction not in relations:
        direction = declared if declared in relations else _ACROSS[declared]
    return relations[direction].margin


def _draw_heading(position: Point, camera: Camera, spec: ObjectSpec, stream: Stream) -> float:
    """A random heading (radians) within an object's `turn`, around the direction that shows its
    front or side."""
    facing = math.atan2(camera.position[1] - position[1], camera.position[0] - position[0])
    if spec.shows == "side":
        # The left side or the right side.
        facing += math.pi * (stream.below(2) - 0.5)
    return round(facing + math.radians(spec.turn) * stream.uniform(-0.5, 0.5), 6)
