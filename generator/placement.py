"""Where objects stand: places on the ground in given orders from left to right and from front to behind."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from generator.projection import axes
from generator.scene import Camera, Point, ground_directions
from generator.streams import Stream
from generator.vocabulary import Placement

_SWEEPS = 1_000
_WORSE = 0.02  # by how much a move may make things worse, lest objects that are in each other's way stay so, metres
_GRAIN = 4e-6  # more than rounding to the micrometre can take from a distance between two objects, metres


class _Stand(NamedTuple):
    """An object at a place: metres to the right of the world's origin and behind it, and its image.

    The image is in slopes, pixels over the focal length: its middle to the right of and above the viewing axis, half
    its breadth and height, and by how much it leaves the frame.
    """

    right: float
    behind: float
    radius: float
    aside: float
    aloft: float
    breadth: float
    height: float
    beyond: float


class Ground:
    """The ground as a camera sees it, for finding places on it that keep the rules of a vocabulary."""

    def __init__(self, camera: Camera, rules: Placement, width: int, height: int):
        directions = ground_directions(camera)
        self._right, self._behind = directions["right"], directions["behind"]
        self._extent, self._hidden = rules.extent, 1 - rules.min_visible
        self._clearance, self._gap = rules.clearance + _GRAIN, rules.gap + _GRAIN
        self._half = rules.extent * (abs(self._right[0]) + abs(self._right[1]))
        self._eye = (_dot(self._right, camera.position), _dot(self._behind, camera.position), camera.position[2])
        _, up, back = axes(camera.position, camera.target)
        self._up = (_dot(self._behind, up), up[2])
        self._depth = (-_dot(self._behind, back), -back[2])
        focal = camera.lens / camera.sensor * max(width, height)
        frame = (min(width, height),) * 2 if rules.frame == "square" else (width, height)
        self._frame = (frame[0] / 2 / focal, frame[1] / 2 / focal)

    def find(self, radii: Sequence[float], depth_order: Sequence[int], stream: Stream) -> list[Point] | None:
        """Places of objects that are listed from left to right; `depth_order` has their ranks from front to behind.

        They start from random places in these orders, `clearance` apart along each direction; then each in turn may
        move between its neighbours, so that what is wrong lessens, until nothing is. None when something stays wrong.
        """
        n = len(radii)
        by_depth = sorted(range(n), key=depth_order.__getitem__)
        rights, depths = self._spread(n, stream), self._spread(n, stream)
        stands = [self._stand(rights[i], depths[depth_order[i]], radii[i]) for i in range(n)]
        for _ in range(_SWEEPS):
            if not any(self._wrong(stand, i, stands) for i, stand in enumerate(stands)):
                return [self._point(stand) for stand in stands]
            for i in stream.shuffled(range(n)):
                moved = self._moved(i, depth_order[i], by_depth, stands, stream)
                bearable = self._wrong(stands[i], i, stands) + stream.uniform(0, _WORSE)
                if self._wrong(moved, i, stands) <= bearable:
                    stands[i] = moved
        return None

    def _spread(self, n: int, stream: Stream) -> list[float]:
        """n rising coordinates, `clearance` apart, over all of the ground."""
        room = max(0.0, 2 * self._half - (n - 1) * self._clearance)
        drawn = sorted(stream.uniform(0, room) for _ in range(n))
        return [at + i * self._clearance - self._half for i, at in enumerate(drawn)]

    def _moved(self, i: int, rank: int, by_depth: list[int], stands: list[_Stand], stream: Stream) -> _Stand:
        """Object i somewhere else between its neighbours."""
        last = len(stands) - 1
        left = stands[i - 1].right + self._clearance if i else -self._half
        right = stands[i + 1].right - self._clearance if i < last else self._half
        front = stands[by_depth[rank - 1]].behind + self._clearance if rank else -self._half
        behind = stands[by_depth[rank + 1]].behind - self._clearance if rank < last else self._half
        return self._stand(stream.uniform(left, right), stream.uniform(front, behind), stands[i].radius)

    def _stand(self, right: float, behind: float, radius: float) -> _Stand:
        """An object at a place; it is as wide as `radius` says and twice as high at most, whatever its heading."""
        aside, ahead, foot = right - self._eye[0], behind - self._eye[1], -self._eye[2]
        near, far, top = ahead - radius, ahead + radius, foot + 2 * radius
        nearest = self._deep(near, top)
        if nearest <= 0:
            return _Stand(right, behind, radius, 0, 0, 1, 1, 1)
        depth = self._deep(ahead, foot + radius)
        high = (far * self._up[0] + top * self._up[1]) / self._deep(far, top)
        low = (near * self._up[0] + foot * self._up[1]) / self._deep(near, foot)
        beyond = max(0.0, (abs(aside) + radius) / nearest - self._frame[0])
        beyond += max(0.0, high - self._frame[1]) + max(0.0, -low - self._frame[1])
        return _Stand(right, behind, radius, aside / depth, (high + low) / 2, radius / depth, (high - low) / 2, beyond)

    def _deep(self, ahead: float, above: float) -> float:
        """Depth along the viewing axis of a point so far ahead of the eye on the ground and above it."""
        return ahead * self._depth[0] + above * self._depth[1]

    def _wrong(self, stand: _Stand, i: int, stands: list[_Stand]) -> float:
        """How much is wrong with object i at that stand, about in metres; 0 when nothing is."""
        x, y = self._world(stand)
        outside = max(0.0, abs(x) - self._extent) + max(0.0, abs(y) - self._extent) + stand.beyond
        return 10 * outside + sum(self._conflict(stand, other) for j, other in enumerate(stands) if j != i)

    def _conflict(self, one: _Stand, other: _Stand) -> float:
        """How much two objects lack of the gap between them, and how much one hides of the other beyond what it may.

        What is hidden is judged by the rectangles around their images; rays on the real shapes decide later.
        """
        aside, ahead = one.right - other.right, one.behind - other.behind
        apart, square = one.radius + other.radius + self._gap, aside * aside + ahead * ahead
        wrong = apart - math.sqrt(square) if square < apart * apart else 0.0
        across = one.breadth + other.breadth - abs(one.aside - other.aside)
        along = one.height + other.height - abs(one.aloft - other.aloft)
        if across > 0 and along > 0:
            back = one if ahead > 0 else other
            covered = min(1.0, across / (2 * back.breadth)) * min(1.0, along / (2 * back.height))
            wrong += max(0.0, covered - self._hidden)
        return wrong

    def _world(self, stand: _Stand) -> tuple[float, float]:
        (rx, ry), (bx, by) = self._right, self._behind
        return stand.right * rx + stand.behind * bx, stand.right * ry + stand.behind * by

    def _point(self, stand: _Stand) -> Point:
        x, y = self._world(stand)
        return (round(x, 6), round(y, 6), 0.0)


def _dot(direction: tuple[float, float], point: Point) -> float:
    return direction[0] * point[0] + direction[1] * point[1]
