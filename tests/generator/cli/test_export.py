"""`gen export`: scenes by split are printed; a folder that is there is left alone."""

import json
from pathlib import Path

import pytest

from tests.conftest import run_command


def test_scenes_are_counted_by_split(rendered: Path, tmp_path: Path) -> None:
    done = run_command("gen", "export", "webdataset", rendered, "--out", tmp_path / "tars", "--json")
    assert done.returncode == 0, done.stderr
    scenes = {"train": 110, "val": 4, "seen": 20, "partial": 20, "unseen": 20}
    assert json.loads(done.stdout) == {"out": str(tmp_path / "tars"), "scenes": scenes}
    assert done.stderr == "Scenes: train 110, val 4, seen 20, partial 20, unseen 20.\n"


@pytest.mark.parametrize("form", ["hf", "webdataset", "clevr"])
def test_a_folder_that_is_there_is_left_alone(rendered: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    done = run_command("gen", "export", form, rendered, "--out", tmp_path)
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_wrong_size_is_refused(rendered: Path, tmp_path: Path) -> None:
    done = run_command("gen", "export", "webdataset", rendered, "--out", tmp_path / "x", "--size", "big")
    assert done.returncode == 2
    assert "Expected a size such as 256MB" in done.stderr
