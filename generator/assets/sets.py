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

from generator.assets.shapes import SHAPES, UnitMesh, mesh_digest, read_mesh, unit_mesh, write_mesh
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json, sha256, write_json
from generator.base.registry import resource
from generator.dataset.licences import PHOTOS, SHIPPED, UNDECLARED

BUILTIN = "builtin"
"""The set of the animals."""
PANORAMAS = "panoramas"
INSTALLABLE = ("0ad",)
"""Sets that `gen assets install` makes."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""The names of assets and sets."""


def asset_sets() -> list[str]:
    """Return the names of the available sets; the sets that come with the project are first."""
    root = _root()
    if not root.is_dir():
        return [*SHIPPED]
    own_sets = sorted(path.name for path in root.iterdir() if _is_set(path))
    return [*SHIPPED, *own_sets]


def set_folder(name: str) -> Path:
    """Return the folder of a user's set, which need not exist.

    Args:
        name: The name of the set.

    Raises:
        UserError: A user's set cannot have that name.
    """
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
    """Return the names of the meshes and panoramas of a set, sorted.

    Args:
        assets: The name of the set.

    Raises:
        UserError: The set is missing; the message has the command that installs it.
    """
    stems = sorted(path.stem for path in _files(_folder(assets)))
    names = [stem for stem in stems if NAME.fullmatch(stem)]
    if not names:
        raise UserError(f"There is no asset set '{assets}' here; {_how_to_get(assets)}")
    return names


def located(assets: str, name: str) -> tuple[str, str]:
    """Split an asset's name into set and name.

    Args:
        assets: The set of a name without a slash.
        name: NAME, or SET/NAME.

    >>> located("builtin", "fox"), located("builtin", "mine/hare")
    (('builtin', 'fox'), ('mine', 'hare'))
    """
    prefix, slash, own_name = name.partition("/")
    if slash:
        return prefix, own_name
    return assets, name


def asset_mesh(assets: str, name: str) -> UnitMesh:
    """Read a mesh of a set.

    Args:
        assets: The name of the set.
        name: The name of the mesh; SET/NAME is a mesh of another set.

    Returns:
        Triangles with the size and place of a unit mesh (`generator.assets.shapes.unit_mesh`),
        facing +x.

    Raises:
        UserError: The set or the mesh is missing or damaged.
    """
    check_asset(assets, name)
    assets, name = located(assets, name)
    return read_asset(_folder(assets), name)


def panorama_file(name: str) -> Path:
    """Return the EXR file of a panorama, twice as wide as high.

    Args:
        name: SET/NAME.

    Raises:
        UserError: The panorama is missing.
    """
    assets, own_name = located(BUILTIN, name)
    check_asset(assets, own_name)
    if not is_panorama(assets, own_name):
        raise UserError(f"'{name}' is a mesh; a photo needs a panorama (docs/worlds.md).")
    return _panorama_path(assets, own_name)


def is_panorama(assets: str, name: str) -> bool:
    """Tell whether the asset of a set is a panorama."""
    return _panorama_path(assets, name).exists()


def check_asset(assets: str, name: str) -> None:
    """Check that an asset is here.

    Args:
        assets: The name of the set.
        name: As in `asset_mesh`.

    Raises:
        UserError: The set or the asset is missing.
    """
    assets, name = located(assets, name)
    known = asset_names(assets)
    if name in known:
        return
    advice = did_you_mean(name, known)
    if assets not in (*SHIPPED, *INSTALLABLE):
        advice += f" Or: gen assets import FILE --name {name} --set {assets}"
    raise UserError(f"The asset set '{assets}' has no mesh '{name}'; {advice}")


def asset_licences(assets: str, names: Iterable[str]) -> dict[str, str]:
    """Return the licence of each asset, as one line.

    Args:
        assets: The name of the set.
        names: The names of meshes and panoramas, as in `asset_mesh`.

    >>> asset_licences("builtin", ["fox"])
    {'fox': 'Apache-2.0, part of Jackalope'}
    """
    return {name: _licence(*located(assets, name)) for name in names}


def asset_licence(assets: str) -> str:
    """Return the licences of all meshes of a set, as one line."""
    licences = asset_licences(assets, asset_names(assets)).values()
    return "; ".join(dict.fromkeys(licences))


def asset_digest(assets: str, names: Iterable[str]) -> str:
    """Return one SHA-256 for assets of a set, by which a world recognises them.

    Args:
        assets: The name of the set.
        names: The names of meshes and panoramas, as in `asset_mesh`, in any order.

    Raises:
        UserError: An asset is missing.
    """
    sha = hashlib.sha256()
    for name in sorted(set(names)):
        check_asset(assets, name)
        sha.update(f"{name} {_digest_of(assets, name)}\n".encode())
    return sha.hexdigest()


def _licence(assets: str, name: str) -> str:
    if assets == PANORAMAS:
        return PHOTOS
    notes = read_notes(_folder(assets), name)
    return str(notes.get("licence") or UNDECLARED)


def _digest_of(assets: str, name: str) -> str:
    assets, name = located(assets, name)
    folder = _folder(assets)
    if assets == BUILTIN:
        # Animals were once built from declarations, and worlds recorded the declarations' digests.
        # The meshes are the same, so their notes keep these digests.
        digest = read_notes(folder, name).get("digest")
        if digest:
            return str(digest)
    if is_panorama(assets, name):
        return sha256(_panorama_path(assets, name))
    return mesh_digest(read_asset(folder, name))


def _folder(assets: str) -> Path:
    """The folder of any set, which need not exist."""
    if assets == BUILTIN:
        return resource("blender_assets/animals")
    if assets in SHIPPED:
        return resource(f"blender_assets/{assets}")
    return set_folder(assets)


def _panorama_path(assets: str, name: str) -> Path:
    return _folder(assets) / f"{name}.exr"


def _files(folder: Path) -> list[Path]:
    """The meshes and panoramas in the folder of a set."""
    return [*folder.glob("*.npz"), *folder.glob("*.exr")]


def _root() -> Path:
    """The folder of the user's sets."""
    chosen = os.environ.get("JACKALOPE_ASSETS")
    if chosen:
        return Path(chosen)
    return user_data_path("jackalope") / "assets"


def _is_set(path: Path) -> bool:
    """Whether a folder is a set of the user."""
    can_be_named = NAME.fullmatch(path.name) is not None and path.name not in SHIPPED
    return can_be_named and path.is_dir() and bool(_files(path))


def _how_to_get(assets: str) -> str:
    """What to do about a missing set."""
    if assets in INSTALLABLE:
        return f"gen assets install {assets}"
    sets = asset_sets()
    for name in INSTALLABLE:
        if name not in sets:
            sets.append(name)
    return (
        f"{did_you_mean(assets, sets)} A set of your own: gen assets import FILE --name NAME --set "
        f"{assets}"
    )


def write_asset(folder: Path, name: str, *, mesh: UnitMesh, notes: dict[str, Any]) -> None:
    """Write a mesh and its notes; overwrites an asset of that name.

    Args:
        folder: The folder of a set; made if it is missing.
        name: The name of the asset.
        mesh: A mesh of triangles.
        notes: `licence`, `source` and more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.exr").unlink(missing_ok=True)
    write_mesh(folder / f"{name}.npz", mesh)
    write_json(folder / f"{name}.json", notes)


def read_asset(folder: Path, name: str) -> UnitMesh:
    """Read a triangle mesh.

    Args:
        folder: The folder of a set.
        name: The name of the mesh.

    Raises:
        UserError: Its file is missing or damaged.
    """
    path = folder / f"{name}.npz"
    try:
        return read_mesh(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); import or install '{name}' again.") from None


def read_notes(folder: Path, name: str) -> dict[str, Any]:
    """Read the notes of a mesh: `licence`, `source` and more.

    Args:
        folder: The folder of a set.
        name: The name of the mesh.

    Raises:
        UserError: The notes are missing or damaged.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        raise UserError(f"{path} is missing; import or install '{name}' again.")
    return read_json(path)


def find_mesh(name: str, assets: str) -> UnitMesh:
    """Return the shape or the mesh of a set of that name.

    Args:
        name: The name of a shape; else as in `asset_mesh`.
        assets: The name of the set.

    Returns:
        A unit mesh (`generator.assets.shapes.unit_mesh`).

    Raises:
        UserError: The set has no such mesh.
    """
    if name in SHAPES:
        return unit_mesh(name)
    return asset_mesh(assets, name)


@cache
def mesh_height(name: str, assets: str) -> float:
    """Return the height of a unit mesh, in its own units.

    Args:
        name: As in `find_mesh`.
        assets: The name of the set.

    >>> mesh_height("sphere", "builtin")
    2.0
    """
    return max(z for _, _, z in find_mesh(name, assets).vertices)


def unknown_mesh(names: Iterable[str], assets: str) -> str | None:
    """Return an error message for the first name that is neither a shape nor in its shipped set.

    Names in users' sets are checked only when a world is rendered (`check_asset`): a world can be
    read without its set.

    Args:
        names: Names as in `find_mesh`.
        assets: The name of the set.

    Returns:
        The message; None if every name is known.

    >>> unknown_mesh(["sphere", "wolff"], "builtin")
    "there is no shape 'wolff'; did you mean 'wolf'?"
    """
    for name in names:
        set_name, own_name = located(assets, name)
        if name in SHAPES or set_name not in SHIPPED:
            continue
        known = asset_names(set_name)
        if own_name in known:
            continue
        if set_name == PANORAMAS:
            return f"there is no panorama '{own_name}'; {did_you_mean(own_name, known)}"
        return f"there is no shape '{own_name}'; {did_you_mean(own_name, [*SHAPES, *known])}"
    return None


def asset_request(used: Sequence[str], assets: str) -> dict[str, Any] | None:
    """Return the entry `assets` of a world's manifest.

    Args:
        used: Names of the meshes and panoramas that the world uses.
        assets: The name of the world's set.

    Returns:
        `set`, `meshes`, `digest`, and `licences` by mesh; None if the world uses no asset.

    Raises:
        UserError: An asset is not installed.
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
    """Check that the assets of a recorded world are here.

    Args:
        recorded: What `asset_request` returned when the world was planned.

    Raises:
        UserError: An asset is missing here or differs.
    """
    if recorded is None:
        return
    assets, used = recorded["set"], recorded["meshes"]
    for name in used:
        check_asset(assets, name)
    digest = asset_digest(assets, used)
    if digest != recorded["digest"]:
        source = "the version of Jackalope" if assets == BUILTIN else "the files"
        raise UserError(
            f"The asset set '{assets}' here differs from the set of the recorded scenes (digest "
            f"{digest[:12]}, "
            f"expected {recorded['digest'][:12]}); use {source} that made those scenes."
        )
