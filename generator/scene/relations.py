"""What each relation means in space: signed margins between the objects of a scene (docs/vocabularies.md, relations)."""

import math
from typing import TYPE_CHECKING

from generator.vocabulary.relation_rules import DIRECTIONS, Relation
from generator.vocabulary.schema import Vocabulary

if TYPE_CHECKING:
    from generator.scene.scene import Camera, Scene

Point = tuple[float, float, float]
Truth = bool | None
CONTACT = 0.001
"""How far a foot may be above or below a top and still rest on it, metres."""


class Space:
    """The objects of a scene as the rules of space see them: places, flat tops, and the camera's ground directions."""

    def __init__(self, scene: "Scene", vocabulary: Vocabulary):
        self._directions = ground_directions(scene.camera)
        self._places = [thing.position for thing in scene.objects]
        self._tops = [vocabulary.top(thing.category, thing.attributes) or (0.0, 0.0) for thing in scene.objects]

    def margin(self, relation: Relation, i: int, j: int) -> float:
        """Signed metres, to the micrometre, by which object i stands in the relation to object j; negative where not."""
        first, second = self._places[i], self._places[j]
        if relation.rule in DIRECTIONS:
            return along(self._directions[relation.rule], first, second)
        if relation.distance is not None:
            room = relation.distance - _apart(first, second)
            return round(room if relation.rule == "near" else -room, 6)
        upper, lower = (i, j) if relation.rule == "on" else (j, i)
        return round(self._resting(upper, lower), 6)

    def _resting(self, upper: int, lower: int) -> float:
        """Where a foot touches the other's top, how far inside its rim; else minus how far it is from there.

        Without a flat top an object counts as one whose top is a point on the ground under it, so that nothing rests on it.
        """
        first, second = self._places[upper], self._places[lower]
        height, radius = self._tops[lower]
        lift, aside = first[2] - (second[2] + height), _apart(first, second)
        return radius - aside if abs(lift) <= CONTACT else -max(aside, abs(lift))


def decided(margin: float, relation: Relation) -> Truth:
    """Whether a relation holds by that signed margin; None where it lies within the relation's margin."""
    return None if abs(margin) < relation.margin else margin > 0


def ground_directions(camera: "Camera") -> dict[str, tuple[float, float]]:
    """Unit vectors (x, y) on the ground for left, right, front and behind as the camera sees them."""
    x, y = (t - p for t, p in zip(camera.target[:2], camera.position[:2], strict=True))
    length = math.sqrt(x * x + y * y)
    x, y = x / length, y / length
    return {"behind": (x, y), "front": (-x, -y), "right": (y, -x), "left": (-y, x)}


def along(direction: tuple[float, float], first: Point, second: Point) -> float:
    """Signed metres, to the micrometre, by which `first` lies further in `direction` than `second`."""
    return round((first[0] - second[0]) * direction[0] + (first[1] - second[1]) * direction[1], 6)


def _apart(first: Point, second: Point) -> float:
    x, y = first[0] - second[0], first[1] - second[1]
    return math.sqrt(x * x + y * y)
