"""Builds animals from their declarations, such as those in `blender_assets/animals`, and caches the meshes on disk."""

import io
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from generator.assets.shapes import UnitMesh
from generator.assets.skeleton import Skeleton, load_skeleton
from generator.base.errors import UserError, did_you_mean
from generator.base.files import write_bytes
from generator.base.limits import read_npz
from generator.base.registry import resource

BUILDER_VERSION = 1
"""Part of the digest of every animal. Raise it whenever a change of the code changes the meshes that it builds."""
_ARRAYS = ("vertices", "normals", "faces")


def animal_names() -> list[str]:
    """Names of all built-in animals, sorted."""
    return sorted(path.stem for path in resource("blender_assets/animals").glob("*.toml"))


@cache
def build_animal(name: str | Path) -> UnitMesh:
    """The mesh of a built-in animal, or of the animal that a TOML file declares (docs/animals.md).

    It has the size and place of a unit mesh (`generator.assets.shapes.unit_mesh`), faces +X, consists of triangles, and
    is closed and symmetric about the plane y = 0. Raises UserError for an unknown name or an invalid declaration.
    """
    if isinstance(name, str) and name not in animal_names():
        raise UserError(f"There is no built-in animal '{name}'; {did_you_mean(name, animal_names())}")
    path = _declaration(name) if isinstance(name, str) else name
    skeleton = load_skeleton(path)
    cached = user_cache_path("jackalope") / "animals" / f"{path.stem}-{_digest(skeleton)[:16]}.npz"
    arrays = _read(cached)
    if arrays is None:
        from generator.assets.sculpt import sculpt  # takes a second to import, and is seldom needed

        arrays = sculpt(skeleton)
        _write(cached, arrays)
    vertices, normals, faces = arrays
    return UnitMesh([*map(tuple, vertices.tolist())], [*map(tuple, normals.tolist())], faces.tolist())


def animal_digest(name: str) -> str:
    """SHA-256 of the declaration of a built-in animal and BUILDER_VERSION, from which its mesh follows.

    The vertices are not hashed: their last bits differ between machines.
    """
    return _digest(load_skeleton(_declaration(name)))


def _declaration(name: str) -> Path:
    return resource(f"blender_assets/animals/{name}.toml")


def _digest(skeleton: Skeleton) -> str:
    return sha256(f"{BUILDER_VERSION} {skeleton.model_dump_json(exclude_unset=True)}".encode()).hexdigest()


def _read(cached: Path) -> tuple[np.ndarray, ...] | None:
    """The arrays of an earlier build; None where there is none or its file is damaged."""
    try:
        return tuple(read_npz(cached, _ARRAYS))
    except (OSError, ValueError):
        return None


def _write(cached: Path, arrays: tuple[np.ndarray, ...]) -> None:
    """Cache a build, whole or not at all. Without a writable cache each process builds anew."""
    file = io.BytesIO()
    np.savez(file, **dict(zip(_ARRAYS, arrays, strict=True)))
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(cached, file.getvalue())
