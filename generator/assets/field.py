"""The signed distance field of an animal: at a point, about the distance to its skin, negative inside.

A tube is a row of segments between two cross-sections. Distances to an ellipse are first-order estimates (Quilez,
"Ellipsoid - distance", 2008), which are exact on the skin. Tubes join by a smooth minimum, so that the skin has no seam.
The field is a distance near the skin and inside; elsewhere it is only positive.
"""

from typing import NamedTuple

import numpy as np

from generator.assets.tubes import Array, Tube


class Grid(NamedTuple):
    """A grid of points `low + step * index`. Its y starts half a step to the left of the plane of symmetry, y = 0."""

    low: Array
    step: float
    shape: tuple[int, int, int]

    def axis(self, number: int) -> Array:
        """Coordinates of the points along an axis: 0 for x, 1 for y, 2 for z."""
        return self.low[number] + self.step * np.arange(self.shape[number])


def bounds(tubes: list[Tube]) -> tuple[Array, Array]:
    """Lowest and highest corner [3] of a box around all tubes."""
    low = np.min([(tube.points - tube.radii.max(1)[:, None]).min(0) for tube in tubes], axis=0)
    high = np.max([(tube.points + tube.radii.max(1)[:, None]).max(0) for tube in tubes], axis=0)
    return low, high


def grid_around(tubes: list[Tube], step: float) -> Grid:
    """The left half (y > 0) of a grid around all tubes, with a margin of two steps."""
    low, high = bounds(tubes)
    # Everything below the ground is cut off, and the cut needs a layer of points below it.
    low = np.array([low[0] - 2 * step, step / 2, max(low[2] - 2 * step, -2.5 * step)])
    high = np.maximum(high + 2 * step, low + step)
    shape = np.ceil((high - low) / step).astype(int) + 1
    return Grid(low, step, (int(shape[0]), int(shape[1]), int(shape[2])))


def sample(tubes: list[Tube], grid: Grid) -> Array:
    """The field at the points of a grid: an array of the grid's shape."""
    reach = _reach(tubes, grid.step)
    field = np.full(grid.shape, reach)
    for tube in tubes:
        own = np.full(grid.shape, reach)
        for i in tube.segments():
            box = _box(tube, i, grid, reach)
            if box is not None:
                x, y, z = (grid.axis(number)[part] for number, part in enumerate(box))
                own[box] = np.minimum(own[box], _segment(tube, i, x[:, None, None], y[:, None], z))
        field = _smooth_minimum(field, own, tube.blend)
    return np.maximum(field, -grid.axis(2))


def distances(tubes: list[Tube], points: Array, step: float) -> Array:
    """The field [n] at points [n, 3] within a few steps of the skin."""
    # Where three tubes blend, the field depends slightly on their order: so the right half mirrors the left.
    points = points * [1, 0, 1] + np.abs(points) * [0, 1, 0]
    reach = _reach(tubes, step)
    field = np.full(len(points), reach)
    for tube in tubes:
        own = np.full(len(points), reach)
        for i in tube.segments():
            low, high = _bounds(tube, i, reach)
            near = ((points > low) & (points < high)).all(axis=1)
            own[near] = np.minimum(own[near], _segment(tube, i, *points[near].T))
        field = _smooth_minimum(field, own, tube.blend)
    return np.maximum(field, -points[:, 2])


def _reach(tubes: list[Tube], step: float) -> float:
    return max(tube.blend for tube in tubes) + 2.5 * step


def _bounds(tube: Tube, i: int, reach: float) -> tuple[Array, Array]:
    """Corners of the box outside which a segment does not change the field."""
    ends, radius = tube.points[i : i + 2], tube.radii[i : i + 2].max()
    return ends.min(0) - radius - reach, ends.max(0) + radius + reach


def _box(tube: Tube, i: int, grid: Grid, reach: float) -> tuple[slice, slice, slice] | None:
    """The part of the grid where a segment changes the field; None where there is none."""
    low, high = _bounds(tube, i, reach)
    first = np.maximum(np.floor((low - grid.low) / grid.step).astype(int), 0)
    last = np.minimum(np.ceil((high - grid.low) / grid.step).astype(int) + 1, grid.shape)
    if (first >= last).any():
        return None
    return slice(first[0], last[0]), slice(first[1], last[1]), slice(first[2], last[2])


def _segment(tube: Tube, i: int, *place: Array) -> Array:
    """Distance to one segment of a tube at places given as x, y and z, which broadcast."""
    start, end = tube.points[i], tube.points[min(i + 1, len(tube.points) - 1)]
    along = end - start
    length = float(np.sqrt(along @ along))
    forward = along / length if length else np.array([1.0, 0.0, 0.0])
    across, through = _section(forward, tube.side)
    x, y, z = (coordinate - first for coordinate, first in zip(place, start, strict=True))

    def component(axis: Array) -> Array:
        projected: Array = x * axis[0] + y * axis[1] + z * axis[2]
        return projected

    ahead = component(forward)
    share = np.clip(ahead / length, 0, 1) if length else np.zeros_like(ahead)
    wide, deep = tube.radii[i], tube.radii[min(i + 1, len(tube.radii) - 1)]
    radii = [(1 - share) * wide[k] + share * deep[k] for k in (0, 1)]
    offsets = component(across), component(through), ahead - share * length
    return _from_plate(*offsets, *radii) if tube.flat else _from_ellipsoid(*offsets, *radii)


def _from_ellipsoid(x: Array, y: Array, z: Array, wide: Array, deep: Array) -> Array:
    """Distance to a tube of elliptic section; the round cap at its end is as long as the section is thin."""
    short = np.minimum(wide, deep)
    u, v, w = x / wide, y / deep, z / short
    level = np.sqrt(u * u + v * v + w * w)
    steep = np.sqrt((u / wide) ** 2 + (v / deep) ** 2 + (w / short) ** 2)
    return np.where(steep > 1e-9, level * (level - 1) / np.maximum(steep, 1e-9), -short)


def _from_plate(x: Array, y: Array, z: Array, wide: Array, thick: Array) -> Array:
    """Distance to a plate with half-round edges."""
    beside = np.maximum(np.abs(x) - np.maximum(wide - thick, 0), 0)
    return np.sqrt(beside * beside + y * y + z * z) - thick


def _section(forward: Array, side: Array) -> tuple[Array, Array]:
    """Unit axes of the section of a tube that runs `forward`; the first is as near as possible to `side`."""
    across = side - (side @ forward) * forward
    if across @ across <= 1e-6 * (side @ side):
        other = np.eye(3)[np.argmin(np.abs(forward))]
        across = other - (other @ forward) * forward
    across = across / np.sqrt(across @ across)
    return across, np.cross(forward, across)


def _smooth_minimum(one: Array, other: Array, blend: float) -> Array:
    """The smooth minimum of two fields: rounded where they differ by less than `blend`."""
    if blend == 0:
        return np.minimum(one, other)
    near: Array = np.maximum(blend - np.abs(one - other), 0)
    joined: Array = np.minimum(one, other) - near**2 / (4 * blend)
    return joined
