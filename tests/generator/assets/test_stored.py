"""Meshes in the folder of a set: what is written is read, and damage is named."""

from pathlib import Path

import numpy as np
import pytest

from generator.assets.sets import mesh_digest, read_asset, read_notes, write_asset
from generator.assets.shapes import UnitMesh
from generator.base.errors import UserError

WEDGE = UnitMesh([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.5, 1.0)], [(0.0, 0.0, 1.0)] * 3, [[0, 1, 2]])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_asset(tmp_path / "mine", "wedge", WEDGE, {"licence": "CC0"})
    read = read_asset(tmp_path / "mine", "wedge")
    assert [np.asarray(part).tolist() for part in read] == [np.asarray(part).tolist() for part in WEDGE]
    assert read_notes(tmp_path / "mine", "wedge") == {"licence": "CC0"}
    assert mesh_digest(read) == mesh_digest(WEDGE)
    assert mesh_digest(WEDGE._replace(faces=[[0, 2, 1]])) != mesh_digest(WEDGE)


@pytest.mark.parametrize(
    "mesh", [WEDGE._replace(faces=[[0, 1, 3]]), WEDGE._replace(normals=[]), WEDGE._replace(vertices=[(np.inf, 0.0, 0.0)] * 3)]
)  # fmt: skip
def test_arrays_that_are_no_mesh_are_refused(tmp_path: Path, mesh: UnitMesh) -> None:
    write_asset(tmp_path, "wedge", mesh, {})
    with pytest.raises(UserError, match=r"wedge\.npz is damaged .*; import or install 'wedge' again"):
        read_asset(tmp_path, "wedge")


def test_missing_notes_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"wedge\.json is missing"):
        read_notes(tmp_path, "wedge")
