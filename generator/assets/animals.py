"""Builds animal meshes from TOML declarations (built-in: `blender_assets/animals`) and caches the
meshes on disk."""

from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path

from generator.assets.shapes import UnitMesh, read_mesh, write_mesh
from generator.assets.skeleton import Skeleton, load_skeleton
from generator.base.errors import UserError, did_you_mean
from generator.base.registry import resource

BUILDER_VERSION = 2
"""Part of every animal's digest. Increase it whenever a code change changes the meshes."""


def animal_names() -> list[str]:
    """Names of all built-in animals, sorted."""
    return sorted(path.stem for path in resource("blender_assets/animals").glob("*.toml"))


@cache
def build_animal(name: str | Path) -> UnitMesh:
    """The mesh of a built-in animal, or of the animal that a TOML file declares (docs/animals.md).

    It has the size and place of a unit mesh (`generator.assets.shapes.unit_mesh`), faces +X,
    consists of triangles, and is closed and symmetric about the plane y = 0. Raises UserError for
    an unknown name or an invalid declaration.
    """
    if isinstance(name, str) and name not in animal_names():
        raise UserError(
            f"There is no built-in animal '{name}'; {did_you_mean(name, animal_names())}"
        )
    path = _declaration(name) if isinstance(name, str) else name
    skeleton = load_skeleton(path)
    cached = user_cache_path("jackalope") / "animals" / f"{path.stem}-{_digest(skeleton)[:16]}.npz"
    with suppress(OSError, ValueError):  # there is no earlier build, or its file is damaged
        return read_mesh(cached)
    from generator.assets.sculpt import sculpt  # takes a second to import, and is seldom needed

    mesh = UnitMesh(*(array.tolist() for array in sculpt(skeleton)))
    with suppress(OSError):  # without a writable cache each process builds anew
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_mesh(cached, mesh)
    return mesh


def animal_digest(name: str) -> str:
    """SHA-256 of a built-in animal's declaration and BUILDER_VERSION, which together determine its
    mesh.

    The vertices are not hashed: their last bits differ between machines.
    """
    return _digest(load_skeleton(_declaration(name)))


def _declaration(name: str) -> Path:
    return resource(f"blender_assets/animals/{name}.toml")


def _digest(skeleton: Skeleton) -> str:
    return sha256(
        f"{BUILDER_VERSION} {skeleton.model_dump_json(exclude_unset=True)}".encode()
    ).hexdigest()
