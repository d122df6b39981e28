"""Builds the unit meshes of the built-in shapes: twelve of our own, and CLEVR's cube and cylinder.

Every shape is a stack of rings: copies of a plane outline along an axis, with neighbouring rings
joined by quads. `_prism` stacks shrunken copies of an outline, `_revolve` scales a section along a
profile. Soft edges are arcs in these curves, so the exact normal at every vertex is known and
stored with the mesh: flat faces stay flat and round faces round, without a modifier.

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

Outline = list[tuple[complex, complex]]
"""A curve with the solid on its left: points with outward unit normals."""
Corner = tuple[complex, float]
"""A corner of a polygon, and the radius of the arc that replaces it."""
Vector = tuple[float, float, float]
"""x, y and z."""
Vertex = tuple[Vector, Vector]
"""A position, and the direction of the normal there."""
Ring = list[Vertex]
"""The vertices around one outline."""

BEVEL = 0.07
"""Radius of the rounded edges."""
CORNER = 0.085
"""Radius of an outline's corners. More than BEVEL: an outline that shrinks by BEVEL must keep round
corners."""
ARC_STEP = math.radians(5)
"""The turn between two points of an arc."""
BEVEL_STEPS = 6
"""Rings of a rounded rim, without the first."""
CLEVR_CUBE_BEVEL = 0.175
"""Radius of the edges of CLEVR's cube, measured on its images."""
CLEVR_CYLINDER_BEVEL = 0.055
"""Radius of the edges of CLEVR's cylinder, measured on its images."""
HALF_WIDTH = {"clevr-cube": 1.0}
"""Half the width along x of meshes that are scaled to this width instead of the circle around their
footprint."""


class UnitMesh(NamedTuple):
    """A mesh of unit size (`unit_mesh`)."""

    vertices: list[Vector]
    """The corners of the faces."""
    faces: list[list[int]]
    """The vertex numbers of each face, counter-clockwise from outside."""
    normals: list[Vector] | None = None
    """The unit normal at each vertex; None: the mean of the faces around it."""


def write_mesh(path: Path, mesh: UnitMesh) -> None:
    """Write the triangles of a mesh atomically, without normals.

    Args:
        path: The .npz file.
        mesh: A mesh of triangles.
    """
    file = io.BytesIO()
    np.savez_compressed(file, **_arrays(mesh))
    write_bytes(path, file.getvalue())


def read_mesh(path: Path) -> UnitMesh:
    """Read a mesh that `write_mesh` wrote.

    Args:
        path: The .npz file.

    Raises:
        OSError: There is no such file.
        ValueError: The file is damaged.
    """
    vertices, faces = read_npz(path, ("vertices", "faces"))
    for array in (vertices, faces):
        if array.ndim != 2 or array.shape[1] != 3:
            raise ValueError("its arrays do not have the shapes of a triangle mesh")
    is_in_range = len(faces) > 0 and faces.min() >= 0 and faces.max() < len(vertices)
    if not is_in_range or not np.isfinite(vertices).all():
        raise ValueError("its faces or vertices are invalid")
    return UnitMesh(vertices.tolist(), faces.tolist())


def mesh_digest(mesh: UnitMesh) -> str:
    """Return the SHA-256 of a triangle mesh in its stored dtypes (float32, int32)."""
    sha = hashlib.sha256()
    for name, array in _arrays(mesh).items():
        sha.update(f"{name}{array.shape}".encode() + array.tobytes())
    return sha.hexdigest()


def _arrays(mesh: UnitMesh) -> dict[str, np.ndarray]:
    """The arrays of a mesh file. Their byte order is fixed, so that a mesh has one digest."""
    vertices = np.asarray(mesh.vertices, "<f4")
    faces = np.asarray(mesh.faces, "<i4")
    return {"vertices": vertices, "faces": faces}


def unit_mesh(shape: str) -> UnitMesh:
    """Build a shape.

    The mesh stands on z = 0 with its vertical axis through the origin, the centre of the circle
    around its footprint. It is scaled to radius 1 or height 2, whichever is reached first: the
    sphere has radius 1, the cube a half-side of about 1 / sqrt(2). Only CLEVR's cube is larger: its
    half-side is 1, as published, and its corners lie `reach` from the axis. Star, heart, cross,
    arch and crescent face +X.

    Args:
        shape: A name in `SHAPES`.

    Returns:
        A closed mesh, the same in every process.

    Raises:
        KeyError: There is no such shape.

    >>> sphere = unit_mesh("sphere")
    >>> max(z for x, y, z in sphere.vertices)
    2.0
    """
    vertices, faces = _join_rings(SHAPES[shape]())
    positions = [position for position, _ in vertices]
    normals = [normal for _, normal in vertices]
    return UnitMesh(_normalise(positions, HALF_WIDTH.get(shape)), faces, normals)


@cache
def reach(mesh: str) -> float:
    """Return the greatest distance of a unit mesh from its vertical axis: 1, except for CLEVR's
    cube.

    >>> reach("sphere"), round(reach("clevr-cube"), 3)
    (1.0, 1.342)
    """
    if mesh not in HALF_WIDTH:
        return 1.0
    vertices = unit_mesh(mesh).vertices
    return max(math.hypot(x, y) for x, y, _ in vertices)


def _join_rings(rings: list[Ring]) -> tuple[list[Vertex], list[list[int]]]:
    """Join each ring to the next. Returns vertices and faces.

    Equal first and last rings are merged; other end rings are closed by a lid or a pole.
    """
    # Equal points get one number; they may differ by rounding errors.
    number_by_place: dict[Vector, int] = {}
    vertices: list[Vertex] = []
    numbered_rings: list[list[int]] = []
    for ring in rings:
        numbers = []
        for vertex in ring:
            (x, y, z), _ = vertex
            place = (round(x, 9), round(y, 9), round(z, 9))
            if place not in number_by_place:
                number_by_place[place] = len(vertices)
                vertices.append(vertex)
            numbers.append(number_by_place[place])
        numbered_rings.append(numbers)

    # A quad between each edge of a ring and the same edge of the next; i - 1 closes the ring.
    faces = []
    for low, high in pairwise(numbered_rings):
        for i in range(len(low)):
            faces.append([low[i - 1], low[i], high[i], high[i - 1]])
    first, last = numbered_rings[0], numbered_rings[-1]
    if first != last:
        faces.append(first[::-1])
        faces.append(last)

    # At a pole, two corners of a quad and all corners of a lid coincide.
    distinct_faces = []
    for face in faces:
        corners = list(dict.fromkeys(face))
        if len(corners) > 2:
            distinct_faces.append(corners)
    return vertices, distinct_faces


def _normalise(positions: list[Vector], half_width: float | None) -> list[Vector]:
    """Centre on the vertical axis, set down on z = 0, and scale: to `half_width` along x, or to
    radius 1 or height 2, whichever is met first."""
    xs, ys, zs = zip(*positions, strict=True)
    centre_x = (min(xs) + max(xs)) / 2
    centre_y = (min(ys) + max(ys)) / 2
    floor = min(zs)
    moved = [(x - centre_x, y - centre_y, z - floor) for x, y, z in positions]
    if half_width is None:
        radius = max(math.hypot(x, y) for x, y, _ in moved)
        height = max(zs) - floor
        scale = min(1 / radius, 2 / height)
    else:
        scale = half_width / max(x for x, _, _ in moved)
    return [(x * scale, y * scale, z * scale) for x, y, z in moved]


def _prism(outline: Outline, thickness: float, bevel: float = BEVEL) -> list[Ring]:
    """Extrude an outline of the YZ plane along X, with both rims rounded.

    A rim is a quarter of a circle: while the normal tilts from the axis to the outline's own, the
    outline grows from a shrunken copy to its full size.
    """
    rings = []
    for side in (-1, 1):
        for step in range(BEVEL_STEPS + 1):
            # From -1 to 0 on the first rim, and from 0 to 1 on the second.
            quarter = step / BEVEL_STEPS - (side < 0)
            tilt = cmath.rect(1, math.pi / 2 * quarter)
            x = side * (thickness / 2 - bevel) + bevel * tilt.imag
            ring = []
            for point, outline_normal in outline:
                shrunk = point - bevel * (1 - tilt.real) * outline_normal
                normal = tilt.real * outline_normal
                position = (x, shrunk.real, shrunk.imag)
                direction = (tilt.imag, normal.real, normal.imag)
                ring.append((position, direction))
            rings.append(ring)
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
            wall_distance = (point * normal.conjugate()).real
            scaled = place.real * point
            outward = slope.real * normal
            up = slope.imag * wall_distance
            length = math.hypot(outward.real, outward.imag, up)
            position = (scaled.real, scaled.imag, place.imag)
            direction = (outward.real / length, outward.imag / length, up / length)
            ring.append((position, direction))
        rings.append(ring)
    return rings


def _arc(centre: complex, radius: float, *, start: complex, turn: float) -> Outline:
    """An arc whose normal turns from `start` by `turn` radians; a concave arc has negative radius
    and turn."""
    # With an even number of steps, an arc across the axis has a point on the axis.
    steps = 2 * math.ceil(abs(turn) / ARC_STEP / 2)
    arc = []
    for step in range(steps + 1):
        normal = start * cmath.rect(1, turn * step / steps)
        arc.append((centre + radius * normal, normal))
    return arc


def _rounded(corners: Sequence[Corner]) -> Outline:
    """A counter-clockwise polygon with each corner replaced by an arc."""
    outline = []
    for i, (corner, radius) in enumerate(corners):
        previous, _ = corners[i - 1]
        following, _ = corners[(i + 1) % len(corners)]
        before = corner - previous
        after = following - corner
        turn = cmath.phase(after / before)
        # The normals of the two sides: their directions turned by a quarter to the right.
        first = -1j * before / abs(before)
        last = -1j * after / abs(after)
        # At a concave corner the arc's centre lies outside.
        signed_radius = math.copysign(radius, turn)
        centre = corner - signed_radius * (first + last) / (1 + math.cos(turn))
        outline += _arc(centre, signed_radius, start=first, turn=turn)
    return outline


def _profile(*corners: Corner) -> Outline:
    """The right half, bottom to top, of the rounded polygon of these corners and their mirror
    images.

    A corner on the axis is a tip: it has no mirror image, and its arc ends in a pole.
    """
    off_axis = [(corner, radius) for corner, radius in corners if corner.real]
    whole = _rounded([*corners, *_mirrored(off_axis)])
    return [(point, normal) for point, normal in whole if point.real > -1e-9]


def _mirrored(corners: Sequence[Corner]) -> list[Corner]:
    """The mirror images of corners on the other side of the axis, so that they go on around."""
    return [(-corner.conjugate(), radius) for corner, radius in reversed(corners)]


def _circle() -> Outline:
    """A circle of radius 1; its last point, which equals the first, is left out."""
    return _arc(0, 1, start=1, turn=2 * math.pi)[:-1]


def _square(radius: float = CORNER) -> Outline:
    corners = (-1 - 1j, 1 - 1j, 1 + 1j, -1 + 1j)
    return _rounded([(corner, radius) for corner in corners])


def _star() -> Outline:
    """Five points, from the top."""
    corners = []
    for i in range(10):
        # Tips and the corners between them take turns.
        spoke = 1.0 if i % 2 == 0 else 0.45
        direction = cmath.rect(1, math.pi / 2 + math.pi / 5 * i)
        corners.append((spoke * direction, CORNER))
    return _rounded(corners)


def _heart() -> Outline:
    # Drawn with the tip at the origin and the lobes along the axes, then turned to stand on the
    # tip.
    lobe, notch = 0.41, 0.05
    lying = [
        (0, 0.12),
        (1.5, lobe),
        (1.5 + 1j, lobe),
        (0.87 + 0.87j, notch),
        (1 + 1.5j, lobe),
        (1.5j, lobe),
    ]
    eighth_turn = cmath.rect(1, math.pi / 4)
    return _rounded([(corner * eighth_turn, radius) for corner, radius in lying])


def _cross() -> Outline:
    long, half = 1.0, 0.31
    # The arm to the right, from its inner corner below; the others are turned by quarters.
    arm = [complex(half, -half), complex(long, -half), complex(long, half)]
    corners = []
    for quarter in range(4):
        for point in arm:
            corners.append((point * 1j**quarter, CORNER))
    return _rounded(corners)


def _arch() -> Outline:
    foot_in, foot_out, lintel, top = 0.42, 0.9, 1.3, 1.8
    # Around the right half, then the left half, then the opening between them. The upper corners
    # are round enough to nearly meet.
    outer_corner = (complex(foot_out, top), 0.82)
    right = [(foot_in + 0j, CORNER), (foot_out + 0j, CORNER), outer_corner]
    opening = [(complex(-foot_in, lintel), 0.38), (complex(foot_in, lintel), 0.38)]
    return _rounded([*right, *_mirrored(right), *opening])


def _crescent() -> Outline:
    """A disc minus a smaller disc, with round tips; it opens to the upper right."""
    inner, shift, tip = 0.72, 0.44, 0.1
    lean = cmath.rect(1, math.radians(25))
    # The arc of a tip touches the outer circle from inside and the inner circle from outside: its
    # centre `low` lies 1 - tip from the origin and inner + tip from the centre of the inner circle.
    from_outer = 1 - tip
    from_inner = inner + tip
    x = (from_outer**2 - from_inner**2 + shift**2) / (2 * shift)
    low = complex(x, -math.sqrt(from_outer**2 - x**2))
    outwards = low / abs(low)
    inwards = (shift - low) / abs(shift - low)
    round_tip = cmath.phase(inwards / outwards)

    outer_turn = 2 * (math.pi + cmath.phase(outwards))
    inner_turn = -2 * cmath.phase(inwards)
    high = low.conjugate()
    # Each arc begins where the one before ends, so that point is left out.
    outline = [
        *_arc(0, 1, start=outwards.conjugate(), turn=outer_turn)[:-1],
        *_arc(low, tip, start=outwards, turn=round_tip)[:-1],
        *_arc(shift, -inner, start=inwards, turn=inner_turn)[:-1],
        *_arc(high, tip, start=inwards.conjugate(), turn=round_tip)[:-1],
    ]
    return [(point * lean, normal * lean) for point, normal in outline]


def _upright(*corners: Corner) -> list[Ring]:
    """A round body with the profile of these corners."""
    return _revolve(_profile(*corners), _circle())


SHAPES: dict[str, Callable[[], list[Ring]]] = {
    "cube": lambda: _prism(_square(), 2),
    "sphere": lambda: _upright((1 - 1j, 1), (1 + 1j, 1)),
    "cylinder": lambda: _upright((1 + 0j, BEVEL), (1 + 1.7j, BEVEL)),
    "cone": lambda: _upright((1 + 0j, BEVEL), (2.3j, BEVEL)),
    "clevr-cube": lambda: _prism(_square(1.02 * CLEVR_CUBE_BEVEL), 2, CLEVR_CUBE_BEVEL),
    "clevr-cylinder": lambda: _upright(
        (1 + 0j, CLEVR_CYLINDER_BEVEL), (1 + 2j, CLEVR_CYLINDER_BEVEL)
    ),
    "torus": lambda: _revolve(_arc(0.77, 0.23, start=-1, turn=2 * math.pi), _circle()),
    "pyramid": lambda: _revolve(_profile((1 + 0j, BEVEL), (1.6j, BEVEL)), _square()),
    "star": lambda: _prism(_star(), 0.44),
    "heart": lambda: _prism(_heart(), 0.65),
    "cross": lambda: _prism(_cross(), 0.5),
    "arch": lambda: _prism(_arch(), 0.52),
    "hourglass": lambda: _upright((1 + 0j, BEVEL), (0.25 + 1.15j, 0.15), (1 + 2.3j, BEVEL)),
    "crescent": lambda: _prism(_crescent(), 0.48),
}
"""Builds the rings of each shape."""
