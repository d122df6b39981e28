"""The export for `datasets`, opened by that library."""

import io
from pathlib import Path

import pytest
from PIL import Image

from generator.dataset.reader import Dataset
from tests.conftest import run_command
from tests.generator.exports.texts import texts_of


def test_load_dataset_opens_the_export(rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_command("gen", "export", "hf", rendered, "--out", tmp_path / "hf")
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    opened = Dataset.open(rendered)
    benchmark = opened.benchmark()
    loaded = datasets.load_dataset(str(tmp_path / "hf"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == benchmark.manifest["scenes"]
    split_of = dict(zip(benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True))
    for split in ("train", "unseen"):
        row = loaded[split][3]
        assert split_of[row["scene_id"]] == split
        assert row["image"].tobytes() == opened.world.image(row["scene_id"]).tobytes()
        assert {True: set(row["captions"]), False: set(row["negatives"])} == texts_of(benchmark, row["scene_id"])


def test_images_in_the_export_are_the_bytes_of_the_world(rendered: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    assert run_command("gen", "export", "hf", rendered, "--out", tmp_path / "hf").returncode == 0
    world = Dataset.open(rendered).world
    row = pq.read_table(tmp_path / "hf" / "data" / "val-00000.parquet").to_pylist()[0]
    assert row["image"]["bytes"] == world.image_path(row["scene_id"]).read_bytes()
    with Image.open(io.BytesIO(row["image"]["bytes"])) as image:
        assert image.size == (64, 64)
