"""Brings an imported mesh to the place and size of a unit mesh: turned, centred, on the ground, of unit size."""

import numpy as np

from generator.base.errors import UserError

NOT_FINITE = (
    "it has coordinates that are not finite numbers: mend them in the program that made it, and export it again."
)
FACINGS = ("x", "-x", "y", "-y")
UPS = {
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)), "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)), "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)), "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
}  # fmt: skip
"""The turn that brings each axis to +z, about x or y: rows of the matrix that column vectors are multiplied by."""
_TURNS = {"x": (1, 0), "-x": (-1, 0), "y": (0, -1), "-y": (0, 1)}
"""Cosine and sine of the turn about the vertical that brings each direction to +x."""
_COARSEST = 1e-3  # the largest rounding error of single precision, over the mesh's size


def check_coordinates(vertices: np.ndarray) -> None:
    """Raises UserError where a coordinate of `vertices` [n, 3] is not finite, or where all vertices are in one place."""
    if not np.isfinite(vertices).all():
        raise UserError(NOT_FINITE)
    if not np.ptp(vertices, axis=0).any():
        raise UserError("all its vertices are in one place, so there is no shape: export the mesh again.")


def far_away(vertices: np.ndarray) -> str | None:
    """A sentence about `vertices` [n, 3] that lie far from the origin; None where they do not.

    Raises UserError where they lie so far that single precision loses their shape.
    """
    size, distance = float(np.ptp(vertices, axis=0).max()), float(np.abs(vertices).max())
    if distance * np.finfo(np.float32).eps > _COARSEST * size:
        raise UserError(
            f"it is {size:.3g} wide and lies {distance:.3g} from the origin, where single precision no longer tells "
            f"its vertices apart: move it to the origin in the program that made it, and export it again."
        )
    return f"it lay {distance:.3g} from the origin, and was centred" if distance > 100 * size else None


def normalise(vertices: np.ndarray, facing: str, up: str) -> np.ndarray:
    """Turn `vertices` [n, 3] upright, so that `up` (one of UPS) becomes +z, then so that `facing` (one of FACINGS) becomes +x.

    They are scaled and centred too. The result, float64 [n, 3], stands on z = 0 over the origin, and reaches radius 1 or height 2, whichever is met first.
    """
    points = np.asarray(vertices, np.float64) @ np.array(UPS[up], np.float64).T
    cos, sin = _TURNS[facing]
    x, y, z = points.T
    points = np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=-1)
    low, high = points.min(axis=0), points.max(axis=0)
    points -= ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2])
    radius, height = np.hypot(points[:, 0], points[:, 1]).max(), points[:, 2].max()
    return points / max(radius, height / 2)
