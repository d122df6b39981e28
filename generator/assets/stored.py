"""Reads and writes meshes in the folder of an asset set: NAME.npz, and NAME.json with licence and source."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from generator.assets.shapes import UnitMesh
from generator.base.errors import UserError
from generator.base.files import read_json, write_bytes, write_json
from generator.base.limits import read_npz

_ARRAYS = (("vertices", np.float32), ("normals", np.float32), ("faces", np.int32))


def write_asset(folder: Path, name: str, mesh: UnitMesh, notes: dict[str, Any]) -> None:
    """Write a triangle mesh and its notes (`licence`, `source` ...) into a set's folder; a mesh of that name is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    np.savez_compressed(file, **{key: np.asarray(getattr(mesh, key), kind) for key, kind in _ARRAYS})
    write_bytes(folder / f"{name}.npz", file.getvalue())
    write_json(folder / f"{name}.json", notes)


def read_asset(folder: Path, name: str) -> UnitMesh:
    """Read a triangle mesh. Raises UserError where its file is missing or damaged."""
    path = folder / f"{name}.npz"
    try:
        stored = read_npz(path, [key for key, _ in _ARRAYS])
        vertices, normals, faces = (array.astype(kind) for array, (_, kind) in zip(stored, _ARRAYS, strict=True))
        if vertices.shape != normals.shape or vertices.shape[1:] != (3,) or faces.shape[1:] != (3,):
            raise ValueError("its arrays do not have the shapes of a triangle mesh")
        if len(faces) == 0 or faces.min() < 0 or faces.max() >= len(vertices) or not np.isfinite(vertices).all():
            raise ValueError("its faces or vertices are invalid")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); import or install '{name}' again.") from None
    return UnitMesh(vertices.tolist(), normals.tolist(), faces.tolist())


def read_notes(folder: Path, name: str) -> dict[str, Any]:
    """Read the notes of a mesh: `licence`, `source` and more. Raises UserError where they are missing or damaged."""
    path = folder / f"{name}.json"
    if not path.exists():
        raise UserError(f"{path} is missing; import or install '{name}' again.")
    return read_json(path)


def mesh_digest(mesh: UnitMesh) -> str:
    """SHA-256 of the arrays of a triangle mesh, in the types in which they are stored."""
    found = hashlib.sha256()
    for key, kind in _ARRAYS:
        array = np.ascontiguousarray(getattr(mesh, key), np.dtype(kind).newbyteorder("<"))
        found.update(f"{key}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()
