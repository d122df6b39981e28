"""Names of meshes: shapes first, then the world's asset set."""

from pathlib import Path

import pytest

from generator.assets.animals import build_animal
from generator.assets.sets import asset_request, check_assets, find_mesh, mesh_height, unknown_mesh
from generator.assets.shapes import unit_mesh
from generator.base.errors import UserError
from generator.dataset.licences import OWN


def test_a_name_is_a_shape_or_a_mesh_of_the_set() -> None:
    assert find_mesh("cube", "builtin") == unit_mesh("cube")
    assert find_mesh("fox", "builtin") == build_animal("fox")
    assert mesh_height("sphere", "builtin") == pytest.approx(2)


def test_unknown_names_of_the_built_in_set_are_named(sets: Path) -> None:
    assert unknown_mesh(["cube", "fox", "mine/anything"], "builtin") is None
    assert unknown_mesh(["cube", "foxx"], "builtin") == "there is no shape 'foxx'; did you mean 'fox'?"
    assert unknown_mesh(["foxx"], "not-installed") is None


def test_a_record_of_the_built_in_meshes_is_checked() -> None:
    assert asset_request([], "builtin") is None
    recorded = asset_request(["fox"], "builtin")
    assert recorded is not None
    assert recorded["licences"] == {"fox": OWN}
    check_assets(recorded)
    check_assets(None)
    with pytest.raises(UserError, match="take the version of Jackalope from which those were made"):
        check_assets({**recorded, "digest": "0" * 64})
