"""`gen assets`: sets are listed; what is not there is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import run_command


def test_the_built_in_set_is_listed_with_its_licence() -> None:
    found = json.loads(run_command("gen", "assets", "list", "--json").stdout)
    assert {"meshes", "licence"} == set(found["builtin"])
    line = run_command("gen", "assets", "list", "--set", "builtin").stdout
    assert line.startswith(f"builtin ({found['builtin']['licence']}): ")
    assert set(found["builtin"]["meshes"]) <= set(line.replace("\n", "").replace(":", ",").replace(" ", "").split(","))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "--set", "biultin"], "biultin"),
        (["show", "unicorn"], "unicorn"),
        (["import", "nowhere.glb", "--name", "thing"], "nowhere.glb"),
        (["import", "nowhere.glb"], "Missing option '--name'"),
        (["install", "1ad"], "'1ad' is not '0ad'"),
    ],
)
def test_a_mistake_exits_with_2_and_writes_nothing(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run_command("gen", "assets", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_obj_whose_z_points_up_is_imported_upright(tmp_path: Path, sets: Path) -> None:
    points = ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, 4))
    sides = ("1 2 3 4", "1 2 5", "2 3 5", "3 4 5", "4 1 5")
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {side}" for side in sides]
    (tmp_path / "spire.obj").write_text("\n".join(lines) + "\n")
    done = run_command(
        "gen", "assets", "import", tmp_path / "spire.obj", "--name", "spire", "--up", "z", "--facing", "-x", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((sets / "mine" / "spire.json").read_text())["facing"] == "-x"
    vertices = np.load(sets / "mine" / "spire.npz")["vertices"]
    assert np.abs(vertices[vertices[:, 2] > 1.99][:, :2]).max() < 1e-4
