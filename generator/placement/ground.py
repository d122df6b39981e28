"""Finds positions on the ground in given orders, as a camera sees them: left to right and front to
behind."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from generator.base.streams import Stream
from generator.scene.layouts import shift
from generator.scene.projection import axes
from generator.scene.relations import along, ground_directions
from generator.scene.scene import Camera, Point
from generator.vocabulary.schema import Vocabulary

_SWEEPS = 100  # then a search is stuck, and another start succeeds sooner
# how much worse a move may make a position, metres; else objects that block each other would stay
_WORSE = 0.02
_MOST_HIDDEN = (
    0.5  # share of an object that another beside it may hide; an object on top of it may hide more
)
_GRAIN = (
    4e-6  # metres; more than rounding to the micrometre can change a distance between two objects
)


class Footprint(NamedTuple):
    """Where an object stands, in metres: its nominal radius, the height of its foot, and how far
    its corners reach.

    Only CLEVR's cube reaches beyond its radius (see `Vocabulary.reach`).
    """

    radius: float
    height: float
    reach: float


Post = tuple[Footprint, ...]
"""The footprints at one position: of an object, and of the objects on top of it."""


class _Image(NamedTuple):
    """The image of an object in slopes, pixels over the focal length.

    `aside`, `aloft`: its middle, to the right of and above the viewing axis; then half its breadth
    and height.
    """

    aside: float
    aloft: float
    breadth: float
    height: float


class _Stand(NamedTuple):
    """A post at a position.

    `right` and `behind` are its coordinates from the world's origin, `radius` and `reach` its
    largest, all in metres;
    `beyond` is how far its images leave the frame, in slopes.
    """

    post: Post
    right: float
    behind: float
    radius: float
    reach: float
    images: tuple[_Image, ...]
    beyond: float


class Ground:
    """The ground as a camera sees it; finds positions on it that keep the placement rules of a
    vocabulary."""

    def __init__(self, camera: Camera, vocabulary: Vocabulary, width: int, height: int):
        self.vocabulary, rules, self.size = vocabulary, vocabulary.placement, (width, height)
        self._near, self._far = _distances(vocabulary)
        directions = ground_directions(camera)
        self._right, self._behind = directions["right"], directions["behind"]
        self._extent, self._hidden = rules.extent, min(_MOST_HIDDEN, 1 - rules.min_visible)
        self._clearance, self._gap = rules.clearance + _GRAIN, rules.gap + _GRAIN
        self._half = rules.extent * (abs(self._right[0]) + abs(self._right[1]))
        self._eye = (
            along(self._right, camera.position),
            along(self._behind, camera.position),
            camera.position[2],
        )
        _, up, back = axes(camera.position, camera.target)
        self._up = (along(self._behind, up), up[2])
        self._depth = (-along(self._behind, back), -back[2])
        focal = camera.lens / camera.sensor * max(width, height)
        frame = (min(width, height),) * 2 if rules.frame == "square" else (width, height)
        self._frame = (frame[0] / 2 / focal, frame[1] / 2 / focal)
        self._tall = height / focal

    def find(
        self,
        posts: Sequence[Post],
        depth_order: Sequence[int],
        stream: Stream,
        clumps: Sequence[int] = (),
    ) -> list[Point] | None:
        """Find positions of posts, which are listed from left to right; None when the search fails.

        `depth_order`: their ranks from front to behind. `clumps`: their clump numbers, empty if the
        plan leaves
        distances open. The search starts from random positions in these orders, `clearance` apart
        along each direction.
        Then each post in turn may move between its neighbours to reduce violations, until there are
        none.
        """
        n = len(posts)
        by_depth = sorted(range(n), key=depth_order.__getitem__)
        rights, depths = self._spread(n, stream), self._spread(n, stream)
        stands = [self._stand(rights[i], depths[depth_order[i]], posts[i]) for i in range(n)]
        wrong = [self._conflicts(i, stand, stands, clumps) for i, stand in enumerate(stands)]
        for _ in range(_SWEEPS):
            if not any(map(any, wrong)):
                return [self._point(stand) for stand in stands]
            for i in stream.shuffled(range(n)):
                moved = self._moved(i, depth_order[i], by_depth, stands, stream)
                bearable = sum(wrong[i]) + stream.uniform(0, _WORSE)
                if conflicts := self._conflicts(i, moved, stands, clumps, bearable):
                    stands[i], wrong[i] = moved, conflicts
                    for j, each in enumerate(conflicts):
                        wrong[j][i] = each
        return None

    def depth_order(self, n: int, stream: Stream) -> tuple[int, ...]:
        """Random ranks from front to behind of n positions on the ground, listed from left to
        right."""
        positions = [(stream.uniform(-1, 1), stream.uniform(-1, 1), 0.0) for _ in range(n)]
        positions.sort(key=lambda position: along(self._right, position))
        depths = [along(self._behind, position) for position in positions]
        ranked = sorted(depths)
        return tuple(ranked.index(depth) for depth in depths)

    def seen_from(self, camera: Camera) -> "Ground":
        """The same ground as another camera sees it."""
        return Ground(camera, self.vocabulary, *self.size)

    def fill(
        self, objects: Sequence[tuple[str, dict[str, str]]], positions: Sequence[Point]
    ) -> float:
        """How far objects reach from the middle of the frame towards its edges; 1 if an object
        touches an edge."""
        width, height = self._frame
        shown = self._shown(objects, positions)
        return max(max(side / width, high / height, -low / height) for side, high, low in shown)

    def heights(
        self, objects: Sequence[tuple[str, dict[str, str]]], positions: Sequence[Point]
    ) -> list[float]:
        """An upper bound of the height of each object's image, as a share of the height of the
        whole image."""
        return [(high - low) / self._tall for _, high, low in self._shown(objects, positions)]

    def _shown(
        self, objects: Sequence[tuple[str, dict[str, str]]], positions: Sequence[Point]
    ) -> Iterator[tuple[float, float, float]]:
        """The extent of each object's image, see `_reached`."""
        for obj, position in zip(objects, positions, strict=True):
            place = along(self._right, position), along(self._behind, position)
            yield self._reached(*place, self.vocabulary.reach(*obj), position[2])

    def _spread(self, n: int, stream: Stream) -> list[float]:
        """n random coordinates in ascending order, at least `clearance` apart, over the whole
        ground."""
        room = max(0.0, 2 * self._half - (n - 1) * self._clearance)
        drawn = sorted(stream.uniform(0, room) for _ in range(n))
        return [at + i * self._clearance - self._half for i, at in enumerate(drawn)]

    def _moved(
        self, i: int, rank: int, by_depth: list[int], stands: list[_Stand], stream: Stream
    ) -> _Stand:
        """Post i at another random position between its neighbours."""
        last = len(stands) - 1
        left = stands[i - 1].right + self._clearance if i else -self._half
        right = stands[i + 1].right - self._clearance if i < last else self._half
        front = stands[by_depth[rank - 1]].behind + self._clearance if rank else -self._half
        behind = stands[by_depth[rank + 1]].behind - self._clearance if rank < last else self._half
        return self._stand(
            stream.uniform(left, right), stream.uniform(front, behind), stands[i].post
        )

    def moved(self, place: Point, right: float, behind: float) -> tuple[float, float]:
        """The coordinates (x, y) of the point `right` metres to the right of a position and
        `behind` behind it."""
        (rx, ry), (bx, by) = self._right, self._behind
        return round(place[0] + right * rx + behind * bx, 6), round(
            place[1] + right * ry + behind * by, 6
        )

    def _stand(self, right: float, behind: float, post: Post) -> _Stand:
        seen = [self._image(right, behind, part.reach, part.height) for part in post]
        return _Stand(
            post,
            right,
            behind,
            max(part.radius for part in post),
            max(part.reach for part in post),
            tuple(image for image, _ in seen),
            sum(beyond for _, beyond in seen),
        )

    def _image(
        self, right: float, behind: float, radius: float, foot: float
    ) -> tuple[_Image, float]:
        """The image of an object of radius r and height 2r, and how far it leaves the frame, in
        slopes."""
        aside, ahead = right - self._eye[0], behind - self._eye[1]
        side, high, low = self._reached(right, behind, radius, foot)
        if math.isinf(side):
            return _Image(0, 0, 1, 1), 1
        depth = self._deep(ahead, foot - self._eye[2] + radius)
        beyond = max(0.0, side - self._frame[0])
        beyond += max(0.0, high - self._frame[1]) + max(0.0, -low - self._frame[1])
        return _Image(aside / depth, (high + low) / 2, radius / depth, (high - low) / 2), beyond

    def _reached(
        self, right: float, behind: float, radius: float, foot: float
    ) -> tuple[float, float, float]:
        """The extent of an object's image, in slopes: how far it reaches to the side of the viewing
        axis, and the heights of its top and its foot above the axis. All are infinite if it reaches
        behind the camera.
        """
        aside, ahead, foot = right - self._eye[0], behind - self._eye[1], foot - self._eye[2]
        near, far, top = ahead - radius, ahead + radius, foot + 2 * radius
        nearest = self._deep(near, top)
        if nearest <= 0:
            return math.inf, math.inf, -math.inf
        high = (far * self._up[0] + top * self._up[1]) / self._deep(far, top)
        low = (near * self._up[0] + foot * self._up[1]) / self._deep(near, foot)
        return (abs(aside) + radius) / nearest, high, low

    def _deep(self, ahead: float, above: float) -> float:
        """Depth along the viewing axis of a point `ahead` metres from the eye, along the ground,
        and `above` it."""
        return ahead * self._depth[0] + above * self._depth[1]

    def _conflicts(
        self,
        i: int,
        stand: _Stand,
        stands: list[_Stand],
        clumps: Sequence[int],
        bearable: float = math.inf,
    ) -> list[float]:
        """How much post i at `stand` and each other post violate the rules, roughly in metres; 0
        without a violation. Entry i is the penalty for leaving the ground or frame. Empty if the
        sum exceeds `bearable`."""
        x, y = self._world(stand)
        outside = 10 * (
            max(0.0, abs(x) - self._extent) + max(0.0, abs(y) - self._extent) + stand.beyond
        )
        found, left = [outside] * len(stands), bearable - outside
        for j, other in enumerate(stands):
            if left < 0:
                return []
            if j != i:
                found[j] = self._conflict(stand, other)
                if clumps:
                    found[j] += self._misplaced(stand, other, clumps[i] == clumps[j])
                left -= found[j]
        return found if left >= 0 else []

    def _misplaced(self, one: _Stand, other: _Stand, near: bool) -> float:
        """How much too far apart two posts of one clump are (`near`), or how much too close two
        others, metres."""
        aside, ahead = one.right - other.right, one.behind - other.behind
        apart = math.sqrt(aside * aside + ahead * ahead)
        return max(0.0, apart - self._near if near else self._far - apart)

    def _conflict(self, one: _Stand, other: _Stand) -> float:
        """The missing part of the gap between two posts, plus the hidden share of the rear post
        beyond the limit."""
        aside, ahead = one.right - other.right, one.behind - other.behind
        # CLEVR keeps a gap between nominal radii; corners that reach further may use it up, but
        # never meet
        apart = max(one.radius + other.radius + self._gap, one.reach + other.reach + _GRAIN)
        square = aside * aside + ahead * ahead
        wrong = apart - math.sqrt(square) if square < apart * apart else 0.0
        back, front = (one, other) if ahead > 0 else (other, one)
        hidden = 0.0
        for of in back.images:
            for part in front.images:
                across = part.breadth + of.breadth - abs(part.aside - of.aside)
                if across > 0:
                    hidden += self._hides(across, part, of)
        return wrong + hidden

    def _hides(self, across: float, front: _Image, back: _Image) -> float:
        """The share of an object that another hides beyond the limit; their images overlap by
        `across` sideways.

        Estimated from the rectangles around their images; rays on the real shapes decide later.
        """
        along = front.height + back.height - abs(front.aloft - back.aloft)
        if along <= 0:
            return 0.0
        return max(
            0.0,
            min(1.0, across / (2 * back.breadth)) * min(1.0, along / (2 * back.height))
            - self._hidden,
        )

    def _world(self, stand: _Stand) -> tuple[float, float]:
        (rx, ry), (bx, by) = self._right, self._behind
        return stand.right * rx + stand.behind * bx, stand.right * ry + stand.behind * by

    def _point(self, stand: _Stand) -> Point:
        x, y = self._world(stand)
        return (round(x, 6), round(y, 6), 0.0)


def _distances(vocabulary: Vocabulary) -> tuple[float, float]:
    """The largest distance within a clump, and the least between clumps, metres, so that near and
    far are decided.

    Both allow for objects that rest off the middle of their post.
    """
    bounds = [
        (relation.distance - relation.margin, relation.distance + relation.margin)
        for relation in vocabulary.pair_relations.values()
        if relation.axis.planned_by == "clumps" and relation.distance is not None
    ]
    room = 2 * shift(vocabulary) + _GRAIN
    near, far = (
        min((low for low, _ in bounds), default=math.inf),
        max((high for _, high in bounds), default=0.0),
    )
    return near - room, far + room
