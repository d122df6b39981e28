"""Objects whose outlines look alike from the family's camera, over the headings that they may have."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from generator.assets.sets import find_mesh
from generator.assets.shapes import UnitMesh
from generator.scene.projection import project
from generator.scene.scene import Camera
from generator.vocabulary.schema import Vocabulary

SIDE = 64
HEADINGS = 8
ALIKE = 0.95
"""Two objects look alike where the shares that their masks have in common (intersection over union) are larger."""
_SPACING = 1.2 / SIDE  # of the points on a surface, units of its mesh: less than a pixel of a mask
_R2 = (0.7548776662466927, 0.5698402909980532)


def alike(vocabulary: Vocabulary) -> Iterator[tuple[str, str, float]]:
    """Pairs of objects that look alike, with the share (0..1) that their masks have in common.

    Each object stands at the origin at eight headings of those it may have. Its mask has 64 x 64 pixels, which its
    bounding box fills. The share of a pair is the mean over one object's headings of the best match among the
    other's, and of both directions the larger. Raises UserError where a mesh is not installed.
    """
    names = list(vocabulary.objects)
    points: dict[str, NDArray[np.float32]] = {}
    for mesh in vocabulary.meshes.values():
        if mesh not in points:
            points[mesh] = surface_points(find_mesh(mesh, vocabulary.assets))
    masks = np.stack([_masks(vocabulary, name, points[vocabulary.meshes[name]]) for name in names])
    flat = masks.reshape(len(names) * HEADINGS, -1).astype(np.float32)
    common, sizes = flat @ flat.T, flat.sum(1)
    shares = common / (sizes[:, None] + sizes[None, :] - common)
    best = shares.reshape(len(names), HEADINGS, len(names), HEADINGS).max(3).mean(1)
    best = np.maximum(best, best.T)
    for i, j in zip(*np.nonzero(np.triu(best > ALIKE, 1)), strict=True):
        yield names[i], names[j], float(best[i, j])


def _masks(vocabulary: Vocabulary, name: str, points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Masks (HEADINGS, SIDE, SIDE) of an object at headings spread over those that it may have."""
    turn, camera = vocabulary.objects[name].turn, vocabulary.camera
    sized = points * np.float32(sum(vocabulary.scales) / len(vocabulary.scales))
    towards = vocabulary.facing(name, camera.position)
    eye = Camera(camera.position, camera.target, camera.lens, camera.sensor)
    headings = [towards + math.radians(turn) * ((i + 0.5) / HEADINGS - 0.5) for i in range(HEADINGS)]
    if vocabulary.objects[name].shows == "side":  # every other heading shows the other side
        headings = [heading + math.pi * (i % 2) for i, heading in enumerate(headings)]
    return np.stack([mask(sized, heading, eye) for heading in headings])


def mask(points: NDArray[np.float32], heading: float, camera: Camera) -> NDArray[np.bool_]:
    """The mask (SIDE, SIDE) of points (n, 3) turned by `heading` (radians) about z, scaled to touch the edges."""
    x, y, z = points.T
    cos, sin = np.float32(math.cos(heading)), np.float32(math.sin(heading))
    column, row, _ = project(camera, x * cos - y * sin, x * sin + y * cos, z, 1, 1)
    column, row = column - column.min(), row - row.min()
    scale = (SIDE - 1) / max(column.max(), row.max())
    found = np.zeros((SIDE, SIDE), bool)
    found[
        (row * scale + (SIDE - 1 - row.max() * scale) / 2).round().astype(np.int32),
        (column * scale + (SIDE - 1 - column.max() * scale) / 2).round().astype(np.int32),
    ] = True
    found[1:-1] |= found[:-2] & found[2:]
    found[:, 1:-1] |= found[:, :-2] & found[:, 2:]
    return found


def surface_points(mesh: UnitMesh) -> NDArray[np.float32]:
    """Points (n, 3) spread evenly over the surface of a mesh, in units of the mesh.

    They are its vertices, and in each triangle as many points as its area needs, from a sequence of low discrepancy
    (Roberts' R2).
    """
    vertices = np.asarray(mesh.vertices, np.float32)
    corners = vertices[_triangles(mesh.faces)]
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = np.linalg.norm(np.cross(one, other), axis=1) / 2
    counts = (areas / _SPACING**2).astype(np.int64)
    of = np.repeat(np.arange(len(corners)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    u, v = ((0.5 + number * step) % 1 for step in _R2)
    beyond = u + v > 1
    u, v = np.where(beyond, 1 - u, u), np.where(beyond, 1 - v, v)
    inner = corners[of, 0] + u[:, None].astype(np.float32) * one[of] + v[:, None].astype(np.float32) * other[of]
    return np.concatenate([vertices, inner])


def _triangles(faces: Iterable[list[int]]) -> NDArray[np.int64]:
    """Faces cut into triangles (n, 3) of vertex indices; the triangles of a face share its first corner."""
    by_length: dict[int, list[list[int]]] = {}
    for face in faces:
        by_length.setdefault(len(face), []).append(face)
    fans = [
        np.asarray(group)[:, [0, i, i + 1]]
        for length, group in by_length.items()
        for i in range(1, length - 1)
    ]  # fmt: skip
    return np.concatenate(fans)
