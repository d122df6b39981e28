"""Primitives that scenery is built from: surfaces of revolution, lumps and boxes."""

import math
from collections.abc import Sequence
from itertools import pairwise

from generator.base.streams import Stream
from generator.render.blender.mesh_builder import PolygonMesh

Vector = tuple[float, float, float]


def revolved(
    profile: Sequence[tuple[float, float]], sides: int, lean: Sequence[tuple[float, float]] = ()
) -> PolygonMesh:
    """A surface of revolution: a profile of (radius, height) from the foot up, turned about the vertical axis, with a lid.

    `lean` moves each ring aside by (x, y).
    """
    shifts = lean or [(0.0, 0.0)] * len(profile)
    vertices = [
        (radius * math.cos(turn) + dx, radius * math.sin(turn) + dy, height)
        for (radius, height), (dx, dy) in zip(profile, shifts, strict=True)
        for turn in (2 * math.pi * side / sides for side in range(sides))
    ]
    faces = [
        [low + side, low + (side + 1) % sides, high + (side + 1) % sides, high + side]
        for low, high in pairwise(range(0, len(vertices), sides))
        for side in range(sides)
    ]
    return vertices, [*faces, list(range(len(vertices) - sides, len(vertices)))]


def lump(stream: Stream, center: Vector, radii: Vector, rough: float, steps: int = 5) -> PolygonMesh:
    """An ellipsoid with an uneven surface: each vertex is nearer to the centre by up to the share `rough`."""
    sides = 2 * steps
    vertices = [_on_ball(0.0, 0.0)]
    vertices += [
        _on_ball(math.pi * i / steps, 2 * math.pi * (j + i / 2) / sides) for i in range(1, steps) for j in range(sides)
    ]
    vertices.append(_on_ball(math.pi, 0.0))
    shrunk = [(1 - stream.uniform(0, rough), vertex) for vertex in vertices]
    placed = [
        (center[0] + s * v[0] * radii[0], center[1] + s * v[1] * radii[1], center[2] + s * v[2] * radii[2])
        for s, v in shrunk
    ]
    last, faces = len(vertices) - 1, []
    for j in range(sides):
        k = (j + 1) % sides
        faces += [[0, 1 + j, 1 + k], [last, last - sides + k, last - sides + j]]
        for i in range(steps - 2):
            low, high = 1 + (i + 1) * sides, 1 + i * sides
            faces += [[high + j, low + j, low + k], [high + j, low + k, high + k]]
    return placed, faces


def _on_ball(down: float, turn: float) -> Vector:
    return math.sin(down) * math.cos(turn), math.sin(down) * math.sin(turn), math.cos(down)


def box(center: Vector, size: Vector) -> PolygonMesh:
    """A box with the given centre and edge lengths."""
    x, y, z = center
    vertices = [
        (x + a * size[0] / 2, y + b * size[1] / 2, z + c * size[2] / 2)
        for c in (-1, 1)
        for b in (-1, 1)
        for a in (-1, 1)
    ]
    faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    return vertices, faces


def moved(mesh: PolygonMesh, place: Vector, size: float, turn: float) -> PolygonMesh:
    """A mesh scaled, turned about the vertical by `turn` radians, and moved to a place."""
    cos, sin = math.cos(turn) * size, math.sin(turn) * size
    vertices = [
        (x * cos - y * sin + place[0], x * sin + y * cos + place[1], z * size + place[2]) for x, y, z in mesh[0]
    ]
    return vertices, mesh[1]
