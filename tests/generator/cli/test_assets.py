"""`gen assets`: sets are listed, meshes are imported."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import succeed


def test_the_built_in_set_is_listed_with_its_licence() -> None:
    builtin = json.loads(succeed("gen assets list --json").stdout)["builtin"]
    line = succeed("gen assets list --set builtin").stdout
    assert line == f"builtin ({builtin['licence']}): {', '.join(builtin['meshes'])}\n"
    assert "fox" in builtin["meshes"]


@pytest.mark.full
def test_an_obj_whose_z_points_up_is_imported_upright(tmp_path: Path, sets: Path) -> None:
    points = ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, 4))
    sides = ("1 2 3 4", "1 2 5", "2 3 5", "3 4 5", "4 1 5")
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {side}" for side in sides]
    (tmp_path / "spire.obj").write_text("\n".join(lines) + "\n")
    succeed("gen assets import spire.obj --name spire --up z --facing -x", cwd=tmp_path)
    assert json.loads((sets / "mine" / "spire.json").read_text())["facing"] == "-x"
    vertices = np.load(sets / "mine" / "spire.npz")["vertices"]
    assert np.abs(vertices[vertices[:, 2] > 1.99][:, :2]).max() < 1e-4
