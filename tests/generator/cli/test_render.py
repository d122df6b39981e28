"""`gen render`: what is there is left alone; families and many objects render."""

import json
from pathlib import Path

import pytest

from generator.base.registry import resource
from generator.dataset.reader import Dataset
from tests.conftest import refuse, render_arguments, succeed

QUICK = (
    "gen render --scenes train=4,val=1,seen=1,partial=1,unseen=1 --quality draft --workers 1 --json"
)


def test_a_folder_that_holds_another_world_is_left_alone(rendered: Path) -> None:
    before = sorted(path.stat().st_mtime_ns for path in rendered.rglob("*"))
    refuse(
        "it has seed = 0, not 1; choose another --out", *render_arguments(rendered, "--seed", "1")
    )
    assert before == sorted(path.stat().st_mtime_ns for path in rendered.rglob("*"))


@pytest.mark.full
def test_a_family_of_ones_own_renders(tmp_path: Path) -> None:
    text = resource("scenes/clevr.toml").read_text().replace('name = "clevr"', 'name = "teal"')
    own = text.replace("gray = { linear = [62, 62, 62]", "teal = { linear = [10, 120, 110]")
    (tmp_path / "teal.toml").write_text(own)
    done = succeed(f"{QUICK} --family teal.toml --resolution 32x32 --block-seed 2", cwd=tmp_path)
    assert json.loads(done.stdout)["dataset"] == "teal-3x3-b2-s0-32x32"
    assert "8 images of 32x32 (draft) into teal-3x3-b2-s0-32x32, about" in done.stderr
    succeed("gen verify", tmp_path / "teal-3x3-b2-s0-32x32")


@pytest.mark.full
def test_scenes_of_many_objects_render(tmp_path: Path) -> None:
    done = succeed(f"{QUICK} --family clevr-many --objects 3..10 --resolution 64x48", cwd=tmp_path)
    root = tmp_path / json.loads(done.stdout)["dataset"]
    assert root.name == "clevr-many-n3-10-3x3-b0-s0-64x48"
    assert "8 images of 64x48 (draft, 3..10 objects each)" in done.stderr
    rows = Dataset.open(root).world.scenes.to_pylist()
    assert {row["status"] for row in rows} == {"ok"}
    assert {len(row["objects"]) for row in rows} <= set(range(3, 11))
    assert all(
        0 < len(row["relations"]) <= 2 * len(row["objects"]) * (len(row["objects"]) - 1)
        for row in rows
    )
    assert "| objects in a scene | 3..10 |" in (root / "README.md").read_text()
    succeed("gen verify", root)
