"""The field of an animal: at every point of a grid, about how far it is to the skin, negative inside.

A part is a row of segments between two elliptical sections. Distances to an ellipse are first-order estimates (Quilez,
"Ellipsoid - distance", 2008), which are exact on the skin. Parts join by a smooth minimum, so that the skin has no seam.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator

from generator.assets.skeleton import Part, Skeleton, Teeth

Array = NDArray[np.float64]
MIRROR = np.array([1.0, -1.0, 1.0])
# Of a curve, for each stretch between two joints.
STEPS = 6
# Of a section, in steps of the grid.
THINNEST = 0.8


class Tube(NamedTuple):
    """Points along a curve (n, 3), the half-axes of the sections there (n, 2), and the direction of the first (3,)."""

    points: Array
    radii: Array
    side: Array
    blend: float
    flat: bool = False

    def mirrored(self) -> "Tube":
        return self._replace(points=self.points * MIRROR, side=self.side * MIRROR)


class Grid(NamedTuple):
    """Points `low + step * index`, of which y starts half a step left of the plane of symmetry."""

    low: Array
    step: float
    shape: tuple[int, int, int]

    def axis(self, number: int) -> Array:
        return self.low[number] + self.step * np.arange(self.shape[number])


def tubes(skeleton: Skeleton) -> list[Tube]:
    """All tubes of an animal in the order in which they are joined, each off the plane y = 0 with its mirror image."""
    whole = [_tube(part, skeleton.blend) for part in skeleton.parts.values()]
    whole += [tooth for row in skeleton.teeth.values() for tooth in _teeth(row)]
    return [copy for tube in whole for copy in ([tube, tube.mirrored()] if tube.points[:, 1].any() else [tube])]


def grid_around(all_tubes: list[Tube], step: float) -> Grid:
    """The left half of a grid that holds every tube with two steps around it."""
    low = np.min([(tube.points - tube.radii.max(1)[:, None]).min(0) for tube in all_tubes], axis=0) - 2 * step
    high = np.max([(tube.points + tube.radii.max(1)[:, None]).max(0) for tube in all_tubes], axis=0) + 2 * step
    low[1] = step / 2
    # Below the ground nothing is left, and the cut needs a layer of its own.
    low[2] = max(low[2], -2.5 * step)
    shape = np.ceil((high - low) / step).astype(int) + 1
    return Grid(low, step, (int(shape[0]), int(shape[1]), int(shape[2])))


def sample(all_tubes: list[Tube], grid: Grid) -> Array:
    """The field over a grid; it is meaningful near the skin and inside, and merely positive elsewhere.

    What is thinner than the grid can show is made as thick as that.
    """
    all_tubes = [tube._replace(radii=np.maximum(tube.radii, THINNEST * grid.step)) for tube in all_tubes]
    reach = max(tube.blend for tube in all_tubes) + 2.5 * grid.step
    field = np.full(grid.shape, reach)
    for tube in all_tubes:
        own = np.full(grid.shape, reach)
        for i in range(max(len(tube.points) - 1, 1)):
            box = _box(tube, i, grid, reach)
            if box is not None:
                axes = [grid.axis(number)[part] for number, part in enumerate(box)]
                own[box] = np.minimum(own[box], _segment(tube, i, axes))
        field = _joined(field, own, tube.blend)
    return np.maximum(field, -grid.axis(2))


def _tube(part: Part, blend: float) -> Tube:
    points, radii = _curve(np.array([[*joint, joint[-1]][:5] for joint in part.joints], dtype=float))
    return Tube(points, radii, np.array(part.side, dtype=float), blend if part.blend is None else part.blend, part.flat)


def _curve(joints: Array) -> tuple[Array, Array]:
    """A smooth curve through joints, whose radii never leave the range between two neighbours."""
    if len(joints) == 1:
        return joints[:, :3], joints[:, 3:]
    lengths = np.linalg.norm(np.diff(joints[:, :3], axis=0), axis=1)
    at = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1e-6))])
    fine = np.interp(np.arange(STEPS * (len(at) - 1) + 1) / STEPS, np.arange(len(at)), at)
    return Akima1DInterpolator(at, joints[:, :3])(fine), PchipInterpolator(at, joints[:, 3:])(fine)


def _teeth(row: Teeth) -> Iterator[Tube]:
    """Each spike is a tube from the curve to its tip."""
    points, sizes = _curve(np.array(row.joints, dtype=float))
    stations = np.linspace(0, len(points) - 1, row.count)
    for station in stations:
        x, y, z, half, height = (
            float(np.interp(station, np.arange(len(points)), column)) for column in (*points.T, *sizes.T)
        )
        ends = np.array([[x, y, z], [x + row.lean * height, y, z + height]])
        yield Tube(ends, np.array([[half, half], [half / 8, half / 8]]), np.array([0.0, 1.0, 0.0]), half / 2)


def _box(tube: Tube, i: int, grid: Grid, reach: float) -> tuple[slice, slice, slice] | None:
    """Part of the grid that a segment can touch, if there is any."""
    ends, radius = tube.points[i : i + 2], tube.radii[i : i + 2].max()
    first = np.floor((ends.min(0) - radius - reach - grid.low) / grid.step).astype(int)
    last = np.ceil((ends.max(0) + radius + reach - grid.low) / grid.step).astype(int) + 1
    first, last = np.maximum(first, 0), np.minimum(last, grid.shape)
    if (first >= last).any():
        return None
    return slice(first[0], last[0]), slice(first[1], last[1]), slice(first[2], last[2])


def _segment(tube: Tube, i: int, axes: list[Array]) -> Array:
    """Distance to one segment over the grid that the axes span."""
    start, end = tube.points[i], tube.points[min(i + 1, len(tube.points) - 1)]
    along = end - start
    length = float(np.sqrt(along @ along))
    forward = along / length if length else np.array([1.0, 0.0, 0.0])
    across, through = _section(forward, tube.side)
    x, y, z = axes[0][:, None, None] - start[0], axes[1][None, :, None] - start[1], axes[2][None, None, :] - start[2]

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
    """Distance to an ellipsoid; the cap at the end of a part is no longer than the part is thin."""
    short = np.minimum(wide, deep)
    u, v, w = x / wide, y / deep, z / short
    level = np.sqrt(u * u + v * v + w * w)
    steep = np.sqrt((u / wide) ** 2 + (v / deep) ** 2 + (w / short) ** 2)
    return np.where(steep > 1e-9, level * (level - 1) / np.maximum(steep, 1e-9), -short)


def _from_plate(x: Array, y: Array, z: Array, wide: Array, thick: Array) -> Array:
    """Distance to a plate whose edges are half circles."""
    beside = np.maximum(np.abs(x) - np.maximum(wide - thick, 0), 0)
    return np.sqrt(beside * beside + y * y + z * z) - thick


def _section(forward: Array, side: Array) -> tuple[Array, Array]:
    """Axes of the section of a part that runs forward: the first as near as possible to its side."""
    across = side - (side @ forward) * forward
    if across @ across < 1e-6 * (side @ side):
        turned = np.array([forward[2], forward[0], forward[1]])
        across = turned - (turned @ forward) * forward
    across = across / np.sqrt(across @ across)
    return across, np.cross(forward, across)


def _joined(one: Array, other: Array, blend: float) -> Array:
    """Minimum of two fields, rounded where they differ by less than `blend`."""
    if blend == 0:
        return np.minimum(one, other)
    near: Array = np.maximum(blend - np.abs(one - other), 0)
    joined: Array = np.minimum(one, other) - near**2 / (4 * blend)
    return joined
