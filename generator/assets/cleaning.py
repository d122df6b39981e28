"""Cleans an imported mesh and brings it to the place and size of a unit mesh."""

import math

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from generator.base.errors import UserError

MAX_TRIANGLES = 100_000
"""A mesh with more triangles is decimated to this many."""
FACINGS = ("x", "-x", "y", "-y")
UPS = {
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
    "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
}
"""The turn that brings each axis to +z, about x or y: rows of the matrix that column vectors are multiplied by."""
_TURNS = {"x": (1, 0), "-x": (-1, 0), "y": (0, -1), "-y": (0, 1)}
"""Cosine and sine of the turn about the vertical that brings each direction to +x."""
_COARSEST = 1e-3  # the largest rounding error of single precision, over the mesh's size
_LEAST_AREA = 1e-4  # of a mesh of unit size
_MERGE_DIGITS = 5  # vertices that are equal to so many decimal places are one, in units of a unit mesh
_SHARP_ANGLE = math.radians(60)  # edges bent more than this stay sharp
_THICKNESS = 0.012  # of a sheet that gets a back, in units of a unit mesh
_RAYS, _STEEPEST = 32, 0.2
_OPEN = 0.08  # share of rays that leave the mesh, above which the back of a face can be seen from outside

Array = NDArray[np.float64]


def cleaned(vertices: Array, faces: NDArray[np.int64], facing: str, up: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Clean a mesh: `vertices` [n, 3], triangles `faces` [m, 3]; `facing` and `up` as in `normalise`.

    Returns the arrays of a unit mesh (`generator.assets.shapes.unit_mesh`), `vertices` and `normals` float32 [k, 3] and
    `faces` int32 [l, 3], where a vertex on a sharp edge appears once for each side; and a sentence for each repair that
    the user should know of. Raises UserError where a coordinate is not finite, and where there is nothing to show.
    """
    used, faces = np.unique(faces, return_inverse=True)  # loose vertices would count in the mesh's size
    vertices, faces = vertices[used], faces.reshape(-1, 3)
    check_coordinates(vertices)
    mended = [sentence] if (sentence := _far_away(vertices)) else []
    mesh = trimesh.Trimesh(normalise(vertices, facing, up), faces, process=False)
    mesh.merge_vertices(digits_vertex=_MERGE_DIGITS)
    mesh.update_faces(mesh.nondegenerate_faces() & mesh.unique_faces())
    if len(mesh.faces) > MAX_TRIANGLES:
        mended.append(f"its {len(mesh.faces):,} triangles were decimated to {MAX_TRIANGLES:,}")
        mesh = mesh.simplify_quadric_decimation(face_count=MAX_TRIANGLES)
    if mesh.area < _LEAST_AREA:
        raise UserError("all its faces are lines or points, so there is nothing to show: export the mesh again.")
    _face_outward(mesh, mesh)
    sheets = _seen_from_behind(mesh)
    if n := int(sheets.sum()):
        mended.append(f"{n:,} of its faces were thin sheets seen from both sides, and were given a back")
        mesh = _with_backs(mesh, sheets)
    arrays = _smoothed(mesh)
    arrays["vertices"] = normalise(arrays["vertices"], "x", "z").astype(np.float32)
    return arrays, mended


def check_coordinates(vertices: np.ndarray) -> None:
    """Raises UserError where a coordinate of `vertices` [n, 3] is not finite, or where all vertices are in one
    place.
    """
    if not np.isfinite(vertices).all():
        raise UserError(
            "it has coordinates that are not finite numbers: mend them in the program that made it, and export it "
            "again."
        )
    if not np.ptp(vertices, axis=0).any():
        raise UserError("all its vertices are in one place, so there is no shape: export the mesh again.")


def _far_away(vertices: np.ndarray) -> str | None:
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


def normalise(vertices: np.ndarray, facing: str, up: str) -> Array:
    """Turn `vertices` [n, 3] upright, so that `up` (one of UPS) becomes +z, then so that `facing` (one of FACINGS)
    becomes +x.

    They are scaled and centred too. The result, float64 [n, 3], stands on z = 0 over the origin, and reaches radius 1
    or height 2, whichever is met first.
    """
    points = np.asarray(vertices, np.float64) @ np.array(UPS[up], np.float64).T
    cos, sin = _TURNS[facing]
    x, y, z = points.T
    points = np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=-1)
    low, high = points.min(axis=0), points.max(axis=0)
    points -= ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2])
    radius, height = np.hypot(points[:, 0], points[:, 1]).max(), points[:, 2].max()
    return points / max(radius, height / 2)


def _face_outward(mesh: trimesh.Trimesh, whole: trimesh.Trimesh) -> None:
    """Turn the faces of each part to its outside: where its volume is positive, unless more of its backs look out of
    `whole`.
    """
    mesh.fix_normals(multibody=True)
    normals, step = mesh.face_normals, 1e-4 * mesh.face_normals
    front, back = (
        ~whole.ray.intersects_any(mesh.triangles_center + way * step, way * normals).astype(bool) for way in (1, -1)
    )
    parts = _parts(mesh)
    outward = np.bincount(parts, (front.astype(float) - back) * mesh.area_faces)
    inside_out = outward[parts] < 0
    mesh.faces[inside_out] = mesh.faces[inside_out, ::-1]


def _parts(mesh: trimesh.Trimesh) -> NDArray[np.int64]:
    """The number of the connected part that each face belongs to."""
    return np.asarray(trimesh.graph.connected_component_labels(mesh.face_adjacency, node_count=len(mesh.faces)))


def _seen_from_behind(mesh: trimesh.Trimesh) -> NDArray[np.bool_]:
    """Which faces are thin sheets, such as ears and wings of one layer: their backs can be seen from outside.

    Faces of closed parts are none. From each other face rays go backwards; the back is seen if enough of them leave the
    mesh.
    """
    _, edges, count = np.unique(mesh.edges_sorted, axis=0, return_inverse=True, return_counts=True)
    at_border = (count[edges.ravel()] != 2).reshape(-1, 3).any(axis=1)
    parts = _parts(mesh)
    asked = np.flatnonzero(np.isin(parts, parts[at_border]))
    normals = mesh.face_normals[asked]
    origins = mesh.triangles_center[asked] - 1e-4 * normals
    backwards, free = np.zeros(len(asked)), np.zeros(len(asked))
    for way in _even_directions(_RAYS):
        cast = np.flatnonzero(normals @ way < -_STEEPEST)
        backwards[cast] += 1
        if len(cast):
            free[cast] += ~mesh.ray.intersects_any(origins[cast], np.tile(way, (len(cast), 1)))
    seen = np.zeros(len(mesh.faces), bool)
    seen[asked] = free > _OPEN * backwards
    return seen


def _with_backs(mesh: trimesh.Trimesh, sheets: NDArray[np.bool_]) -> trimesh.Trimesh:
    """The mesh with the faces in `sheets` detached and closed: a copy behind them points the other way, with a rim
    around.
    """
    front = mesh.submesh([sheets], append=True)
    _face_outward(front, mesh)  # the rest of the mesh may have turned some of them
    n, edges = len(front.vertices), front.edges
    _, which, count = np.unique(front.edges_sorted, axis=0, return_inverse=True, return_counts=True)
    a, b = edges[count[which.ravel()] == 1].T
    rim = np.concatenate([np.stack([b, a, a + n], axis=1), np.stack([b, a + n, b + n], axis=1)])
    shell = trimesh.Trimesh(
        np.concatenate([front.vertices, front.vertices - _THICKNESS * front.vertex_normals]),
        np.concatenate([front.faces, front.faces[:, ::-1] + n, rim]),
        process=False,
    )
    return shell if sheets.all() else trimesh.util.concatenate([mesh.submesh([~sheets], append=True), shell])


def _smoothed(mesh: trimesh.Trimesh) -> dict[str, np.ndarray]:
    """Arrays with a normal at each vertex; the corners of faces share a vertex unless a sharp edge is between them."""
    flat = mesh.face_adjacency_angles < _SHARP_ANGLE
    pairs, ends = mesh.face_adjacency[flat], mesh.face_adjacency_edges[flat]
    # number in [0, 3 m) of the corner that each face of a pair has at each end of their edge
    one, other = (
        (3 * side[:, None] + (mesh.faces[side][:, None] == ends[..., None]).argmax(axis=-1)).ravel() for side in pairs.T
    )
    corners = mesh.faces.size
    links = coo_array((np.ones(len(one)), (one, other)), shape=(corners, corners))
    _, vertex = connected_components(links, directed=False)
    _, first = np.unique(vertex, return_index=True)
    weighted = np.repeat(mesh.face_normals, 3, axis=0) * mesh.face_angles.reshape(-1, 1)
    normals = np.stack([np.bincount(vertex, weighted[:, axis]) for axis in range(3)], axis=1)
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return {
        "vertices": mesh.vertices[mesh.faces.ravel()[first]],
        "normals": normals.astype(np.float32),
        "faces": vertex.reshape(-1, 3).astype(np.int32),
    }


def _even_directions(n: int) -> Array:
    """Unit vectors [n, 3] spread evenly: on a spiral from pole to pole, each turned on by the golden angle."""
    k = np.arange(n)
    z, turn = 1 - (2 * k + 1) / n, math.pi * (3 - math.sqrt(5)) * k
    return np.stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z], axis=1)
