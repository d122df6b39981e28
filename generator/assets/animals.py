"""The built-in animals: declared in `blender_assets/animals`, built when they are first asked for, kept on disk."""

import os
import tempfile
import zipfile
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from generator.assets import skeleton
from generator.assets.shapes import UnitMesh
from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.resources import resource

KEPT = ("vertices", "normals", "faces")


def animal_names() -> list[str]:
    """Names of all built-in animals, sorted."""
    return sorted(path.stem for path in resource("blender_assets/animals").glob("*.toml"))


@cache
def build_animal(name: str | Path) -> UnitMesh:
    """The mesh of a built-in animal, or of the one that a TOML file declares (docs/animals.md): of unit size and facing
    +X as in `generator.assets.shapes.unit_mesh`, closed, all of triangles, and symmetric about the plane y = 0.

    Raises UserError for an unknown name, and for a declaration that is not valid.
    """
    if isinstance(name, str) and name not in animal_names():
        raise UserError(f"There is no built-in animal '{name}'; {did_you_mean(name, animal_names())}")
    path = resource(f"blender_assets/animals/{name}.toml") if isinstance(name, str) else name
    declared = skeleton.load_skeleton(path)
    kept = user_cache_path("jackalope") / "animals" / f"{path.stem}-{_key(path)}.npz"
    arrays = _read(kept)
    if arrays is None:
        from generator.assets.sculpt import sculpt  # takes a second to import, and is seldom needed

        arrays = sculpt(declared)
        _keep(kept, arrays)
    vertices, normals, faces = arrays
    return UnitMesh([*map(tuple, vertices.tolist())], [*map(tuple, normals.tolist())], faces.tolist())


def animal_key(name: str) -> str:
    """What the mesh of a built-in animal follows from, as hexadecimal digits: the same on every machine, unlike the last
    bits of its vertices."""
    return _key(resource(f"blender_assets/animals/{name}.toml"))


def _key(path: Path) -> str:
    """Changes with the declaration and with the code that builds it."""
    sources = [path, *(Path(__file__).with_name(f"{module}.py") for module in ("skeleton", "tubes", "field", "sculpt"))]
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def _read(kept: Path) -> tuple[np.ndarray, ...] | None:
    """Arrays of an earlier build, unless there are none or the file is damaged."""
    try:
        with np.load(kept, allow_pickle=False) as arrays:
            return tuple(arrays[name] for name in KEPT)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _keep(kept: Path, arrays: tuple[np.ndarray, ...]) -> None:
    """Keep a build for the next process, as a whole or not at all; without a writable cache each process builds anew."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=kept.parent, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **dict(zip(KEPT, arrays, strict=True)))
        os.replace(partial, kept)
    except OSError:
        return
