"""`gen plan`, what `--power` tells, and `gen render` of a plan: the same files as one command
makes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.conftest import FEW, refuse, run_process, succeed
from tests.generator.cli.test_split import contents
from tests.generator.render.digests import files

CHEAP = ["--quality", "draft", "--device", "cpu", "--workers", "1"]
PLANNED = [*FEW, "--resolution", "64x64"]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is planned and not rendered. Not to be changed."""
    root = tmp_path_factory.mktemp("planned") / "world"
    succeed("gen plan", *PLANNED, "--out", root)
    return root


def test_a_plan_says_what_it_holds_and_how_to_go_on(planned: Path) -> None:
    done = succeed("gen plan --json", *PLANNED, "--out", planned)
    counts = {"partial": 4, "seen": 4, "train": 14, "unseen": 4, "val": 2}
    assert json.loads(done.stdout) == {"dataset": str(planned), "scenes": counts}
    assert "Held out: color" in done.stderr
    assert f"Next: gen render {planned}" in done.stderr
    assert [path.name for path in planned.rglob("*") if path.is_file()] == ["plan.parquet"]
    refuse("is unfinished", "gen verify", planned)


def test_planning_needs_no_blender(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys; sys.modules['bpy'] = None  # as if it were not installed"
    )
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
    monkeypatch.setattr(
        "generator.plan.minimal_pairs.plan_with_twins", lambda *_: pytest.fail("planned again")
    )
    for _ in range(2):
        succeed("gen render", root, *CHEAP)
        assert files(root) == files(undisturbed)
    refuse(
        "holds another world: it has quality", "gen render --device cpu --quality standard", root
    )


@pytest.mark.full
def test_shards_of_a_plan_are_merged_to_the_files_of_one_command(
    planned: Path, undisturbed: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(planned, tmp_path / "world"))
    for i in (1, 2):
        succeed("gen render", root, *CHEAP, "--shard", f"{i}/2")
    parts = [tmp_path / f"world-shard-{i}-of-2" for i in (1, 2)]
    assert [len(Dataset.open(part).world.scenes) for part in parts] == [14, 14]
    succeed("gen merge", *parts, "--out", tmp_path / "whole")
    assert files(tmp_path / "whole") == files(undisturbed)
    assert files(root) == files(planned)


def test_a_plan_is_told_without_a_world(tmp_path: Path) -> None:
    printed = succeed("gen plan --holdout 3x3 --block-seed 0..2 --power", cwd=tmp_path).stdout
    lines = printed.splitlines()
    assert lines[0].startswith(
        "color-shape-3x3, unseen: 900 scenes, 27 groups, "
    )  # three blocks together
    assert lines[1].split() == ["75%", "90%", "97%"]
    assert lines[2].strip().startswith("usual effects, one training  ±")
    for other in ("one block of 3x3", "five blocks of 3x3", "rotation of 4 turns"):
        assert f"\n{other}, unseen: 900 scenes" in printed
    assert list(tmp_path.iterdir()) == []


def test_a_design_with_several_benchmarks_is_told_for_machines() -> None:
    data = json.loads(
        succeed("gen plan --design coverage --holdout k2..3 --scenes grid --power --json").stdout
    )
    assert [design["design"] for design in data["designs"]] == ["color-shape-k2", "color-shape-k3"]
    assert data["assumed"]["effects"]["usual"]["bindings"] == 1
    for design in data["designs"]:
        assert len(design["rows"]) == 12
        assert all(0 < row["half_width"] < 0.5 for row in design["rows"])


def test_another_holdout_over_images_is_told_and_nothing_is_written(copied: Path) -> None:
    before = contents(copied)
    (design,) = json.loads(succeed("gen split --holdout 4x4 --power --json", copied).stdout)[
        "designs"
    ]
    assert (design["design"], design["split"]) == ("color-shape-4x4", "unseen")
    assert contents(copied) == before
    split_data = json.loads(succeed("gen split --holdout 4x4 --json", copied).stdout)
    assert design["scenes"] == split_data["scenes"]["unseen"]


def test_a_plan_says_in_one_line_what_it_will_tell(tmp_path: Path) -> None:
    done = succeed("gen plan --block-seed 0..1", *FEW, "--out", tmp_path / "world")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Expect: ")]
    assert "over 2 blocks together will have an interval of about ±" in line
    assert line.endswith("Too wide for a paper: use a rotation or more blocks.")


def test_a_rotation_has_one_line_for_all_turns(tmp_path: Path) -> None:
    done = succeed(
        "gen plan --holdout turns=4 --scenes train=600,val=40,partial=60,unseen=120 --out",
        tmp_path / "world",
    )
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Expect: ")]
    assert "combinations: unseen accuracy of 75% over 4 turns together will have" in line
    assert "with two trainings of each turn" in line


@pytest.mark.parametrize(
    "wrong", ["--holdout grey:cube", "--objects 11", "--scenes x", "--resolution 3by4"]
)
@pytest.mark.parametrize("command", ["plan", "render"])
def test_a_wrong_option_is_refused_before_anything_heavy_is_loaded(
    command: str, wrong: str
) -> None:
    code = (
        "import sys; from generator.cli.main import main\n"
        f"try: main({['gen', command, *wrong.split()][1:]!r})\n"
        "except SystemExit as ended:\n"
        "    print(ended.code, sorted({'scipy.optimize', 'networkx', 'jinja2'} & "
        "sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"


def test_an_impossible_number_of_objects_is_refused_from_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No scene is drawn for it; drawing took 600 attempts and many seconds."""
    draws: list[str] = []
    monkeypatch.setattr(
        "generator.plan.drafts.draft_scenes",
        lambda rule, split, **rest: draws.append(split) or iter(()),
    )
    options = WorldOptions(family="clevr-many", holdout="2x2", objects="3..5", scenes=400)
    prepared = prepare(options)
    with pytest.raises(UserError, match="no scene of 3 objects for the split unseen"):
        _ = prepared.planned
    assert not draws
