"""From the declaration of an animal to its mesh."""

import numpy as np
from numpy.typing import NDArray
from skimage.measure import marching_cubes

from generator.assets.field import Array, Tube, grid_around, sample, tubes
from generator.assets.skeleton import Skeleton

# Enough for round limbs at the sizes that are rendered; scenes stay fast.
FACES = 18_000
DECIMALS = 6


def sculpt(skeleton: Skeleton) -> tuple[Array, Array, NDArray[np.int64]]:
    """Vertices (n, 3), unit normals (n, 3) and triangles (m, 3) of an animal, counter-clockwise from outside.

    The mesh is closed, stands on z = 0 with its vertical axis through the origin, and reaches a radius of 1 or a
    height of 2, whichever is met first. It has about `FACES` triangles.
    """
    parts = tubes(skeleton)
    points = np.concatenate([tube.points for tube in parts])
    coarse = float(np.ptp(points, axis=0).max()) / 60
    triangles = len(_surface(parts, coarse)[2])
    vertices, normals, faces = _surface(parts, coarse * float(np.sqrt(triangles / FACES)))
    return _rounded(_placed(vertices)), _rounded(-normals), faces


def _surface(parts: list[Tube], step: float) -> tuple[Array, Array, NDArray[np.int64]]:
    grid = grid_around(parts, step)
    half = sample(parts, grid)
    # A crossing in a corner of the grid would make triangles without area.
    half[np.abs(half) < 1e-4 * step] = 1e-4 * step
    whole = np.concatenate([half[:, ::-1], half], axis=1)
    vertices, faces, normals, _ = marching_cubes(whole, 0.0, spacing=(step,) * 3, gradient_direction="descent")
    low = np.array([grid.low[0], -step * (grid.shape[1] - 0.5), grid.low[2]])
    return vertices.astype(float) + low, normals.astype(float), faces.astype(np.int64)


def _placed(vertices: Array) -> Array:
    low, high = vertices.min(0), vertices.max(0)
    moved = vertices - [(low[0] + high[0]) / 2, 0, low[2]]
    return moved * min(1 / np.hypot(moved[:, 0], moved[:, 1]).max(), 2 / moved[:, 2].max())


def _rounded(numbers: Array) -> Array:
    return np.round(numbers, DECIMALS) + 0.0
