"""`gen assets`: sets are listed; what is not there is refused."""

import json
from pathlib import Path

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
        (["show", "--size", "8"], "32<=x<=1024"),
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
