"""Finds the mesh that a name means in a world: a shape, or else a mesh of the world's asset set."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from generator.assets.sets import BUILTIN, asset_digest, asset_licences, asset_mesh, asset_names, check_asset, located
from generator.assets.shapes import SHAPES, UnitMesh, unit_mesh
from generator.base.errors import UserError, did_you_mean


def find_mesh(name: str, assets: str) -> UnitMesh:
    """The unit mesh (see `generator.assets.shapes.unit_mesh`) of that name. Raises UserError where the set has none."""
    return unit_mesh(name) if name in SHAPES else asset_mesh(assets, name)


@cache
def mesh_height(name: str, assets: str) -> float:
    """Height of the unit mesh of that name, in its own units."""
    return max(z for _, _, z in find_mesh(name, assets).vertices)


def unknown_mesh(names: Iterable[str], assets: str) -> str | None:
    """A message about the first name that is neither a shape nor a built-in mesh; None where there is none.

    Names of other sets are checked only when a world is rendered (`check_asset`), so that a world can be read where its
    set is not installed.
    """
    for name in names:
        of, within = located(assets, name)
        if of == BUILTIN and name not in SHAPES and within not in (animals := asset_names(BUILTIN)):
            return f"there is no shape '{within}'; {did_you_mean(within, [*SHAPES, *animals])}"
    return None


def asset_request(used: Sequence[str], assets: str) -> dict[str, Any] | None:
    """The entry `assets` of a world's manifest: `set`, `meshes`, `digest`, and `licences` by mesh.

    `used` names the meshes of asset sets that the world uses; None where there are none. Raises UserError where one is not
    installed.
    """
    if not used:
        return None
    return {
        "set": assets, "meshes": list(used), "digest": asset_digest(assets, used), "licences": asset_licences(assets, used),
    }  # fmt: skip


def check_assets(recorded: Mapping[str, Any] | None) -> None:
    """Raises UserError where meshes that a manifest records (`asset_request`) are missing here or differ from it."""
    if recorded is None:
        return
    assets, used = recorded["set"], recorded["meshes"]
    for name in used:
        check_asset(assets, name)
    if (found := asset_digest(assets, used)) != recorded["digest"]:
        source = "the version of Jackalope" if assets == BUILTIN else "the files"
        raise UserError(
            f"The asset set '{assets}' has other meshes here than the recorded scenes have (digest {found[:12]}, expected "
            f"{recorded['digest'][:12]}); take {source} from which those were made."
        )
