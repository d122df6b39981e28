"""What exports have in common: whole folders, licences."""

import json
import os
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from generator.exports.huggingface import Publication, export_hf
from generator.exports.training import Samples, export_webdataset
from tests.conftest import refuse
from tests.generator.judge.datasets import edit


@pytest.mark.parametrize("command", ["hf", "webdataset"])
def test_an_export_appears_whole_or_not_at_all(copied: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary").write_text("dear diary")
    refuse("is there already", "gen export", command, copied, "--out", tmp_path / "full")
    assert os.listdir(tmp_path / "full") == ["diary"]
    scene = Dataset.open(copied).benchmark().splits["scene_id"][170].as_py()
    Dataset.open(copied).world.image_path(scene).write_bytes(b"")
    refuse(
        f"{scene}.png is damaged or missing",
        "gen export",
        command,
        copied,
        "--out",
        tmp_path / "damaged",
    )
    assert sorted(os.listdir(tmp_path)) == ["dataset", "full"]


def test_licences_of_meshes_go_with_the_images(copied: Path, tmp_path: Path) -> None:
    manifest = json.loads((copied / "world" / "manifest.json").read_text())
    assets = {
        "set": "mine",
        "meshes": ["pug"],
        "digest": "0" * 64,
        "licences": {"pug": "CC BY-SA 4.0, A. Smith"},
    }
    manifest["request"]["assets"] = assets
    (copied / "world" / "manifest.json").write_text(json.dumps(manifest))
    dataset = Dataset.open(copied)
    export_hf(dataset, dataset.benchmark(), about=Publication("title"), out=tmp_path / "hf")
    export_webdataset(Samples(dataset, dataset.benchmark()), size=1 << 20, out=tmp_path / "tars")
    for path in (tmp_path / "hf" / "README.md", tmp_path / "tars" / "LICENCE.md"):
        assert "- pug: CC BY-SA 4.0, A. Smith. Images of them are adaptations" in path.read_text()


@pytest.mark.parametrize("command", ["hf", "webdataset", "clevr"])
def test_a_split_that_names_another_folder_is_not_exported(
    copied: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "private").mkdir()
    name = {"split": "../../../private"}
    edit(
        next((copied / "benchmarks").iterdir()),
        "splits",
        lambda rows: [row.update(name) for row in rows],
    )
    refuse(
        "splits.parquet has the split",
        "gen export",
        command,
        copied,
        "--out",
        tmp_path / "a" / "b" / "out",
    )
    assert list((tmp_path / "private").iterdir()) == []
    assert not (tmp_path / "a" / "b" / "out").exists()
