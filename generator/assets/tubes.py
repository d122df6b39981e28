"""What an animal is made of: tubes along smooth curves through the joints of its skeleton."""

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


class Tube(NamedTuple):
    """Points along a curve (n, 3), the half-axes of the sections there (n, 2), and the direction of the first (3,)."""

    points: Array
    radii: Array
    side: Array
    blend: float
    flat: bool = False

    def segments(self) -> range:
        return range(max(len(self.points) - 1, 1))

    def thickened(self, least: float) -> "Tube":
        return self._replace(radii=np.maximum(self.radii, least))

    def mirrored(self) -> "Tube":
        return self._replace(points=self.points * MIRROR, side=self.side * MIRROR)


def tubes_of(skeleton: Skeleton) -> list[Tube]:
    """All tubes of an animal in the order in which they are joined, each off the plane y = 0 with its mirror image."""
    whole = [_tube(part, skeleton.blend) for part in skeleton.parts.values()]
    whole += [tooth for row in skeleton.teeth.values() for tooth in _teeth(row)]
    return [copy for tube in whole for copy in ([tube, tube.mirrored()] if tube.points[:, 1].any() else [tube])]


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
