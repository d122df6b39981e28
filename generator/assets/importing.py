"""Imports a file of the user into an asset set: a mesh, which it cleans, or a panorama, which it makes small."""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.assets.animals import build_animal
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
_Y_UP = (".obj", ".gltf", ".glb")  # formats in which y points up and most meshes face z; in others z and -y
_MOST_BYTES = 1 << 30
_BOUNDS = Bounds(8 << 30, 600.0)
_LEADING_ELSEWHERE = (".blend", ".fbx")  # Blender follows what such a file names
_MOST_LIGHT = 32000.0  # of a panorama's channel, which half precision holds
_MERGE_DIGITS = 5  # vertices that are equal to so many decimal places are one, in units of a unit mesh
_LEAST_AREA = 1e-4  # of a mesh of unit size
_SHARP_ANGLE = math.radians(60)  # edges bent more than this stay sharp

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Imported:
    """An imported mesh or panorama: its file, and a sentence for each repair."""

    path: Path
    mended: list[str]


def import_asset(
    file: Path, name: str, assets: str, licence: str, facing: str | None, up: str | None, replace: bool
) -> Imported:
    """Import the meshes of `file`, joined, or its panorama, as `name` into the set `assets`.

    `facing` and `up` are directions of the file as in `cleaned`; None are those that are usual in its format. A TOML
    file declares an animal (docs/animals.md), for which both are known. Raises UserError where the name is invalid, or
    taken without `replace`, and where the file holds no mesh that can be shown; the set stays as it was then.
    """
    folder = _check_name(name, assets, replace)
    check_file(file)
    mended: list[str] = []
    notes = {"licence": licence, "source": file.name, "sha256": sha256(file)}
    if file.suffix.lower() in PANORAMAS:
        write_panorama(folder, name, read_panorama(file), notes)
        return Imported(folder / f"{name}.exr", mended)
    if file.suffix.lower() == ".toml":
        mesh, facing, up = build_animal(file), "x", "z"
    else:
        usual = ("z", "y") if file.suffix.lower() in _Y_UP else ("-y", "z")
        facing, up = facing or usual[0], up or usual[1]
        try:
            mesh, mended = cleaned(*read_file(file), facing, up)
        except UserError as error:
            raise UserError(f"Cannot import {file}: {error.message}") from None
    write_asset(folder, name, mesh, {**notes, "facing": facing, "up": up})
    return Imported(folder / f"{name}.npz", mended)


def read_file(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [n, 3] and triangles [m, 3] of a mesh file, read in a process that sees only the folder of the file.
    Raises UserError."""
    if file.suffix.lower() in _LEADING_ELSEWHERE and not can_confine():
        raise UserError(
            "such a file can name others anywhere, and this system cannot keep Blender from reading them: export the "
            "mesh as .glb, or import it on Linux 5.13 or later."
        )
    vertices, faces = _read_apart(file, "store_mesh", ("vertices", "faces"))
    return vertices, faces


def read_panorama(file: Path) -> np.ndarray:
    """Linear light float32 [512, 1024, 3] of a panorama, or smaller, top row first, read as in `read_file`."""
    try:
        (pixels,) = _read_apart(file, "store_panorama", ("pixels",))
    except UserError as error:
        raise UserError(f"Cannot import {file}: {error.message}") from None
    return pixels


def _read_apart(file: Path, reader: str, names: tuple[str, ...]) -> list[np.ndarray]:
    """The arrays that a function of mesh_reader.py makes of a file."""
    file = file.resolve()
    with tempfile.TemporaryDirectory(prefix="jackalope-") as scratch:
        out, function = Path(scratch) / "read.npz", f"generator.render.blender.mesh_reader:{reader}"
        list(read_bounded(function, [file], [file.parent], _BOUNDS, writes=[Path(scratch)], out=str(out)))
        return read_npz(out, names)


def write_panorama(folder: Path, name: str, pixels: np.ndarray, notes: dict[str, Any]) -> None:
    """Write a panorama [h, w, 3] of linear light and its notes; an asset of that name is replaced."""
    import OpenEXR  # of the extra render

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.npz").unlink(missing_ok=True)
    with draft_of(folder / f"{name}.exr") as draft:
        header = {"compression": OpenEXR.DWAB_COMPRESSION, "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, {"RGB": np.clip(pixels, 0, _MOST_LIGHT).astype(np.float16)}).write(str(draft))
    write_json(folder / f"{name}.json", notes)


def cleaned(vertices: np.ndarray, faces: np.ndarray, facing: str, up: str) -> tuple[UnitMesh, list[str]]:
    """A unit mesh (`generator.assets.shapes.unit_mesh`) of `vertices` [n, 3] and triangles `faces` [m, 3].

    Turned so that its direction `facing` becomes +x and `up` +z (two of DIRECTIONS), with double vertices merged, faces
    turned outward, and at sharp edges a vertex for each side. Also returns a sentence for each repair that the user
    should know of. Raises UserError where the directions are of one axis, where a coordinate is not finite, and where
    there is nothing to show.
    """
    import trimesh  # takes a while to load

    if facing[-1] == up[-1]:
        raise UserError(f"--facing {facing} and --up {up} are of one axis; choose two that are at right angles.")
    used, faces = np.unique(faces, return_inverse=True)  # loose vertices would count in the mesh's size
    vertices, faces = np.asarray(vertices, np.float64)[used], faces.reshape(-1, 3)
    if not np.isfinite(vertices).all():
        raise UserError(
            "it has coordinates that are not finite numbers: mend them in the program that made it, and export it "
            "again."
        )
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
        raise UserError("all its faces are lines or points, so there is nothing to show: export the mesh again.")
    mesh.fix_normals(multibody=True)
    mesh = trimesh.graph.smooth_shade(mesh, angle=_SHARP_ANGLE, facet_minarea=None)  # splits vertices at sharp edges
    stored = _of_unit_size(mesh.vertices).astype(np.float32)
    return UnitMesh(stored.tolist(), mesh.faces.tolist()), mended


def _of_unit_size(points: Array) -> Array:
    """Points [n, 3] scaled and moved: over the origin on z = 0, to radius 1 or height 2, whichever is met first."""
    low, high = points.min(axis=0), points.max(axis=0)
    moved = points - ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2])
    size = max(np.hypot(moved[:, 0], moved[:, 1]).max(), moved[:, 2].max() / 2)
    return np.asarray(moved / size if size else moved)


def _check_name(name: str, assets: str, replace: bool) -> Path:
    """The folder of the set. Raises UserError where no mesh can have that name there."""
    folder = set_folder(assets)
    if not NAME.fullmatch(name):
        raise UserError(
            f"Expected --name in lower-case letters, digits, - and _, such as pug or toy_car, got '{name}'."
        )
    if name in SHAPES:
        raise UserError(f"--name {name} is a shape, which would be found first; choose another.")
    if any((folder / f"{name}{suffix}").exists() for suffix in (".npz", ".exr")) and not replace:
        raise UserError(f"The asset set '{assets}' has an asset '{name}'; add --replace, or choose another --name.")
    check_output(folder, "set JACKALOPE_ASSETS to another folder")
    return folder


def check_file(file: Path) -> None:
    """Raises UserError where the file is missing, empty, too large, or of a format that is not read."""
    if not file.is_file():
        reason = "it is not a file" if file.exists() else "there is no such file"
        raise UserError(f"Cannot import {file}: {reason}; give a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file.")
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"Cannot import {file}: '{file.suffix}' is not a format that is read; "
            f"{did_you_mean(suffix, list(SUFFIXES))}"
        )
    limits.check_file(file, _MOST_BYTES)
    if file.stat().st_size == 0:
        raise UserError(f"Cannot import {file}: it is empty; export the mesh again.")
