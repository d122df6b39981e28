"""Finds positions on the ground in given orders, as a camera sees them: left to right and front to
behind.

The ground is a square around the world's origin. Positions on it have two coordinates, in metres:
`right`, to the right of the origin as the camera sees it, and `behind`, away from the camera.

Images of objects are measured in *slopes*: pixels divided by the focal length in pixels, from the
viewing axis. A slope of 0.5 is a point half a metre beside the axis at a depth of one metre. Each
object is taken for a box of its radius to all sides and twice its radius high.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from generator.base.streams import Stream
from generator.scene.layouts import max_offset
from generator.scene.projection import axes
from generator.scene.relations import along, ground_directions
from generator.scene.scene import Camera, Point
from generator.vocabulary.schema import Vocabulary

# Sweeps over all columns. After more, a search is stuck, and another start succeeds sooner.
_SWEEPS = 100

# Metres by which a move may make violations worse. If every move had to improve them, two objects
# that block each other would stay.
_MAX_WORSENING = 0.02

# The largest share of an object's image that another column may hide. An object on top of it may
# hide more.
_MAX_HIDDEN = 0.5

# Metres. Rounding positions to the micrometre changes a distance between two by less.
_ROUNDING = 4e-6

# Leaving the ground or the frame by a metre weighs as much as ten metres between two columns,
# because no move of another column can make up for it.
_OUTSIDE_WEIGHT = 10


class Footprint(NamedTuple):
    """Where an object of a column stands."""

    radius: float
    """The nominal radius, metres."""
    height: float
    """The height of its foot above the ground, metres."""
    reach: float
    """How far its corners reach, metres. Only CLEVR's cube reaches beyond its radius (see
    `Vocabulary.reach`)."""


Column = tuple[Footprint, ...]
"""The footprints at one position: of an object, and of the objects on top of it."""


class _ImageBox(NamedTuple):
    """The rectangle around the image of an object, in slopes."""

    center_x: float
    """To the right of the viewing axis."""
    center_y: float
    """Above the viewing axis."""
    half_width: float
    half_height: float


class _ImageExtent(NamedTuple):
    """How far the image of an object reaches, in slopes; infinite if the object reaches behind the
    camera."""

    side: float
    """Its furthest distance from the viewing axis, to either side."""
    top: float
    """Its highest point above the viewing axis."""
    bottom: float
    """Its lowest point above the viewing axis; negative below it."""


class _PlacedColumn(NamedTuple):
    """A column at a position."""

    column: Column
    right: float
    """Metres from the world's origin."""
    behind: float
    """Metres from the world's origin."""
    radius: float
    """The largest nominal radius of its objects, metres."""
    reach: float
    """The largest reach of its objects, metres."""
    images: tuple[_ImageBox, ...]
    """The images of its objects."""
    outside_frame: float
    """How far its images leave the frame, in slopes, over all objects and sides."""


class Ground:
    """The ground as a camera sees it; finds positions on it that keep the placement rules of a
    vocabulary."""

    def __init__(
        self,
        camera: Camera,
        vocabulary: Vocabulary,
        width: int,
        height: int,
        twin_camera: Camera | None = None,
    ):
        """`width`, `height`: of the image, in pixels. As `twin_camera` sees them, positions keep
        the rules too."""
        self.vocabulary = vocabulary
        self._twin: Ground | None = None
        """The ground as the camera of the turn twin sees it."""
        if twin_camera is not None:
            self._twin = Ground(twin_camera, vocabulary, width, height)
        self.size = (width, height)
        rules = vocabulary.placement
        self._near_distance, self._far_distance = _clump_distances(vocabulary)
        self._extent = rules.extent
        self._max_hidden = min(_MAX_HIDDEN, 1 - rules.min_visible)
        # Positions are rounded after the search.
        self._clearance = rules.clearance + _ROUNDING
        self._gap = rules.gap + _ROUNDING

        directions = ground_directions(camera)
        self._right_axis, self._behind_axis = directions["right"], directions["behind"]
        # The camera may look at the square ground from a corner: half its width as seen from there.
        self._half_ground = rules.extent * (abs(self._right_axis[0]) + abs(self._right_axis[1]))
        self._eye = (
            along(self._right_axis, camera.position),
            along(self._behind_axis, camera.position),
            camera.position[2],
        )
        # The components along the ground (behind) and vertically of the image's up direction and
        # of the viewing direction. Neither has a component to the right.
        _, up, back = axes(camera.position, camera.target)
        self._up = (along(self._behind_axis, up), up[2])
        self._forward = (-along(self._behind_axis, back), -back[2])

        # In pixels. The sensor is as wide as the longer side of the image.
        focal_length = camera.lens / camera.sensor * max(width, height)
        frame_width, frame_height = width, height
        if rules.frame == "square":
            frame_width = frame_height = min(width, height)
        self._half_frame = (frame_width / 2 / focal_length, frame_height / 2 / focal_length)
        self._image_height = height / focal_length

    def find_positions(
        self,
        columns: Sequence[Column],
        depth_order: Sequence[int],
        *,
        stream: Stream,
        clumps: Sequence[int] = (),
    ) -> list[Point] | None:
        """Find positions of columns.

        This is a random local search over violations of the placement rules:
        1. Start from random positions in both orders, `clearance` apart in each.
        2. In each sweep, every column in turn gets a random position between its neighbours in both
           orders. It stays there unless that makes its violations worse.
        3. End when there is no violation, or after 100 sweeps.

        Args:
            columns: the columns, listed from left to right.
            depth_order: their ranks from front to behind.
            stream: draws the positions.
            clumps: their clump numbers; empty if the plan leaves distances open.

        Returns:
            Their positions, which keep the orders, the clumps and the placement rules; None when
            the search fails.
        """
        # 1. Random positions.
        n = len(columns)
        by_depth = sorted(range(n), key=depth_order.__getitem__)
        rights = self._spread(n, stream)
        behinds = self._spread(n, stream)
        placed = []
        for i, column in enumerate(columns):
            placed.append(self._place(column, rights[i], behinds[depth_order[i]]))
        # violations[i][j]: of the rules for columns i and j; [i][i]: of the rules for column i. A
        # move of column i changes only row i and entry i of the others.
        violations = [
            self._violations(i, placed[i], placed=placed, clumps=clumps) for i in range(n)
        ]

        for _ in range(_SWEEPS):
            # 3. No violation.
            if not any(map(any, violations)):
                return [self._point(column) for column in placed]
            # 2. Moves.
            for i in stream.shuffled(range(n)):
                moved = self._move_between_neighbours(
                    i, depth_order[i], by_depth=by_depth, placed=placed, stream=stream
                )
                worsening = stream.uniform(0, _MAX_WORSENING)
                most = sum(violations[i]) + worsening
                new_violations = self._violations(i, moved, placed=placed, clumps=clumps, most=most)
                if new_violations:
                    placed[i] = moved
                    violations[i] = new_violations
                    for j, violation in enumerate(new_violations):
                        violations[j][i] = violation
        return None

    def keeps_rules(self, columns: Sequence[Column], positions: Sequence[Point]) -> bool:
        """Whether columns at positions keep the placement rules as this camera sees them: in the
        frame, little hidden, and `clearance` apart in both directions.

        Rules that do not depend on the camera are not checked again but for rounding.
        """
        placed = []
        for column, position in zip(columns, positions, strict=True):
            placed.append(self.place_at(column, position))
        for i, placed_column in enumerate(placed):
            violations = self._violations(i, placed_column, placed=placed, clumps=())
            if max(violations) > _ROUNDING:
                return False
        for one, other in combinations(placed, 2):
            # The sum of two distances, of which each is rounded.
            if self.missing_clearance(one, other) > 2 * _ROUNDING:
                return False
        return True

    def draw_depth_order(self, n: int, stream: Stream) -> tuple[int, ...]:
        """Random ranks from front to behind of n positions on the ground, listed from left to
        right.

        The ground is not square to the camera, so not all orders are equally frequent.
        """
        positions = [(stream.uniform(-1, 1), stream.uniform(-1, 1), 0.0) for _ in range(n)]
        positions.sort(key=lambda position: along(self._right_axis, position))
        depths = [along(self._behind_axis, position) for position in positions]
        front_to_behind = sorted(depths)
        return tuple(front_to_behind.index(depth) for depth in depths)

    def seen_from(self, camera: Camera) -> "Ground":
        """The same ground as another camera sees it."""
        return Ground(camera, self.vocabulary, *self.size)

    def frame_fill(
        self, objects: Sequence[tuple[str, dict[str, str]]], positions: Sequence[Point]
    ) -> float:
        """How far objects reach from the middle of the frame towards its edges; 1 if an object
        touches an edge."""
        half_width, half_height = self._half_frame
        fills = []
        for extent in self._image_extents(objects, positions):
            to_side = extent.side / half_width
            to_top = extent.top / half_height
            to_bottom = -extent.bottom / half_height
            fills.append(max(to_side, to_top, to_bottom))
        return max(fills)

    def image_heights(
        self, objects: Sequence[tuple[str, dict[str, str]]], positions: Sequence[Point]
    ) -> list[float]:
        """An upper bound of the height of each object's image, as a share of the height of the
        whole image."""
        heights = []
        for extent in self._image_extents(objects, positions):
            heights.append((extent.top - extent.bottom) / self._image_height)
        return heights

    def offset_point(self, position: Point, right: float, behind: float) -> tuple[float, float]:
        """The coordinates (x, y) of the point that is `right` metres to the right of a position and
        `behind` metres behind it, to the micrometre."""
        x = position[0] + right * self._right_axis[0] + behind * self._behind_axis[0]
        y = position[1] + right * self._right_axis[1] + behind * self._behind_axis[1]
        return round(x, 6), round(y, 6)

    def _image_extents(
        self, objects: Sequence[tuple[str, dict[str, str]]], positions: Sequence[Point]
    ) -> Iterator[_ImageExtent]:
        for obj, position in zip(objects, positions, strict=True):
            right, behind = self._coordinates(position)
            reach = self.vocabulary.reach(*obj)
            foot = position[2]
            yield self._image_extent(right, behind, radius=reach, foot=foot)

    def _coordinates(self, position: Point) -> tuple[float, float]:
        """A position of the world as metres to the right of the origin and behind it."""
        return along(self._right_axis, position), along(self._behind_axis, position)

    def _spread(self, n: int, stream: Stream) -> list[float]:
        """n random coordinates in ascending order, at least `clearance` apart, over the whole
        ground."""
        # Draw in what n - 1 clearances leave free, then insert them.
        free = max(0.0, 2 * self._half_ground - (n - 1) * self._clearance)
        offsets = sorted(stream.uniform(0, free) for _ in range(n))
        coordinates = []
        for i, offset in enumerate(offsets):
            from_edge = offset + i * self._clearance
            coordinates.append(from_edge - self._half_ground)
        return coordinates

    def _move_between_neighbours(
        self,
        i: int,
        depth_rank: int,
        *,
        by_depth: list[int],
        placed: list[_PlacedColumn],
        stream: Stream,
    ) -> _PlacedColumn:
        """Column i at another random position between its neighbours in both orders.

        `by_depth`: the columns from front to behind; column i is at `depth_rank` there.
        """
        last = len(placed) - 1
        left_end = front_end = -self._half_ground
        right_end = behind_end = self._half_ground
        if i > 0:
            left_end = placed[i - 1].right + self._clearance
        if i < last:
            right_end = placed[i + 1].right - self._clearance
        if depth_rank > 0:
            front_end = placed[by_depth[depth_rank - 1]].behind + self._clearance
        if depth_rank < last:
            behind_end = placed[by_depth[depth_rank + 1]].behind - self._clearance
        right = stream.uniform(left_end, right_end)
        behind = stream.uniform(front_end, behind_end)
        return self._place(placed[i].column, right, behind)

    def _place(self, column: Column, right: float, behind: float) -> _PlacedColumn:
        images = []
        outside_frame = 0.0
        for footprint in column:
            image, outside = self._image(right, behind, footprint.reach, footprint.height)
            images.append(image)
            outside_frame += outside
        return _PlacedColumn(
            column=column,
            right=right,
            behind=behind,
            radius=max(footprint.radius for footprint in column),
            reach=max(footprint.reach for footprint in column),
            images=tuple(images),
            outside_frame=outside_frame,
        )

    def _image(
        self, right: float, behind: float, radius: float, foot: float
    ) -> tuple[_ImageBox, float]:
        """The image of an object, and how far it leaves the frame, in slopes."""
        extent = self._image_extent(right, behind, radius=radius, foot=foot)
        if math.isinf(extent.side):
            # Behind the camera: any box, and a violation.
            return _ImageBox(0, 0, 1, 1), 1
        half_width, half_height = self._half_frame
        outside_top = max(0.0, extent.top - half_height)
        outside_bottom = max(0.0, -extent.bottom - half_height)
        outside = max(0.0, extent.side - half_width) + (outside_top + outside_bottom)

        # The depth of the middle of the box around the object.
        eye_right, eye_behind, eye_height = self._eye
        depth = self._depth(behind - eye_behind, foot - eye_height + radius)
        image = _ImageBox(
            center_x=(right - eye_right) / depth,
            center_y=(extent.top + extent.bottom) / 2,
            half_width=radius / depth,
            half_height=(extent.top - extent.bottom) / 2,
        )
        return image, outside

    def _image_extent(
        self, right: float, behind: float, *, radius: float, foot: float
    ) -> _ImageExtent:
        """How far the image of an object reaches.

        `right`, `behind`: its position; `radius`: to all sides; `foot`: the height of its foot; all
        in metres.
        """
        # The corners of the box around the object, relative to the eye.
        eye_right, eye_behind, eye_height = self._eye
        aside = right - eye_right
        near = behind - eye_behind - radius
        far = behind - eye_behind + radius
        bottom = foot - eye_height
        top = bottom + 2 * radius
        # The camera looks down, so the nearest corner is at the top in front. It bounds the sides;
        # the highest point of the image is at the top behind, the lowest at the bottom in front.
        least_depth = self._depth(near, top)
        if least_depth <= 0:
            return _ImageExtent(math.inf, math.inf, -math.inf)
        return _ImageExtent(
            side=(abs(aside) + radius) / least_depth,
            top=self._up_slope(far, top),
            bottom=self._up_slope(near, bottom),
        )

    def _up_slope(self, behind: float, above: float) -> float:
        """The slope above the viewing axis of a point `behind` and `above` the eye, in metres."""
        along_ground, vertical = self._up
        return (behind * along_ground + above * vertical) / self._depth(behind, above)

    def _depth(self, behind: float, above: float) -> float:
        """Depth along the viewing axis of a point `behind` and `above` the eye, all in metres."""
        along_ground, vertical = self._forward
        return behind * along_ground + above * vertical

    def _violations(
        self,
        i: int,
        column: _PlacedColumn,
        *,
        placed: list[_PlacedColumn],
        clumps: Sequence[int],
        most: float = math.inf,
    ) -> list[float]:
        """How much column i at a new place violates the rules.

        Args:
            i: the index of the column.
            column: it, at its new place.
            placed: all columns, with column i at its old place.
            clumps: their clump numbers, or nothing.
            most: the largest sum of violations that is of interest.

        Returns:
            Entry j: the violation of the rules for columns i and j, roughly in metres, 0 if there
            is none. Entry i: by how much column i leaves the ground or the frame. Empty if the sum
            exceeds `most`.
        """
        x, y = self._world(column)
        outside_ground = max(0.0, abs(x) - self._extent) + max(0.0, abs(y) - self._extent)
        outside = _OUTSIDE_WEIGHT * (outside_ground + column.outside_frame)
        violations = [outside] * len(placed)
        left = most - outside
        for j, other in enumerate(placed):
            # The sum only grows, and most moves are not taken.
            if left < 0:
                return []
            if j == i:
                continue
            violations[j] = self._pair_violation(column, other)
            if clumps:
                violations[j] += self._clump_violation(
                    column, other, in_one_clump=clumps[i] == clumps[j]
                )
            left -= violations[j]
        if self._twin is not None:
            in_twin = self._violations_in_twin(self._twin, i, column=column, placed=placed)
            for j, violation in enumerate(in_twin):
                violations[j] += violation
            left = most - sum(violations)
        return violations if left >= 0 else []

    def _violations_in_twin(
        self, twin: "Ground", i: int, *, column: _PlacedColumn, placed: list[_PlacedColumn]
    ) -> list[float]:
        """How much column i at a new place violates the rules as the camera of the twin sees it; as
        `_violations`. Its orders are free, but `clearance` holds along its directions too."""
        seen = [twin.place_at(one.column, self._point(one)) for one in placed]
        seen[i] = twin.place_at(column.column, self._point(column))
        violations = twin._violations(i, seen[i], placed=seen, clumps=())
        for j, other in enumerate(seen):
            if j != i:
                violations[j] += twin.missing_clearance(seen[i], other)
        return violations

    def place_at(self, column: Column, position: Point) -> _PlacedColumn:
        """A column at a position of the world, as this camera sees it."""
        right, behind = self._coordinates(position)
        return self._place(column, right, behind)

    def missing_clearance(self, column: _PlacedColumn, other: _PlacedColumn) -> float:
        """The missing part of the distances between two columns along both directions, metres."""
        across = abs(column.right - other.right)
        in_depth = abs(column.behind - other.behind)
        missing_across = max(0.0, self._clearance - across)
        missing_in_depth = max(0.0, self._clearance - in_depth)
        return missing_across + missing_in_depth

    def _clump_violation(
        self, column: _PlacedColumn, other: _PlacedColumn, *, in_one_clump: bool
    ) -> float:
        """How much too far apart two columns of one clump are, or how much too close two others,
        metres."""
        across = column.right - other.right
        in_depth = column.behind - other.behind
        distance = math.sqrt(across * across + in_depth * in_depth)
        if in_one_clump:
            return max(0.0, distance - self._near_distance)
        return max(0.0, self._far_distance - distance)

    def _pair_violation(self, column: _PlacedColumn, other: _PlacedColumn) -> float:
        """The missing part of the gap between two columns (metres), plus the hidden share of the
        rear column beyond the limit."""
        across = column.right - other.right
        in_depth = column.behind - other.behind
        # CLEVR keeps a gap between nominal radii. Corners that reach further may use it up, but
        # never meet.
        gap_distance = column.radius + other.radius + self._gap
        least_distance = max(gap_distance, column.reach + other.reach + _ROUNDING)
        square = across * across + in_depth * in_depth
        missing = 0.0
        # Comparing squares spares most pairs the root.
        if square < least_distance * least_distance:
            missing = least_distance - math.sqrt(square)

        rear, front = (column, other) if in_depth > 0 else (other, column)
        hidden = 0.0
        for rear_image in rear.images:
            for front_image in front.images:
                overlap_x = (
                    front_image.half_width
                    + rear_image.half_width
                    - abs(front_image.center_x - rear_image.center_x)
                )
                if overlap_x > 0:
                    hidden += self._hidden_beyond_limit(overlap_x, front_image, rear_image)
        return missing + hidden

    def _hidden_beyond_limit(
        self, overlap_x: float, front_image: _ImageBox, rear_image: _ImageBox
    ) -> float:
        """The share of an object that another hides beyond the limit; their images overlap by
        `overlap_x` sideways.

        Estimated from the rectangles around their images. The renderer later measures it with rays
        on the real shapes.
        """
        overlap_y = (
            front_image.half_height
            + rear_image.half_height
            - abs(front_image.center_y - rear_image.center_y)
        )
        if overlap_y <= 0:
            return 0.0
        share_x = min(1.0, overlap_x / (2 * rear_image.half_width))
        share_y = min(1.0, overlap_y / (2 * rear_image.half_height))
        return max(0.0, share_x * share_y - self._max_hidden)

    def _world(self, column: _PlacedColumn) -> tuple[float, float]:
        """World coordinates (x, y) of a column, metres."""
        x = column.right * self._right_axis[0] + column.behind * self._behind_axis[0]
        y = column.right * self._right_axis[1] + column.behind * self._behind_axis[1]
        return x, y

    def _point(self, column: _PlacedColumn) -> Point:
        x, y = self._world(column)
        return (round(x, 6), round(y, 6), 0.0)


def _clump_distances(vocabulary: Vocabulary) -> tuple[float, float]:
    """The largest distance within a clump, and the least between clumps, metres, so that near and
    far are decided.

    Both allow for objects that rest off the middle of their column.
    """
    near, far = math.inf, 0.0
    for relation in vocabulary.pair_relations.values():
        if relation.axis.planned_by == "clumps" and relation.distance is not None:
            near = min(near, relation.distance - relation.margin)
            far = max(far, relation.distance + relation.margin)
    allowance = 2 * max_offset(vocabulary) + _ROUNDING
    return near - allowance, far + allowance
