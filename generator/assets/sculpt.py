"""Builds the mesh of an animal from its declaration: marching cubes over the distance field of its tubes."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates
from skimage.measure import marching_cubes

from generator.assets.field import bounds, distances, grid_around, sample
from generator.assets.skeleton import Skeleton
from generator.assets.tubes import Array, Tube, tubes_of
from generator.base.errors import UserError

Faces = NDArray[np.int64]
# Triangles of a mesh: limbs look round at the sizes that are rendered, and scenes render fast.
FACES = 18_000
DECIMALS = 6
# Half the thickness of the thinnest tube that the grid resolves, in steps of the grid.
THINNEST = 0.8
# Newton steps that move the vertices onto the skin.
CORRECTIONS = 2
# Cells along the longest side of a first grid that only counts triangles; the second is at most FINEST times finer.
COARSE, FINEST = 60, 5


def sculpt(skeleton: Skeleton) -> tuple[Array, Array, Faces]:
    """Vertices float64 [n, 3], unit normals float64 [n, 3] and triangles int64 [m, 3] (counter-clockwise from outside) of an animal.

    The mesh is closed, stands on z = 0 over the origin, and reaches radius 1 or height 2, whichever is met first. It has
    about `FACES` triangles. Raises UserError where no part of the animal is above the ground.
    """
    thin = tubes_of(skeleton)
    low, high = bounds(thin)
    coarse = float((high - low).max()) / COARSE
    triangles = len(_surface(_thickened(thin, coarse), coarse)[2])
    step = coarse * max(float(np.sqrt(triangles / FACES)), 1 / FINEST)
    tubes = _thickened(thin, step)
    vertices, normals, faces = _surface(tubes, step)
    for _ in range(CORRECTIONS):
        vertices = vertices - distances(tubes, vertices, step)[:, None] * normals
    return _rounded(_placed(vertices)), _rounded(normals), faces


def _surface(tubes: list[Tube], step: float) -> tuple[Array, Array, Faces]:
    """Vertices, normals and triangles of the surface where the field is 0, on a grid of that step."""
    grid = grid_around(tubes, step)
    half = sample(tubes, grid)
    if half.min() >= 0:
        raise UserError("Nothing of the animal is above the ground z = 0, where it should stand; raise its joints.")
    # A crossing in a corner of the grid would make triangles without area.
    half[np.abs(half) < 1e-4 * step] = 1e-4 * step
    whole = np.concatenate([half[:, ::-1], half], axis=1)
    # Its own normals are not symmetric, so they are computed from the gradient of the field.
    vertices, faces, _, _ = marching_cubes(whole, 0.0, gradient_direction="descent")
    gradient = np.stack([map_coordinates(slope, vertices.T, order=1) for slope in np.gradient(whole)], axis=1)
    normals = gradient / np.linalg.norm(gradient, axis=1)[:, None]
    low = np.array([grid.low[0], -step * (grid.shape[1] - 0.5), grid.low[2]])
    return vertices.astype(float) * step + low, normals, faces.astype(np.int64)


def _thickened(tubes: list[Tube], step: float) -> list[Tube]:
    return [tube.thickened(THINNEST * step) for tube in tubes]


def _placed(vertices: Array) -> Array:
    low, high = vertices.min(0), vertices.max(0)
    moved = vertices - [(low[0] + high[0]) / 2, 0, low[2]]
    return moved * min(1 / np.hypot(moved[:, 0], moved[:, 1]).max(), 2 / moved[:, 2].max())


def _rounded(numbers: Array) -> Array:
    return np.round(numbers, DECIMALS) + 0.0
