"""`gen render`: bad input ends in one sentence with exit code 2 and nothing left behind; families and many objects
render."""

import json
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from tests.conftest import render_arguments, run_command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--holdout", "3by3"], "Expected --holdout to be values x objects such as 3x3"),
        (["--holdout", "1x3"], "the unseen split would be empty"),
        (["--holdout", "8x3"], "without a seen binding"),
        (["--family", "cleevr"], "Unknown family 'cleevr': did you mean 'clevr'?"),
        (["--family", "missing.toml"], "No such file or directory"),
        (["--scenes", "lots"], "Expected --scenes to be a number"),
        (["--scenes", "train=5,tset=3"], "Expected --scenes"),
        (["--scenes", "unseen=0"], "leaves no scene for unseen; every split needs at least one."),
        (["--scenes", "29"], "leaves no scene for val; every split needs at least one: take 30 or more."),
        (["--scenes", "3"], "every split needs at least one"),
        (["--objects", "many"], "a number from 1 to 10 or a range such as 3..10, got 'many'"),
        (["--objects", "3..11"], "a number from 1 to 10"),
        (["--objects", "0"], "a number from 1 to 10"),
        (["--objects", "5..3"], "runs backwards; write 3..5"),
        (["--objects", "1"], "nothing to evaluate; take 2 or more"),
        (
            ["--objects", "2..6", "--scenes", "40"],
            "No room for 6 objects in an image of 320x240: take fewer --objects, a family with more room",
        ),
        (["--resolution", "320"], "Expected --resolution"),
        (["--resolution", "8x8"], "16 to 4096"),
        (["--quality", "best"], "Unknown quality 'best'"),
        (["--quality", "standart"], "did you mean 'standard'?"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run_command("gen", "render", "--out", tmp_path / "out", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--seed", "-1"], ["--workers", "0"], ["--nonsense"], ["--seed", "one"]])
def test_bad_options_exit_with_2(tmp_path: Path, arguments: list[str]) -> None:
    done = run_command("gen", "render", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    done = run_command(*render_arguments(tmp_path))
    assert done.returncode == 2
    assert "holds something else than a world; choose another --out" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_holds_another_world_is_left_alone(rendered: Path) -> None:
    before = sorted(path.stat().st_mtime_ns for path in rendered.rglob("*"))
    done = run_command(*render_arguments(rendered, "--seed", "1"))
    assert done.returncode == 2
    assert "it has seed = 0, not 1; choose another --out" in done.stderr
    assert before == sorted(path.stat().st_mtime_ns for path in rendered.rglob("*"))


def test_a_family_of_ones_own_renders(tmp_path: Path) -> None:
    from generator.base.registry import resource

    text = resource("scenes/clevr.toml").read_text()
    text = text.replace('name = "clevr"', 'name = "teal"').replace(
        "gray = { linear = [87, 87, 87] }", "teal = { linear = [10, 120, 110] }"
    )
    (tmp_path / "teal.toml").write_text(text)
    done = run_command(
        "gen",
        "render",
        "--family",
        "teal.toml",
        "--scenes",
        "train=4,val=1,seen=1,partial=1,unseen=1",
        "--resolution",
        "32x32",
        "--quality",
        "draft",
        "--workers",
        "1",
        "--block-seed",
        "2",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dataset"] == "teal-3x3-b2-s0-32x32"
    assert "8 images of 32x32 (draft) into teal-3x3-b2-s0-32x32, about" in done.stderr
    assert run_command("gen", "verify", tmp_path / "teal-3x3-b2-s0-32x32").returncode == 0


def test_scenes_of_many_objects_render(tmp_path: Path) -> None:
    done = run_command(
        "gen",
        "render",
        "--family",
        "clevr-many",
        "--objects",
        "3..10",
        "--scenes",
        "train=4,val=1,seen=1,partial=1,unseen=1",
        "--resolution",
        "64x48",
        "--quality",
        "draft",
        "--workers",
        "1",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    root = tmp_path / json.loads(done.stdout)["dataset"]
    assert root.name == "clevr-many-n3-10-3x3-b0-s0-64x48"
    assert "8 images of 64x48 (draft, 3..10 objects each)" in done.stderr
    rows = Dataset.open(root).world.scenes.to_pylist()
    assert {row["status"] for row in rows} == {"ok"}
    assert {len(row["objects"]) for row in rows} <= set(range(3, 11))
    assert all(0 < len(row["relations"]) <= 2 * len(row["objects"]) * (len(row["objects"]) - 1) for row in rows)
    assert "--objects 3..10" in (root / "README.md").read_text()
    assert run_command("gen", "verify", root).returncode == 0
