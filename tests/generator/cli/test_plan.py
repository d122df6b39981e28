"""`gen plan`, and `gen render` of what it wrote: the same files as one command makes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from tests.conftest import FEW, run_command, run_process
from tests.generator.render.digests import files

CHEAP = ["--quality", "draft", "--device", "cpu", "--workers", "1"]
PLANNED = [*FEW, "--resolution", "64x64"]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is planned and not rendered. Not to be changed."""
    root = tmp_path_factory.mktemp("planned") / "world"
    done = run_command("gen", "plan", *PLANNED, "--out", root)
    assert done.returncode == 0, done.stderr
    return root


def test_a_plan_says_what_it_holds_and_how_to_go_on(planned: Path) -> None:
    done = run_command("gen", "plan", *PLANNED, "--out", planned, "--json")
    assert json.loads(done.stdout) == {
        "dataset": str(planned),
        "scenes": {"partial": 4, "seen": 4, "train": 14, "unseen": 4, "val": 2},
    }
    assert "Held out: color" in done.stderr
    assert f"Next: gen render {planned}" in done.stderr
    assert [path.name for path in planned.rglob("*") if path.is_file()] == ["plan.parquet"]
    unfinished = run_command("gen", "verify", planned)
    assert unfinished.returncode == 2
    assert "is unfinished" in unfinished.stderr


def test_planning_needs_no_blender(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['bpy'] = None  # as if it were not installed")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = run_process("gen", "plan", *PLANNED, "--out", tmp_path / "world", env=env)
    assert done.returncode == 0, done.stderr
    done = run_process("gen", "render", tmp_path / "world", *CHEAP, env=env)
    assert done.returncode == 2
    assert "pip install 'jackalope[render]'" in done.stderr


def test_a_planned_folder_is_rendered_to_the_files_of_one_command(
    planned: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(planned, tmp_path / "world"))
    monkeypatch.setattr("generator.plan.plan.plan_parts", lambda *_: pytest.fail("planned again"))
    monkeypatch.setattr("generator.plan.job.plan_parts", lambda *_: pytest.fail("planned again"))
    done = run_command("gen", "render", root, *CHEAP)
    assert done.returncode == 0, done.stderr
    assert files(root) == files(undisturbed)
    done = run_command("gen", "render", root, *CHEAP)
    assert done.returncode == 0, done.stderr
    done = run_command("gen", "render", root, *CHEAP[2:], "--quality", "standard")
    assert done.returncode == 2
    assert "holds another world: it has quality" in done.stderr


@pytest.mark.full
def test_shards_of_a_plan_are_merged_to_the_files_of_one_command(
    planned: Path, undisturbed: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(planned, tmp_path / "world"))
    for i in (1, 2):
        done = run_command("gen", "render", root, *CHEAP, "--shard", f"{i}/2")
        assert done.returncode == 0, done.stderr
    parts = [tmp_path / f"world-shard-{i}-of-2" for i in (1, 2)]
    assert [len(Dataset.open(part).world.scenes) for part in parts] == [14, 14]
    done = run_command("gen", "merge", *parts, "--out", tmp_path / "whole")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "whole") == files(undisturbed)
    assert files(root) == files(planned)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seed", "1"], "is planned already, so --seed has no effect; leave it out."),
        (["--resolution", "64x64"], "so --resolution has no effect"),
        (["--quality", "best"], "Unknown quality 'best'"),
    ],
)
def test_what_a_plan_has_answered_is_not_asked_again(planned: Path, arguments: list[str], said: str) -> None:
    done = run_command("gen", "render", planned, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert [path.name for path in planned.rglob("*") if path.is_file()] == ["plan.parquet"]


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    done = run_command("gen", "render", tmp_path, *CHEAP)
    assert done.returncode == 2
    assert "has no plan; make one with `gen plan --out" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
