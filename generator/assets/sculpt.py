"""Builds the mesh of an animal from its declaration: marching cubes over the distance field of its
tubes.

A tube follows a smooth curve through the joints of a limb, in segments between two cross-sections.
Near the skin and inside, the field approximates the distance to the animal's skin, negative inside;
elsewhere it is only positive. Distances to an ellipse are first-order estimates (Quilez, "Ellipsoid
- distance", 2008), exact on the skin. A smooth minimum joins tubes without a seam.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator
from skimage.measure import marching_cubes

from generator.assets.skeleton import Limb, Skeleton, Teeth
from generator.base.errors import UserError

Array = NDArray[np.float64]
Faces = NDArray[np.int64]
# Approximate number of triangles: limbs look round at rendered sizes, and scenes render fast.
FACES = 18_000
DECIMALS = 6
# Half the thickness of the thinnest tube that the grid resolves, in steps of the grid.
THINNEST = 0.8
# Cells along the longest side of a first grid that only counts triangles; the second is at most
# FINEST times finer.
COARSE, FINEST = 60, 5
MIRROR = np.array([1.0, -1.0, 1.0])
# Points of a curve for each stretch between two joints.
STEPS = 6


class Tube(NamedTuple):
    """Points along a curve [n, 3], the half-axes of the sections there [n, 2], and the direction of
    the first half-axis [3].

    `blend`: the distance over which the tube joins others smoothly. Sections are ellipses, or
    plates if `flat`.
    """

    points: Array
    radii: Array
    side: Array
    blend: float
    flat: bool = False

    def mirrored(self) -> "Tube":
        return self._replace(points=self.points * MIRROR, side=self.side * MIRROR)


class Grid(NamedTuple):
    """A grid of points `low + step * index`. Its y starts at step / 2, left of the plane of
    symmetry y = 0."""

    low: Array
    step: float
    shape: tuple[int, int, int]


def sculpt(skeleton: Skeleton) -> tuple[NDArray[np.float32], Faces]:
    """Vertices float32 [n, 3] and triangles int64 [m, 3] (counter-clockwise from outside) of an
    animal.

    The mesh is closed, stands on z = 0 over the origin, and reaches radius 1 or height 2, whichever
    is met first. It has about `FACES` triangles. Raises UserError if no part of the animal is above
    the ground.
    """
    tubes = tubes_of(skeleton)
    low, high = bounds(tubes)
    coarse = float((high - low).max()) / COARSE
    triangles = len(_surface(tubes, coarse)[1])
    vertices, faces = _surface(tubes, coarse * max(float(np.sqrt(triangles / FACES)), 1 / FINEST))
    low, high = vertices.min(0), vertices.max(0)
    moved = vertices - [(low[0] + high[0]) / 2, 0, low[2]]
    scaled = moved * min(1 / np.hypot(moved[:, 0], moved[:, 1]).max(), 2 / moved[:, 2].max())
    return (np.round(scaled, DECIMALS) + 0.0).astype(np.float32), faces


def _surface(tubes: list[Tube], step: float) -> tuple[Array, Faces]:
    """Vertices and triangles of the surface where the field is 0, on a grid of that step."""
    tubes = [tube._replace(radii=np.maximum(tube.radii, THINNEST * step)) for tube in tubes]
    grid = grid_around(tubes, step)
    half = field(tubes, grid)
    if half.min() >= 0:
        raise UserError(
            "Nothing of the animal is above the ground z = 0, where it should stand; raise its "
            "joints."
        )
    # A crossing in a corner of the grid would make triangles without area.
    half[np.abs(half) < 1e-4 * step] = 1e-4 * step
    whole = np.concatenate([half[:, ::-1], half], axis=1)
    vertices, faces, _, _ = marching_cubes(whole, 0.0, gradient_direction="descent")
    low = np.array([grid.low[0], -step * (grid.shape[1] - 0.5), grid.low[2]])
    return vertices.astype(float) * step + low, faces.astype(np.int64)


def tubes_of(skeleton: Skeleton) -> list[Tube]:
    """All tubes of an animal, in the order in which they are joined; a tube off the plane y = 0 is
    followed by its mirror image.
    """
    whole = [_tube(limb, skeleton.blend) for limb in skeleton.parts.values()]
    whole += [tooth for row in skeleton.teeth.values() for tooth in _teeth(row)]
    return [
        copy
        for tube in whole
        for copy in ([tube, tube.mirrored()] if tube.points[:, 1].any() else [tube])
    ]


def _tube(limb: Limb, blend: float) -> Tube:
    points, radii = _curve(
        np.array([[*joint, joint[-1]][:5] for joint in limb.joints], dtype=float)
    )
    return Tube(
        points,
        radii,
        np.array(limb.side, dtype=float),
        blend if limb.blend is None else limb.blend,
        limb.flat,
    )


def _curve(joints: Array) -> tuple[Array, Array]:
    """Points and half-axes along a smooth curve through joints; half-axes stay between the
    neighbouring joints' own."""
    if len(joints) == 1:
        return joints[:, :3], joints[:, 3:]
    lengths = np.linalg.norm(np.diff(joints[:, :3], axis=0), axis=1)
    at = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1e-6))])
    fine = np.interp(np.arange(STEPS * (len(at) - 1) + 1) / STEPS, np.arange(len(at)), at)
    return Akima1DInterpolator(at, joints[:, :3])(fine), PchipInterpolator(at, joints[:, 3:])(fine)


def _teeth(row: Teeth) -> Iterator[Tube]:
    """Yields a tube for each spike, from the curve to its tip."""
    points, sizes = _curve(np.array(row.joints, dtype=float))
    stations = np.linspace(0, len(points) - 1, row.count)
    for station in stations:
        x, y, z, half, height = (
            float(np.interp(station, np.arange(len(points)), column))
            for column in (*points.T, *sizes.T)
        )
        ends = np.array([[x, y, z], [x + row.lean * height, y, z + height]])
        yield Tube(
            ends,
            np.array([[half, half], [half / 8, half / 8]]),
            np.array([0.0, 1.0, 0.0]),
            half / 2,
        )


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


def field(tubes: list[Tube], grid: Grid) -> Array:
    """The field at the points of a grid: an array of the grid's shape."""
    axes = [grid.low[number] + grid.step * np.arange(grid.shape[number]) for number in range(3)]
    reach = max(tube.blend for tube in tubes) + 2.5 * grid.step
    found = np.full(grid.shape, reach)
    for tube in tubes:
        own = np.full(grid.shape, reach)
        for i in range(max(len(tube.points) - 1, 1)):
            ends, margin = tube.points[i : i + 2], tube.radii[i : i + 2].max() + reach
            low, high = ends.min(0) - margin, ends.max(0) + margin
            inside = [(axis > a) & (axis < b) for axis, a, b in zip(axes, low, high, strict=True)]
            near = np.ix_(*inside)
            place = np.ix_(*(axis[part] for axis, part in zip(axes, inside, strict=True)))
            own[near] = np.minimum(own[near], _segment(tube, i, *place))
        found = _smooth_minimum(found, own, tube.blend)
    return np.maximum(found, -axes[2])


def _segment(tube: Tube, i: int, *place: Array) -> Array:
    """Distance to segment `i` of a tube at the points `place`: broadcastable x, y and z."""
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
    """Distance to a tube of elliptic section. The length of its round end cap is the shorter
    half-axis."""
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
    """Unit axes of the section of a tube that runs `forward`; the first is as near as possible to
    `side`."""
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
