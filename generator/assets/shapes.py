"""Builds the unit meshes of the built-in shapes: twelve of our own, and CLEVR's cube and cylinder.

Every shape is a stack of rings: copies of a plane outline along an axis, with neighbouring rings
    joined by quads.
`_prism` stacks shrunken copies of an outline, `_revolve` scales a section along a profile. Soft
edges are arcs in these
curves, so the exact normal at every vertex is known and stored with the mesh: flat faces stay flat
    and round faces
round, without a modifier.

Points and directions of the plane are complex numbers: rotation is then multiplication.
"""

import cmath
import hashlib
import io
import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from generator.base.arrays import read_npz
from generator.base.files import write_bytes

# A curve with the solid on its left: points with outward unit normals.
Outline = list[tuple[complex, complex]]
# A corner of a polygon, and the radius of the arc that replaces it.
Corner = tuple[complex, float]
Vector = tuple[float, float, float]
# Positions around one outline, and the directions of their normals.
Ring = list[tuple[Vector, Vector]]

BEVEL = 0.07
# More than BEVEL: an outline that shrinks by BEVEL must keep round corners.
CORNER = 0.085
ARC_STEP = math.radians(5)
BEVEL_STEPS = 6
# CLEVR's edges, measured on its images.
CLEVR_CUBE_BEVEL = 0.175
CLEVR_CYLINDER_BEVEL = 0.055
# Half the width along x of meshes that are scaled to this width instead of the circle around their
# footprint.
HALF_WIDTH = {"clevr-cube": 1.0}


class UnitMesh(NamedTuple):
    """Vertices (x, y, z), faces as lists of vertex numbers, counter-clockwise from outside, and
    normals.

    `normals`: the unit normal at each vertex; None: the mean of the faces around it.
    """

    vertices: list[Vector]
    faces: list[list[int]]
    normals: list[Vector] | None = None


def write_mesh(path: Path, mesh: UnitMesh) -> None:
    """Write the triangles of a mesh atomically into a .npz file, without normals."""
    file = io.BytesIO()
    np.savez_compressed(file, **_arrays(mesh))
    write_bytes(path, file.getvalue())


def read_mesh(path: Path) -> UnitMesh:
    """Read a mesh that `write_mesh` wrote. Raises OSError if there is no file, ValueError if it is
    damaged."""
    vertices, faces = read_npz(path, ("vertices", "faces"))
    if (
        vertices.ndim != 2
        or vertices.shape[1:] != (3,)
        or faces.ndim != 2
        or faces.shape[1:] != (3,)
    ):
        raise ValueError("its arrays do not have the shapes of a triangle mesh")
    if (
        not len(faces)
        or faces.min() < 0
        or faces.max() >= len(vertices)
        or not np.isfinite(vertices).all()
    ):
        raise ValueError("its faces or vertices are invalid")
    return UnitMesh(vertices.tolist(), faces.tolist())


def mesh_digest(mesh: UnitMesh) -> str:
    """SHA-256 of a triangle mesh in its stored dtypes (float32, int32)."""
    found = hashlib.sha256()
    for name, array in _arrays(mesh).items():
        found.update(f"{name}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def _arrays(mesh: UnitMesh) -> dict[str, np.ndarray]:
    return {"vertices": np.asarray(mesh.vertices, "<f4"), "faces": np.asarray(mesh.faces, "<i4")}


def unit_mesh(shape: str) -> UnitMesh:
    """Build the shape of that name in `SHAPES`. Raises KeyError for another name.

    The mesh stands on z = 0 with its vertical axis through the origin, the centre of the circle
    around its footprint. It is scaled to radius 1 or height 2, whichever is reached first: the
    sphere has radius 1, the cube a half-side of about 1 / sqrt(2). Only CLEVR's cube is larger: its
    half-side is 1, as published, and its corners lie `reach` from the axis. Star, heart, cross,
    arch and crescent face +X. The mesh is closed and deterministic.
    """
    skin, faces = _skin(SHAPES[shape]())
    vertices = _normalise([position for position, _ in skin], HALF_WIDTH.get(shape))
    return UnitMesh(vertices, faces, [normal for _, normal in skin])


@cache
def reach(mesh: str) -> float:
    """The greatest distance of a unit mesh from its vertical axis: 1, except for CLEVR's cube.

    >>> reach("sphere"), round(reach("clevr-cube"), 3)
    (1.0, 1.342)
    """
    return (
        max(math.hypot(x, y) for x, y, _ in unit_mesh(mesh).vertices) if mesh in HALF_WIDTH else 1.0
    )


def _skin(rings: list[Ring]) -> tuple[Ring, list[list[int]]]:
    """Join each ring to the next. Returns vertices and faces.

    Equal first and last rings are merged; other end rings are closed by a lid or a pole.
    """
    numbers: dict[Vector, int] = {}
    vertices: Ring = []
    stack: list[list[int]] = []
    for ring in rings:
        # Equal points may differ by rounding errors.
        places = [(round(x, 9), round(y, 9), round(z, 9)) for (x, y, z), _ in ring]
        for place, vertex in zip(places, ring, strict=True):
            if place not in numbers:
                numbers[place] = len(vertices)
                vertices.append(vertex)
        stack.append([numbers[place] for place in places])
    faces = [
        [low[i - 1], low[i], high[i], high[i - 1]]
        for low, high in pairwise(stack)
        for i in range(len(low))
    ]
    if stack[0] != stack[-1]:
        faces += [stack[0][::-1], stack[-1]]
    # At a pole, two corners of a quad and all corners of a lid coincide.
    distinct = [list(dict.fromkeys(face)) for face in faces]
    return vertices, [face for face in distinct if len(face) > 2]


def _normalise(positions: list[Vector], half_width: float | None) -> list[Vector]:
    """Centre on the vertical axis, set down on z = 0, and scale: to `half_width` along x, or to
    radius 1 or height 2, whichever is met first."""
    xs, ys, zs = zip(*positions, strict=True)
    centre_x, centre_y, floor = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2, min(zs)
    moved = [(x - centre_x, y - centre_y, z - floor) for x, y, z in positions]
    scale = min(1 / max(math.hypot(x, y) for x, y, _ in moved), 2 / (max(zs) - floor))
    if half_width is not None:
        scale = half_width / max(x for x, _, _ in moved)
    return [(x * scale, y * scale, z * scale) for x, y, z in moved]


def _prism(outline: Outline, thickness: float, bevel: float = BEVEL) -> list[Ring]:
    """Extrude an outline of the YZ plane along X, with both rims rounded."""
    rings = []
    for side in (-1, 1):
        for step in range(BEVEL_STEPS + 1):
            tilt = cmath.rect(1, math.pi / 2 * (step / BEVEL_STEPS - (side < 0)))
            x = side * (thickness / 2 - bevel) + bevel * tilt.imag
            shrunk = [
                (point - bevel * (1 - tilt.real) * normal, tilt.real * normal)
                for point, normal in outline
            ]
            rings.append([((x, p.real, p.imag), (tilt.imag, n.real, n.imag)) for p, n in shrunk])
    return rings


def _revolve(profile: Outline, section: Outline) -> list[Ring]:
    """Stack copies of a horizontal section; the profile's points are (scale, height), from the
    bottom upwards."""
    rings = []
    for place, slope in profile:
        ring = []
        for point, normal in section:
            # Unless the section is a circle, a wall's slope depends on its own distance from the
            # axis.
            reach = (point * normal.conjugate()).real
            p, n, up = place.real * point, slope.real * normal, slope.imag * reach
            length = math.hypot(n.real, n.imag, up)
            ring.append(
                ((p.real, p.imag, place.imag), (n.real / length, n.imag / length, up / length))
            )
        rings.append(ring)
    return rings


def _arc(centre: complex, radius: float, start: complex, turn: float) -> Outline:
    """An arc whose normal turns from `start` by `turn` radians; a concave arc has negative radius
    and turn."""
    # With an even number of steps, an arc across the axis has a point on the axis.
    steps = 2 * math.ceil(abs(turn) / ARC_STEP / 2)
    normals = [start * cmath.rect(1, turn * step / steps) for step in range(steps + 1)]
    return [(centre + radius * normal, normal) for normal in normals]


def _rounded(corners: Sequence[Corner]) -> Outline:
    """A counter-clockwise polygon with each corner replaced by an arc."""
    outline = []
    for i, (corner, radius) in enumerate(corners):
        before, after = corner - corners[i - 1][0], corners[(i + 1) % len(corners)][0] - corner
        turn = cmath.phase(after / before)
        first, last = -1j * before / abs(before), -1j * after / abs(after)
        signed = math.copysign(radius, turn)
        outline += _arc(
            corner - signed * (first + last) / (1 + math.cos(turn)), signed, first, turn
        )
    return outline


def _profile(*corners: Corner) -> Outline:
    """The right half, bottom to top, of the rounded polygon of these corners and their mirror
    images.

    A corner on the axis is a tip: it has no mirror image, and its arc ends in a pole.
    """
    mirrored = [
        (-corner.conjugate(), radius) for corner, radius in reversed(corners) if corner.real
    ]
    whole = _rounded([*corners, *mirrored])
    return [(point, normal) for point, normal in whole if point.real > -1e-9]


def _circle() -> Outline:
    return _arc(0, 1, 1, 2 * math.pi)[:-1]


def _square(radius: float = CORNER) -> Outline:
    return _rounded([(corner, radius) for corner in (-1 - 1j, 1 - 1j, 1 + 1j, -1 + 1j)])


def _star() -> Outline:
    spokes = [
        (1.0 if i % 2 == 0 else 0.45) * cmath.rect(1, math.pi / 2 + math.pi / 5 * i)
        for i in range(10)
    ]
    return _rounded([(spoke, CORNER) for spoke in spokes])


def _heart() -> Outline:
    # Drawn with the tip at the origin and the lobes along the axes, then turned to stand on the
    # tip.
    lobe, notch = 0.41, 0.05
    flat = [
        (0, 0.12),
        (1.5, lobe),
        (1.5 + 1j, lobe),
        (0.87 + 0.87j, notch),
        (1 + 1.5j, lobe),
        (1.5j, lobe),
    ]
    return _rounded([(corner * cmath.rect(1, math.pi / 4), radius) for corner, radius in flat])


def _cross() -> Outline:
    long, half = 1.0, 0.31
    arm = [complex(half, -half), complex(long, -half), complex(long, half)]
    return _rounded([(point * 1j**quarter, CORNER) for quarter in range(4) for point in arm])


def _arch() -> Outline:
    foot_in, foot_out, lintel, top = 0.42, 0.9, 1.3, 1.8
    right = [(foot_in + 0j, CORNER), (foot_out + 0j, CORNER), (complex(foot_out, top), 0.82)]
    left = [(-corner.conjugate(), radius) for corner, radius in reversed(right)]
    return _rounded(
        [*right, *left, (complex(-foot_in, lintel), 0.38), (complex(foot_in, lintel), 0.38)]
    )


def _crescent() -> Outline:
    """A disc minus a smaller disc, with round tips; it opens to the upper right."""
    inner, shift, tip, lean = 0.72, 0.44, 0.1, cmath.rect(1, math.radians(25))
    # The arc of a tip touches the outer circle from inside and the inner circle from outside.
    x = ((1 - tip) ** 2 - (inner + tip) ** 2 + shift**2) / (2 * shift)
    low = complex(x, -math.sqrt((1 - tip) ** 2 - x**2))
    outwards, inwards = low / abs(low), (shift - low) / abs(shift - low)
    round_tip = cmath.phase(inwards / outwards)
    outline = [
        *_arc(0, 1, outwards.conjugate(), 2 * (math.pi + cmath.phase(outwards)))[:-1],
        *_arc(low, tip, outwards, round_tip)[:-1],
        *_arc(shift, -inner, inwards, -2 * cmath.phase(inwards))[:-1],
        *_arc(low.conjugate(), tip, inwards.conjugate(), round_tip)[:-1],
    ]
    return [(point * lean, normal * lean) for point, normal in outline]


SHAPES: dict[str, Callable[[], list[Ring]]] = {
    "cube": lambda: _prism(_square(), 2),
    "sphere": lambda: _revolve(_profile((1 - 1j, 1), (1 + 1j, 1)), _circle()),
    "cylinder": lambda: _revolve(_profile((1 + 0j, BEVEL), (1 + 1.7j, BEVEL)), _circle()),
    "cone": lambda: _revolve(_profile((1 + 0j, BEVEL), (2.3j, BEVEL)), _circle()),
    "clevr-cube": lambda: _prism(_square(1.02 * CLEVR_CUBE_BEVEL), 2, CLEVR_CUBE_BEVEL),
    "clevr-cylinder": lambda: _revolve(
        _profile((1 + 0j, CLEVR_CYLINDER_BEVEL), (1 + 2j, CLEVR_CYLINDER_BEVEL)), _circle()
    ),
    "torus": lambda: _revolve(_arc(0.77, 0.23, -1, 2 * math.pi), _circle()),
    "pyramid": lambda: _revolve(_profile((1 + 0j, BEVEL), (1.6j, BEVEL)), _square()),
    "star": lambda: _prism(_star(), 0.44),
    "heart": lambda: _prism(_heart(), 0.65),
    "cross": lambda: _prism(_cross(), 0.5),
    "arch": lambda: _prism(_arch(), 0.52),
    "hourglass": lambda: _revolve(
        _profile((1 + 0j, BEVEL), (0.25 + 1.15j, 0.15), (1 + 2.3j, BEVEL)), _circle()
    ),
    "crescent": lambda: _prism(_crescent(), 0.48),
}
