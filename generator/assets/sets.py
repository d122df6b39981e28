"""Finds, reads and writes asset sets: named sets of meshes and panoramas. `builtin`, `things` and
`panoramas` come with the project; users install or import others.

A user's set is a folder below the user's data folder, or below $JACKALOPE_ASSETS. A world uses the
set that its vocabulary or `--assets` names, whatever else is installed.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from generator.assets.animals import animal_digest, animal_names, build_animal
from generator.assets.shapes import SHAPES, UnitMesh, mesh_digest, read_mesh, unit_mesh, write_mesh
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json, sha256, write_json
from generator.base.registry import resource
from generator.dataset.licences import OWN, PHOTOS, SHIPPED, UNDECLARED

BUILTIN = "builtin"
PANORAMAS = "panoramas"
INSTALLABLE = ("0ad",)
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def asset_sets() -> list[str]:
    """Names of the available sets; the sets that come with the project are first."""
    root = _root()
    return (
        [*SHIPPED, *sorted(path.name for path in root.iterdir() if _is_set(path))]
        if root.is_dir()
        else [*SHIPPED]
    )


def set_folder(name: str) -> Path:
    """The folder of a user's set, which need not exist. Raises UserError if a user's set cannot
    have that name."""
    if name in SHIPPED:
        raise UserError(
            f"The set '{name}' comes with the project and cannot be changed; choose another --set."
        )
    if not NAME.fullmatch(name):
        raise UserError(
            f"Expected the name of an asset set in lower-case letters, digits, - and _, such as "
            f"mine, got '{name}'."
        )
    return _root() / name


def asset_names(assets: str) -> list[str]:
    """Names of the meshes and panoramas of a set, sorted.

    Raises UserError, with the command that installs the set, if it is missing.
    """
    if assets == BUILTIN:
        return animal_names()
    names = sorted(path.stem for path in _files(_folder(assets)) if NAME.fullmatch(path.stem))
    if not names:
        raise UserError(f"There is no asset set '{assets}' here; {_how_to_get(assets)}")
    return names


def located(assets: str, name: str) -> tuple[str, str]:
    """Split an asset's name into set and name: `mine/hare` is `hare` in `mine`; a name without a
    slash is in `assets`.

    >>> located("builtin", "fox"), located("builtin", "mine/hare")
    (('builtin', 'fox'), ('mine', 'hare'))
    """
    other, slash, within = name.partition("/")
    return (other, within) if slash else (assets, name)


def asset_mesh(assets: str, name: str) -> UnitMesh:
    """A mesh of the set `assets`, or of another set as SET/NAME.

    It consists of triangles, has the size and place of a unit mesh
    (`generator.assets.shapes.unit_mesh`), and faces +x. Raises UserError if the set or the mesh is
    missing or damaged.
    """
    check_asset(assets, name)
    assets, name = located(assets, name)
    return build_animal(name) if assets == BUILTIN else read_asset(_folder(assets), name)


def panorama_file(name: str) -> Path:
    """The EXR file of the panorama SET/NAME, twice as wide as high. Raises UserError if it is
    missing."""
    assets, within = located(BUILTIN, name)
    check_asset(assets, within)
    if not is_panorama(assets, within):
        raise UserError(f"'{name}' is a mesh; a photo needs a panorama (docs/worlds.md).")
    return _panorama(assets, within)


def is_panorama(assets: str, name: str) -> bool:
    """Whether the asset of a set is a panorama."""
    return assets != BUILTIN and _panorama(assets, name).exists()


def check_asset(assets: str, name: str) -> None:
    """Raises UserError if the set or the asset is missing; `name` as in `asset_mesh`."""
    assets, name = located(assets, name)
    known = asset_names(assets)
    if name not in known:
        mend = (
            ""
            if assets in (*SHIPPED, *INSTALLABLE)
            else f" Or: gen assets import FILE --name {name} --set {assets}"
        )
        raise UserError(
            f"The asset set '{assets}' has no mesh '{name}'; {did_you_mean(name, known)}{mend}"
        )


def asset_licences(assets: str, names: Iterable[str]) -> dict[str, str]:
    """The licence of each mesh and panorama, as one line."""
    return {name: _licence(*located(assets, name)) for name in names}


def asset_licence(assets: str) -> str:
    """The licences of all meshes of a set, as one line."""
    return "; ".join(dict.fromkeys(asset_licences(assets, asset_names(assets)).values()))


def asset_digest(assets: str, names: Iterable[str]) -> str:
    """SHA-256 of assets of a set. Built-in meshes are hashed by declaration and builder version
    (`animal_digest`).

    Raises UserError if an asset is missing.
    """
    found = hashlib.sha256()
    for name in sorted(set(names)):
        check_asset(assets, name)
        found.update(f"{name} {_digest_of(assets, name)}\n".encode())
    return found.hexdigest()


def _licence(assets: str, name: str) -> str:
    if assets == PANORAMAS:
        return PHOTOS
    return (
        OWN
        if assets == BUILTIN
        else str(read_notes(_folder(assets), name).get("licence") or UNDECLARED)
    )


def _digest_of(assets: str, name: str) -> str:
    assets, name = located(assets, name)
    if assets == BUILTIN:
        return animal_digest(name)
    if is_panorama(assets, name):
        return sha256(_panorama(assets, name))
    return mesh_digest(read_asset(_folder(assets), name))


def _folder(assets: str) -> Path:
    return resource(f"blender_assets/{assets}") if assets in SHIPPED else set_folder(assets)


def _panorama(assets: str, name: str) -> Path:
    return _folder(assets) / f"{name}.exr"


def _files(folder: Path) -> list[Path]:
    """The meshes and panoramas in the folder of a set."""
    return [*folder.glob("*.npz"), *folder.glob("*.exr")]


def _root() -> Path:
    given = os.environ.get("JACKALOPE_ASSETS")
    return Path(given) if given else user_data_path("jackalope") / "assets"


def _is_set(path: Path) -> bool:
    return (
        path.is_dir()
        and NAME.fullmatch(path.name) is not None
        and path.name not in SHIPPED
        and bool(_files(path))
    )


def _how_to_get(assets: str) -> str:
    if assets in INSTALLABLE:
        return f"gen assets install {assets}"
    sets = [*asset_sets(), *(name for name in INSTALLABLE if name not in asset_sets())]
    return (
        f"{did_you_mean(assets, sets)} A set of your own: gen assets import FILE --name NAME --set "
        f"{assets}"
    )


def write_asset(folder: Path, name: str, mesh: UnitMesh, notes: dict[str, Any]) -> None:
    """Write a triangle mesh and its notes (`licence`, `source` ...) into a set's folder; overwrites
    an asset of that name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.exr").unlink(missing_ok=True)
    write_mesh(folder / f"{name}.npz", mesh)
    write_json(folder / f"{name}.json", notes)


def read_asset(folder: Path, name: str) -> UnitMesh:
    """Read a triangle mesh. Raises UserError if its file is missing or damaged."""
    path = folder / f"{name}.npz"
    try:
        return read_mesh(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); import or install '{name}' again.") from None


def read_notes(folder: Path, name: str) -> dict[str, Any]:
    """Read the notes of a mesh: `licence`, `source` and more. Raises UserError if they are missing
    or damaged."""
    path = folder / f"{name}.json"
    if not path.exists():
        raise UserError(f"{path} is missing; import or install '{name}' again.")
    return read_json(path)


def find_mesh(name: str, assets: str) -> UnitMesh:
    """The unit mesh (see `generator.assets.shapes.unit_mesh`) of that name. Raises UserError if the
    set lacks it."""
    return unit_mesh(name) if name in SHAPES else asset_mesh(assets, name)


@cache
def mesh_height(name: str, assets: str) -> float:
    """Height of the unit mesh of that name, in its own units."""
    return max(z for _, _, z in find_mesh(name, assets).vertices)


def unknown_mesh(names: Iterable[str], assets: str) -> str | None:
    """An error message for the first name that is neither a shape nor in its shipped set; None if
    there is none.

    Names in users' sets are checked only when a world is rendered (`check_asset`): a world can be
    read without its set.
    """
    for name in names:
        of, within = located(assets, name)
        if of in SHIPPED and name not in SHAPES and within not in (known := asset_names(of)):
            sort, others = ("panorama", []) if of == PANORAMAS else ("shape", [*SHAPES])
            return f"there is no {sort} '{within}'; {did_you_mean(within, [*others, *known])}"
    return None


def asset_request(used: Sequence[str], assets: str) -> dict[str, Any] | None:
    """The entry `assets` of a world's manifest: `set`, `meshes`, `digest`, and `licences` by mesh.

    `used`: names of the meshes and panoramas that the world uses. Returns None if it is empty.
    Raises UserError if an
    asset is not installed.
    """
    if not used:
        return None
    return {
        "set": assets,
        "meshes": list(used),
        "digest": asset_digest(assets, used),
        "licences": asset_licences(assets, used),
    }


def check_assets(recorded: Mapping[str, Any] | None) -> None:
    """Raises UserError if assets that a manifest records (`asset_request`) are missing here or
    differ from it."""
    if recorded is None:
        return
    assets, used = recorded["set"], recorded["meshes"]
    for name in used:
        check_asset(assets, name)
    if (found := asset_digest(assets, used)) != recorded["digest"]:
        source = "the version of Jackalope" if assets == BUILTIN else "the files"
        raise UserError(
            f"The asset set '{assets}' here differs from the set of the recorded scenes (digest "
            f"{found[:12]}, "
            f"expected {recorded['digest'][:12]}); use {source} that made those scenes."
        )
