"""Turns the declaration of an animal into tubes: smooth curves through its joints, with a section at each point."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator

from generator.assets.skeleton import Limb, Skeleton, Teeth

Array = NDArray[np.float64]
MIRROR = np.array([1.0, -1.0, 1.0])
# Points of a curve for each stretch between two joints.
STEPS = 6


class Tube(NamedTuple):
    """Points along a curve [n, 3], the half-axes of the sections there [n, 2], and the direction of the first half-axis [3].

    `blend` is how far the tube flows into others; the sections are ellipses, or plates where `flat`.
    """

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
    """All tubes of an animal, in the order in which they are joined; a tube off the plane y = 0 is followed by its mirror image."""
    whole = [_tube(limb, skeleton.blend) for limb in skeleton.parts.values()]
    whole += [tooth for row in skeleton.teeth.values() for tooth in _teeth(row)]
    return [copy for tube in whole for copy in ([tube, tube.mirrored()] if tube.points[:, 1].any() else [tube])]


def _tube(limb: Limb, blend: float) -> Tube:
    points, radii = _curve(np.array([[*joint, joint[-1]][:5] for joint in limb.joints], dtype=float))
    return Tube(points, radii, np.array(limb.side, dtype=float), blend if limb.blend is None else limb.blend, limb.flat)


def _curve(joints: Array) -> tuple[Array, Array]:
    """Points and half-axes along a smooth curve through joints; half-axes stay between those of neighbouring joints."""
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
