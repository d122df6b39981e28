"""Imports a user's file into an asset set: a mesh, which is cleaned, or a panorama, which is scaled
down."""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.assets.animals import build_animal
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
SUFFIXES = (*MESHES, *PANORAMAS, ".toml")
DIRECTIONS = {
    "x": (1, 0, 0),
    "-x": (-1, 0, 0),
    "y": (0, 1, 0),
    "-y": (0, -1, 0),
    "z": (0, 0, 1),
    "-z": (0, 0, -1),
}
MAX_TRIANGLES = 100_000
"""A mesh with more triangles is decimated to this many."""
_Y_UP = (
    ".obj",
    ".gltf",
    ".glb",
)  # usually y is up and meshes face z; in other formats z is up and they face -y
_MOST_BYTES = 1 << 30
_BOUNDS = Bounds(8 << 30, 600.0)
_LEADING_ELSEWHERE = (".blend", ".fbx")  # Blender also reads the files that such a file refers to
_WITH_FILES_BESIDE = (
    ".gltf",
    ".glb",
    ".blend",
)  # buffers and libraries may lie in the folder of such a file
_MOST_LIGHT = 32000.0  # maximum of a panorama's channel; half precision can hold it
_MERGE_DIGITS = 5  # vertices that agree to this many decimals, in units of a unit mesh, are merged
_LEAST_AREA = 1e-4  # minimum area of a mesh of unit size
_SHARP_ANGLE = math.radians(60)  # edges bent more than this stay sharp

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
    name: str,
    assets: str,
    licence: str,
    facing: str | None,
    up: str | None,
    replace: bool,
) -> Imported:
    """Import the meshes of `file`, joined, or its panorama, as `name` into the set `assets`.

    `facing`, `up`: directions in the file, as in `cleaned`; None takes the format's usual
    direction. Both are ignored
    for a TOML file, which declares an animal (docs/animals.md). Raises UserError if the name is
    invalid, or taken
    without `replace`, or if the file holds no mesh that can be shown; the set then stays unchanged.
    """
    folder = _check_name(name, assets, replace)
    check_file(file)
    mended: list[str] = []
    source = {"licence": licence, "source": file.name, "sha256": sha256(file)}
    if file.suffix.lower() in PANORAMAS:
        write_panorama(folder, name, read_panorama(file), source)
        return Imported(folder / f"{name}.exr", mended)
    if file.suffix.lower() == ".toml":
        mesh, facing, up = build_animal(file), "x", "z"
    else:
        usual = ("z", "y") if file.suffix.lower() in _Y_UP else ("-y", "z")
        facing, up = facing or usual[0], up or usual[1]
        try:
            vertices, faces, notes = read_file(file)
            mesh, repairs = cleaned(vertices, faces, facing, up)
            mended = notes + repairs
        except UserError as error:
            raise UserError(f"Cannot import {file}: {error.message}") from None
    write_asset(folder, name, mesh, {**source, "facing": facing, "up": up})
    return Imported(folder / f"{name}.npz", mended)


def read_file(file: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read a mesh file in a process that sees only the files that belong to it.

    Returns:
        Vertices [n, 3], triangles [m, 3], and a clause for each part that was left out.

    Raises: UserError: the file cannot be read, or this system cannot keep its process from reading
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
    sees = file.resolve().parent if suffix in _WITH_FILES_BESIDE else file.resolve()
    (vertices, faces), notes = _read_apart(file, sees, "store_mesh", ("vertices", "faces"))
    return vertices, faces, notes


def read_panorama(file: Path) -> np.ndarray:
    """Linear light of a panorama, float32, at most [512, 1024, 3], top row first; read as in
    `read_file`."""
    try:
        (pixels,), _ = _read_apart(file, file.resolve(), "store_panorama", ("pixels",))
    except UserError as error:
        raise UserError(f"Cannot import {file}: {error.message}") from None
    return pixels


def _read_apart(
    file: Path, sees: Path, reader: str, names: tuple[str, ...]
) -> tuple[list[np.ndarray], list[str]]:
    """Read a file with the function `reader` of mesh_reader.py in a process that sees only `sees`.

    Returns the arrays `names` and the notes that the function yields.
    """
    function = f"generator.render.blender.mesh_reader:{reader}"
    with tempfile.TemporaryDirectory(prefix="jackalope-") as scratch:
        out = Path(scratch) / "read.npz"
        items = read_bounded(
            function,
            [file.resolve()],
            sees=[sees],
            bounds=_BOUNDS,
            writes=[Path(scratch)],
            out=str(out),
        )
        notes = [note for _, note in items]
        return read_npz(out, names), notes


def write_panorama(folder: Path, name: str, pixels: np.ndarray, notes: dict[str, Any]) -> None:
    """Write a panorama [h, w, 3] of linear light and its notes; overwrites an asset of that
    name."""
    import OpenEXR  # installed with the extra render

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.npz").unlink(missing_ok=True)
    with draft_of(folder / f"{name}.exr") as draft:
        header = {"compression": OpenEXR.DWAB_COMPRESSION, "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, {"RGB": np.clip(pixels, 0, _MOST_LIGHT).astype(np.float16)}).write(
            str(draft)
        )
    write_json(folder / f"{name}.json", notes)


def cleaned(
    vertices: np.ndarray, faces: np.ndarray, facing: str, up: str
) -> tuple[UnitMesh, list[str]]:
    """Turn `vertices` [n, 3] and triangles `faces` [m, 3] into a unit mesh
    (`generator.assets.shapes.unit_mesh`).

    Rotates `facing` to +x and `up` to +z (both keys of DIRECTIONS), merges duplicate vertices,
    orients faces outward, and splits vertices at sharp edges. Also returns a sentence for each
    repair that the user should know of. Raises UserError if both directions lie on one axis, a
    coordinate is not finite, or the mesh has no area.
    """
    import trimesh  # takes a while to load

    if facing[-1] == up[-1]:
        raise UserError(
            f"--facing {facing} and --up {up} lie on one axis; choose two directions at right "
            f"angles."
        )
    used, faces = np.unique(
        faces, return_inverse=True
    )  # loose vertices would count in the mesh's size
    vertices, faces = np.asarray(vertices, np.float64)[used], faces.reshape(-1, 3)
    if not np.isfinite(vertices).all():
        raise UserError(NOT_FINITE)
    ahead, top = DIRECTIONS[facing], DIRECTIONS[up]
    turned = vertices @ np.array([ahead, np.cross(top, ahead), top], np.float64).T
    mesh = trimesh.Trimesh(_of_unit_size(turned), faces, process=False)
    mesh.merge_vertices(digits_vertex=_MERGE_DIGITS)
    mesh.update_faces(mesh.nondegenerate_faces() & mesh.unique_faces())
    mended = []
    if len(mesh.faces) > MAX_TRIANGLES:
        mended.append(f"its {len(mesh.faces):,} triangles were decimated to {MAX_TRIANGLES:,}")
        mesh = mesh.simplify_quadric_decimation(face_count=MAX_TRIANGLES)
    if mesh.area < _LEAST_AREA:
        raise UserError(
            "all its faces are lines or points, so there is nothing to show: export the mesh again."
        )
    mesh.fix_normals(multibody=True)
    mesh = trimesh.graph.smooth_shade(
        mesh, angle=_SHARP_ANGLE, facet_minarea=None
    )  # splits vertices at sharp edges
    stored = _of_unit_size(mesh.vertices).astype(np.float32)
    return UnitMesh(stored.tolist(), mesh.faces.tolist()), mended


def _of_unit_size(points: Array) -> Array:
    """Points [n, 3] centred over the origin on z = 0 and scaled to radius 1 or height 2, whichever
    is reached first."""
    low, high = points.min(axis=0), points.max(axis=0)
    moved = points - ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2])
    size = max(np.hypot(moved[:, 0], moved[:, 1]).max(), moved[:, 2].max() / 2)
    return np.asarray(moved / size if size else moved)


def _check_name(name: str, assets: str, replace: bool) -> Path:
    """Returns the set's folder. Raises UserError if a mesh of that name cannot be written there."""
    folder = set_folder(assets)
    if not NAME.fullmatch(name):
        raise UserError(
            f"Expected --name in lower-case letters, digits, - and _, such as pug or toy_car, got "
            f"'{name}'."
        )
    if name in SHAPES:
        raise UserError(f"--name {name} is a shape, which takes precedence; choose another name.")
    if any((folder / f"{name}{suffix}").exists() for suffix in (".npz", ".exr")) and not replace:
        raise UserError(
            f"The asset set '{assets}' has an asset '{name}'; add --replace, or choose another "
            f"--name."
        )
    check_output(folder, "set JACKALOPE_ASSETS to another folder")
    return folder


def check_file(file: Path) -> None:
    """Raises UserError if the file is missing, empty, too large, or of an unsupported format."""
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
