"""Exports are opened by the libraries they are made for."""

import io
import os
from pathlib import Path

import pytest
import webdataset
from PIL import Image

from generator.dataset.reader import Benchmark, Dataset
from tests.conftest import run_command


def texts_of(benchmark: Benchmark, scene_id: str) -> dict[bool, set[str]]:
    """The texts that are true and false of a scene."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for row in benchmark.candidates.to_pylist():
        if row["scene_id"] == scene_id:
            found[row["truth"]].add(benchmark.text_of[row["text_id"]])
    return found


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


def test_webdataset_opens_the_export(rendered: Path, tmp_path: Path) -> None:
    done = run_command("gen", "export", "webdataset", rendered, "--out", tmp_path / "tars", "--size", "200KB")
    assert done.returncode == 0, done.stderr
    opened = Dataset.open(rendered)
    benchmark = opened.benchmark()
    for split, n in benchmark.manifest["scenes"].items():
        tars = sorted((tmp_path / "tars" / split).iterdir())
        assert all(path.stat().st_size <= 200_000 for path in tars)
        samples = list(webdataset.WebDataset([str(path) for path in tars], shardshuffle=False).decode("pil"))
        assert len(samples) == n
        sample = samples[-1]
        shown = sample["json"]
        assert (shown["split"], shown["scene_id"]) == (split, sample["__key__"])
        assert sample["png"].tobytes() == opened.world.image(shown["scene_id"]).tobytes()
        assert sample["txt"] == shown["captions"][0]
        assert {True: set(shown["captions"]), False: set(shown["negatives"])} == texts_of(benchmark, shown["scene_id"])
    assert len(list((tmp_path / "tars" / "train").iterdir())) > 1


@pytest.mark.parametrize("command", ["hf", "webdataset"])
def test_an_export_appears_whole_or_not_at_all(copied: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary").write_text("dear diary")
    done = run_command("gen", "export", command, copied, "--out", tmp_path / "full")
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert os.listdir(tmp_path / "full") == ["diary"]
    scene = Dataset.open(copied).benchmark().splits["scene_id"][170].as_py()
    Dataset.open(copied).world.image_path(scene).write_bytes(b"")
    done = run_command("gen", "export", command, copied, "--out", tmp_path / "damaged")
    assert done.returncode == 2
    assert f"{scene}.png is damaged or missing" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["dataset", "full"]


def test_images_in_the_export_are_the_bytes_of_the_world(rendered: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    assert run_command("gen", "export", "hf", rendered, "--out", tmp_path / "hf").returncode == 0
    world = Dataset.open(rendered).world
    row = pq.read_table(tmp_path / "hf" / "data" / "val-00000.parquet").to_pylist()[0]
    assert row["image"]["bytes"] == world.image_path(row["scene_id"]).read_bytes()
    with Image.open(io.BytesIO(row["image"]["bytes"])) as image:
        assert image.size == (64, 64)
