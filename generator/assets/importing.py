"""Imports a user's file into an asset set: a mesh, which is cleaned, or a panorama, which is scaled
down."""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.assets.gltf import NOT_FINITE
from generator.assets.sets import NAME, set_folder, write_asset
from generator.assets.shapes import SHAPES, UnitMesh
from generator.base import limits
from generator.base.arrays import read_npz
from generator.base.bounded import Bounds, read_bounded
from generator.base.confinement import can_confine
from generator.base.errors import UserError, did_you_mean
from generator.base.files import check_output, draft_of, sha256, write_json

MESHES = (".glb", ".gltf", ".obj", ".ply", ".stl", ".fbx", ".blend")
PANORAMAS = (".exr", ".hdr")
SUFFIXES = (*MESHES, *PANORAMAS)
DIRECTIONS = {
    "x": (1, 0, 0),
    "-x": (-1, 0, 0),
    "y": (0, 1, 0),
    "-y": (0, -1, 0),
    "z": (0, 0, 1),
    "-z": (0, 0, -1),
}
"""The directions that `cleaned` takes."""
MAX_TRIANGLES = 100_000
"""A mesh with more triangles is decimated to this many."""
_Y_UP = (".obj", ".gltf", ".glb")
"""Formats in which y is usually up and meshes face z; in others z is up and they face -y."""
_LEADING_ELSEWHERE = (".blend", ".fbx")
"""Formats whose files can refer to other files, which Blender also reads."""
_WITH_FILES_BESIDE = (".gltf", ".glb", ".blend")
"""Formats whose buffers and libraries may lie in the folder of the file."""
# Files come from strangers, and a small file may ask for much: docs/security.md.
_MOST_BYTES = 1 << 30
_BOUNDS = Bounds(memory=8 << 30, seconds=600.0)
# The brightest channel of a stored panorama; half precision can hold it.
_MOST_LIGHT = 32000.0
# Vertices that agree to this many decimals, in units of a unit mesh, are merged.
_MERGE_DIGITS = 5
# The least area of a mesh of unit size.
_LEAST_AREA = 1e-4
# Edges that are bent more than this stay sharp.
_SHARP_ANGLE = math.radians(60)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Imported:
    """An imported mesh or panorama."""

    path: Path
    """The file in the set."""
    mended: list[str]
    """A clause for each part of the source that was left out, and for each repair."""


def import_asset(
    file: Path,
    *,
    name: str,
    assets: str,
    licence: str,
    facing: str | None,
    up: str | None,
    replace: bool,
) -> Imported:
    """Import the meshes of a file, joined, or its panorama.

    Args:
        file: The user's file.
        name: The name of the asset.
        assets: The set into which it is imported.
        licence: Its licence, as one line.
        facing: The direction in the file in which the mesh faces, as in `cleaned`; None takes the
            format's usual direction.
        up: The direction of its top in the file; None as for `facing`.
        replace: Whether an asset of that name may be replaced.

    Returns:
        The asset.

    Raises:
        UserError: The name is invalid, or taken without `replace`; or the file holds no mesh that
            can be shown. The set then stays unchanged.
    """
    folder = _check_name(name, assets, replace=replace)
    check_file(file)
    suffix = file.suffix.lower()
    notes = {"licence": licence, "source": file.name, "sha256": sha256(file)}
    if suffix in PANORAMAS:
        write_panorama(folder, name, pixels=read_panorama(file), notes=notes)
        return Imported(folder / f"{name}.exr", [])
    usual_facing, usual_up = ("z", "y") if suffix in _Y_UP else ("-y", "z")
    notes["facing"] = facing or usual_facing
    notes["up"] = up or usual_up
    try:
        vertices, faces, left_out = read_file(file)
        mesh, repairs = cleaned(vertices, faces, facing=notes["facing"], up=notes["up"])
    except UserError as error:
        raise UserError(f"Cannot import {file}: {error.message}") from None
    write_asset(folder, name, mesh=mesh, notes=notes)
    return Imported(folder / f"{name}.npz", left_out + repairs)


def read_file(file: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read a mesh file in a process that sees only the files that belong to it.

    Args:
        file: A file of a format in MESHES.

    Returns:
        Vertices [n, 3], triangles [m, 3], and a clause for each part that was left out.

    Raises:
        UserError: The file cannot be read, or this system cannot keep its process from reading
            other files.
    """
    suffix = file.suffix.lower()
    if suffix in _LEADING_ELSEWHERE and not can_confine():
        raise UserError(
            "such a file can refer to any other file, and this system cannot keep Blender from "
            "reading it: export the mesh as .glb, or import it on Linux 5.13 or later."
        )
    # Other formats name only files of materials, which are not needed and may be pipes that never
    # end.
    visible = file.resolve()
    if suffix in _WITH_FILES_BESIDE:
        visible = visible.parent
    arrays, notes = _read_apart(
        file, visible=visible, reader="store_mesh", names=("vertices", "faces")
    )
    vertices, faces = arrays
    return vertices, faces, notes


def read_panorama(file: Path) -> np.ndarray:
    """Read a panorama, as `read_file` reads a mesh.

    Args:
        file: A file of a format in PANORAMAS.

    Returns:
        Linear light, float32, at most [512, 1024, 3], top row first.

    Raises:
        UserError: The file cannot be read or is not a panorama.
    """
    try:
        (pixels,), _ = _read_apart(
            file, visible=file.resolve(), reader="store_panorama", names=("pixels",)
        )
    except UserError as error:
        raise UserError(f"Cannot import {file}: {error.message}") from None
    return pixels


def _read_apart(
    file: Path, *, visible: Path, reader: str, names: tuple[str, ...]
) -> tuple[list[np.ndarray], list[str]]:
    """Read a file with a function of mesh_reader.py in a process of its own.

    Args:
        file: The file.
        visible: The only file or folder that the process sees.
        reader: The name of the function.
        names: The arrays that the function stores.

    Returns:
        The arrays, and the notes that the function yields.
    """
    function = f"generator.render.blender.mesh_reader:{reader}"
    with tempfile.TemporaryDirectory(prefix="jackalope-") as scratch:
        out = Path(scratch) / "read.npz"
        items = read_bounded(
            function,
            [file.resolve()],
            sees=[visible],
            bounds=_BOUNDS,
            writes=[Path(scratch)],
            out=str(out),
        )
        notes = [note for _, note in items]
        return read_npz(out, names), notes


def write_panorama(folder: Path, name: str, *, pixels: np.ndarray, notes: dict[str, Any]) -> None:
    """Write a panorama and its notes; overwrites an asset of that name.

    Args:
        folder: The folder of a set.
        name: The name of the asset.
        pixels: Linear light [h, w, 3], top row first.
        notes: `licence`, `source` and more.
    """
    import OpenEXR  # installed with the extra render

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.npz").unlink(missing_ok=True)
    header = {"compression": OpenEXR.DWAB_COMPRESSION, "type": OpenEXR.scanlineimage}
    channels = {"RGB": np.clip(pixels, 0, _MOST_LIGHT).astype(np.float16)}
    with draft_of(folder / f"{name}.exr") as draft:
        OpenEXR.File(header, channels).write(str(draft))
    write_json(folder / f"{name}.json", notes)


def cleaned(
    vertices: np.ndarray, faces: np.ndarray, *, facing: str, up: str
) -> tuple[UnitMesh, list[str]]:
    """Turn any triangles into a unit mesh (`generator.assets.shapes.unit_mesh`).

    The mesh is turned, scaled, rid of duplicate vertices and faces, and decimated if it is large.
    Its faces are oriented outward, and its vertices are split at sharp edges, so that these stay
    sharp when the mesh is shaded smoothly.

    Args:
        vertices: [n, 3].
        faces: Triangles [m, 3].
        facing: The direction in which the mesh faces, one of DIRECTIONS; it becomes +x.
        up: The direction of its top, one of DIRECTIONS; it becomes +z.

    Returns:
        The mesh, and a sentence for each repair that the user should know of.

    Raises:
        UserError: Both directions lie on one axis, a coordinate is not finite, or the mesh has no
            area.
    """
    import trimesh  # takes a while to load

    if facing[-1] == up[-1]:
        raise UserError(
            f"--facing {facing} and --up {up} lie on one axis; choose two directions at right "
            f"angles."
        )
    # Loose vertices would count in the mesh's size.
    used, faces = np.unique(faces, return_inverse=True)
    faces = faces.reshape(-1, 3)
    vertices = np.asarray(vertices, np.float64)[used]
    if not np.isfinite(vertices).all():
        raise UserError(NOT_FINITE)
    ahead, top = DIRECTIONS[facing], DIRECTIONS[up]
    rotation = np.array([ahead, np.cross(top, ahead), top], np.float64)
    turned = vertices @ rotation.T

    # Scaled before the vertices are merged, since _MERGE_DIGITS counts in units of a unit mesh.
    mesh = trimesh.Trimesh(_of_unit_size(turned), faces, process=False)
    mesh.merge_vertices(digits_vertex=_MERGE_DIGITS)
    mesh.update_faces(mesh.nondegenerate_faces() & mesh.unique_faces())
    repairs = []
    if len(mesh.faces) > MAX_TRIANGLES:
        repairs.append(f"its {len(mesh.faces):,} triangles were decimated to {MAX_TRIANGLES:,}")
        mesh = mesh.simplify_quadric_decimation(face_count=MAX_TRIANGLES)
    if mesh.area < _LEAST_AREA:
        raise UserError(
            "all its faces are lines or points, so there is nothing to show: export the mesh again."
        )
    mesh.fix_normals(multibody=True)
    mesh = trimesh.graph.smooth_shade(mesh, angle=_SHARP_ANGLE, facet_minarea=None)

    # Scaled again, since the repairs may have moved the outermost vertices.
    stored = _of_unit_size(mesh.vertices).astype(np.float32)
    return UnitMesh(stored.tolist(), mesh.faces.tolist()), repairs


def _of_unit_size(points: Array) -> Array:
    """Points [n, 3] centred over the origin on z = 0 and scaled to radius 1 or height 2, whichever
    is reached first."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    moved = points - (middle[0], middle[1], low[2])
    x, y, z = moved.T
    size = max(np.hypot(x, y).max(), z.max() / 2)
    # All vertices at one point: there is nothing to scale.
    return np.asarray(moved / size if size else moved)


def _check_name(name: str, assets: str, *, replace: bool) -> Path:
    """Returns the set's folder. Raises UserError if a mesh of that name cannot be written there."""
    folder = set_folder(assets)
    if not NAME.fullmatch(name):
        raise UserError(
            f"Expected --name in lower-case letters, digits, - and _, such as pug or toy_car, got "
            f"'{name}'."
        )
    if name in SHAPES:
        raise UserError(f"--name {name} is a shape, which takes precedence; choose another name.")
    exists = (folder / f"{name}.npz").exists() or (folder / f"{name}.exr").exists()
    if exists and not replace:
        raise UserError(
            f"The asset set '{assets}' has an asset '{name}'; add --replace, or choose another "
            f"--name."
        )
    check_output(folder, "set JACKALOPE_ASSETS to another folder")
    return folder


def check_file(file: Path) -> None:
    """Check that a file can be a mesh or a panorama.

    Args:
        file: The user's file.

    Raises:
        UserError: The file is missing, empty, too large, or of an unsupported format.
    """
    if not file.is_file():
        reason = "it is not a file" if file.exists() else "there is no such file"
        raise UserError(
            f"Cannot import {file}: {reason}; give a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} "
            f"file."
        )
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"Cannot import {file}: '{file.suffix}' is not a supported format; "
            f"{did_you_mean(suffix, list(SUFFIXES))}"
        )
    limits.check_file(file, _MOST_BYTES)
    if file.stat().st_size == 0:
        raise UserError(f"Cannot import {file}: it is empty; export the mesh again.")
