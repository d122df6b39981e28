"""Exports are opened by the libraries they are made for."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset
from PIL import Image

from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.resources import resource
from generator.exports.clevr import check_family
from generator.exports.hf import export_hf
from generator.exports.samples import Samples
from generator.exports.webdataset import export_webdataset
from generator.vocabulary.schema import parse_vocabulary
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


@pytest.fixture(scope="module")
def as_clevr(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("clevr") / "out"
    done = run_command("gen", "export", "clevr", rendered, "--out", out, "--date", "2026-01-01")
    assert done.returncode == 0, done.stderr
    return out


def scenes_of(folder: Path, split: str) -> dict[str, Any]:
    found = json.loads((folder / "scenes" / f"CLEVR_{split}_scenes.json").read_text())
    assert isinstance(found, dict)
    return found


def test_clevr_scene_files_have_its_fields(rendered: Path, as_clevr: Path) -> None:
    world, benchmark = Dataset.open(rendered).world, Dataset.open(rendered).benchmark()
    for split, n in benchmark.manifest["scenes"].items():
        found = scenes_of(as_clevr, split)
        assert found["info"] == {"date": "2026-01-01", "version": "1.0", "license": "", "split": split}
        ids = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == split]
        assert len(found["scenes"]) == len(ids) == n
        for i, (scene, scene_id) in enumerate(zip(found["scenes"], sorted(ids), strict=True)):
            name = f"CLEVR_{split}_{i:06d}.png"
            assert (scene["split"], scene["image_index"], scene["image_filename"]) == (split, i, name)
            assert set(scene) == {"split", "image_index", "image_filename", "objects", "directions", "relationships"}
            assert (as_clevr / "images" / split / name).read_bytes() == world.read(f"images/{scene_id}.png")
            for thing in scene["objects"]:
                assert set(thing) == {
                    "shape", "size", "material", "color", "3d_coords", "rotation", "pixel_coords",
                }  # fmt: skip


def test_clevr_poses_and_relationships_are_those_of_the_record(rendered: Path, as_clevr: Path) -> None:
    """Recomputed with a look-at matrix of numpy, CLEVR's rule, and the recorded boxes."""
    opened = Dataset.open(rendered)
    rows = {row["scene_id"]: row for row in opened.world.scenes.to_pylist()}
    for split in ("train", "unseen"):
        ids = sorted(row["scene_id"] for row in opened.benchmark().splits.to_pylist() if row["split"] == split)
        for scene, scene_id in zip(scenes_of(as_clevr, split)["scenes"], ids, strict=True):
            record, width, height = (
                json.loads(rows[scene_id]["scene"]),
                rows[scene_id]["width"],
                rows[scene_id]["height"],
            )
            eye, target = (np.array(record["camera"][name]) for name in ("position", "target"))
            ahead = (target - eye) / np.linalg.norm(target - eye)
            right = np.cross(ahead, (0, 0, 1)) / np.linalg.norm(np.cross(ahead, (0, 0, 1)))
            behind = np.cross((0, 0, 1), right)
            expected = {"right": right, "left": -right, "behind": behind, "front": -behind, "above": (0, 0, 1), "below": (0, 0, -1)}  # fmt: skip
            assert set(scene["directions"]) == set(expected)
            for name, direction in expected.items():
                assert np.allclose(scene["directions"][name], direction)
            places = [np.array(thing["3d_coords"]) for thing in scene["objects"]]
            for thing, given, shown in zip(scene["objects"], record["objects"], rows[scene_id]["objects"], strict=True):
                assert {"shape": given["category"], **given["attributes"]} == {
                    key: thing[key] for key in ("shape", "size", "material", "color")
                }
                assert thing["3d_coords"][:2] == given["position"][:2]
                turn = thing["rotation"] - np.degrees(given["heading"])
                assert abs(turn / 360 - round(turn / 360)) < 1e-9
                assert 0 <= thing["rotation"] < 360
                ray = np.array(thing["3d_coords"]) - eye
                depth = ray @ ahead
                focal = record["camera"]["lens"] / record["camera"]["sensor"] * max(width, height)
                column = width / 2 + focal * (ray @ right) / depth
                row = height / 2 - focal * (ray @ np.cross(right, ahead)) / depth
                px, py, far = thing["pixel_coords"]
                assert (px, py) == (round(column), round(row))
                assert far == pytest.approx(depth)
                left, top, to_right, bottom = shown["amodal_box"]
                assert abs(px - (left + to_right) / 2) < 0.15 * width
                assert top < py < bottom
            for name in ("left", "right", "front", "behind"):
                assert scene["relationships"][name] == [
                    [j for j, q in enumerate(places) if np.dot(q - p, expected[name]) > 0.2] for p in places
                ]


def test_a_split_of_clevr_alone_and_mistakes(rendered: Path, tmp_path: Path) -> None:
    done = run_command("gen", "export", "clevr", rendered, "--out", tmp_path / "one", "--split", "val")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "one" / "scenes").iterdir()] == ["CLEVR_val_scenes.json"]
    assert [path.name for path in (tmp_path / "one" / "images").iterdir()] == ["val"]
    done = run_command("gen", "export", "clevr", rendered, "--out", tmp_path / "two", "--split", "vall")
    assert (done.returncode, "has no split 'vall'; did you mean 'val'?" in done.stderr) == (2, True)
    assert not (tmp_path / "two").exists()


def test_families_without_clevrs_fields_are_refused() -> None:
    text = resource("scenes/clevr.toml").read_text(encoding="utf-8").replace('category = "shape"', 'category = "thing"')
    with pytest.raises(UserError, match="those of the family 'clevr' have thing, color, material, size; export"):
        check_family(parse_vocabulary(text, "family"))


def test_licences_of_meshes_go_with_the_images(copied: Path, tmp_path: Path) -> None:
    manifest = json.loads((copied / "world" / "manifest.json").read_text())
    assets = {"set": "mine", "meshes": ["pug"], "digest": "0" * 64, "licences": {"pug": "CC BY-SA 4.0, A. Smith"}}
    manifest["request"]["assets"] = assets
    (copied / "world" / "manifest.json").write_text(json.dumps(manifest))
    dataset = Dataset.open(copied)
    samples = Samples(dataset, dataset.benchmark(None))
    export_hf(samples, "title", tmp_path / "hf")
    export_webdataset(samples, 1 << 20, tmp_path / "tars")
    for path in (tmp_path / "hf" / "README.md", tmp_path / "tars" / "LICENCE.md"):
        assert "- pug: CC BY-SA 4.0, A. Smith. Images of them are adaptations" in path.read_text()
