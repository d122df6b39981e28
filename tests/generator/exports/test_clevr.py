"""The export as CLEVR's own files, recomputed with numpy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.base.errors import UserError
from generator.base.registry import resource
from generator.dataset.reader import Dataset
from generator.exports.clevr import check_family
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import succeed

ATTRIBUTES = ("shape", "size", "material", "color")


@pytest.fixture(scope="module")
def as_clevr(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("clevr") / "out"
    succeed("gen export clevr --date 2026-01-01", rendered, "--out", out)
    return out


def scenes_of(folder: Path, split: str) -> dict[str, Any]:
    return json.loads((folder / "scenes" / f"CLEVR_{split}_scenes.json").read_text())


def test_clevr_scene_files_have_its_fields(rendered: Path, as_clevr: Path) -> None:
    world, benchmark = Dataset.open(rendered).world, Dataset.open(rendered).benchmark()
    for split, n in benchmark.manifest["scenes"].items():
        scene_file = scenes_of(as_clevr, split)
        assert scene_file["info"] == {
            "date": "2026-01-01",
            "version": "1.0",
            "license": "",
            "split": split,
        }
        ids = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == split]
        assert len(scene_file["scenes"]) == len(ids) == n
        for i, (scene, scene_id) in enumerate(zip(scene_file["scenes"], sorted(ids), strict=True)):
            name = f"CLEVR_{split}_{i:06d}.png"
            assert (scene["split"], scene["image_index"], scene["image_filename"]) == (
                split,
                i,
                name,
            )
            assert set(scene) == {
                "split",
                "image_index",
                "image_filename",
                "objects",
                "directions",
                "relationships",
            }
            assert (as_clevr / "images" / split / name).read_bytes() == world.read(
                f"images/{scene_id}.png"
            )
            for obj in scene["objects"]:
                assert set(obj) == {*ATTRIBUTES, "3d_coords", "rotation", "pixel_coords"}


def test_metadata_for_the_question_generator_names_every_value_and_typed_functions(
    as_clevr: Path,
) -> None:
    metadata = json.loads((as_clevr / "metadata.json").read_text())
    types, functions = (
        metadata["types"],
        {function["name"]: function for function in metadata["functions"]},
    )
    for path in (as_clevr / "scenes").iterdir():
        for scene in json.loads(path.read_text())["scenes"]:
            assert set(scene["relationships"]) == set(types["Relation"])
            for obj in scene["objects"]:
                assert all(obj[name] in types[name.capitalize()] for name in ATTRIBUTES)
    for function in functions.values():
        assert {*function["inputs"], *function.get("side_inputs", []), function["output"]} <= set(
            types
        )
    # Names, and what ends a program, as in metadata.json of clevr-dataset-gen.
    assert len(functions) == 35
    assert {name for name, function in functions.items() if function["terminal"]} == {
        *(
            "count",
            "exist",
            "equal_integer",
            "less_than",
            "greater_than",
            "equal_object",
            "filter_count",
            "filter_exist",
        ),
        *(f"{verb}_{name}" for verb in ("query", "equal") for name in ATTRIBUTES),
    }
    assert {name for name, function in functions.items() if function.get("template_only")} == {
        f"{prefix}filter{end}"
        for prefix in ("", "relate_")
        for end in ("", "_unique", "_count", "_exist")
    }


def test_clevr_poses_and_relationships_are_those_of_the_record(
    rendered: Path, as_clevr: Path
) -> None:
    """Recomputed with a look-at matrix of numpy, CLEVR's rule, and the recorded boxes."""
    opened = Dataset.open(rendered)
    rows = {row["scene_id"]: row for row in opened.world.scenes.to_pylist()}
    for split in ("train", "unseen"):
        ids = sorted(
            row["scene_id"]
            for row in opened.benchmark().splits.to_pylist()
            if row["split"] == split
        )
        for scene, scene_id in zip(scenes_of(as_clevr, split)["scenes"], ids, strict=True):
            row = rows[scene_id]
            record, width, height = json.loads(row["scene"]), row["width"], row["height"]
            eye, target = (np.array(record["camera"][name]) for name in ("position", "target"))
            ahead = (target - eye) / np.linalg.norm(target - eye)
            right = np.cross(ahead, (0, 0, 1)) / np.linalg.norm(np.cross(ahead, (0, 0, 1)))
            behind = np.cross((0, 0, 1), right)
            expected = {
                "right": right,
                "left": -right,
                "behind": behind,
                "front": -behind,
                "above": (0, 0, 1),
                "below": (0, 0, -1),
            }
            assert set(scene["directions"]) == set(expected)
            for name, direction in expected.items():
                assert np.allclose(scene["directions"][name], direction)
            places = [np.array(obj["3d_coords"]) for obj in scene["objects"]]
            for obj, recorded, rendered_object in zip(
                scene["objects"], record["objects"], row["objects"], strict=True
            ):
                assert {"shape": recorded["category"], **recorded["attributes"]} == {
                    key: obj[key] for key in ATTRIBUTES
                }
                assert obj["3d_coords"][:2] == recorded["position"][:2]
                turn = obj["rotation"] - np.degrees(recorded["heading"])
                assert abs(turn / 360 - round(turn / 360)) < 1e-9
                assert 0 <= obj["rotation"] < 360
                ray = np.array(obj["3d_coords"]) - eye
                depth = ray @ ahead
                focal = record["camera"]["lens"] / record["camera"]["sensor"] * max(width, height)
                across, up = ray @ right / depth, ray @ np.cross(right, ahead) / depth
                px, py, far = obj["pixel_coords"]
                assert (px, py) == (
                    round(width / 2 + focal * across),
                    round(height / 2 - focal * up),
                )
                assert far == pytest.approx(depth)
                left, top, to_right, bottom = rendered_object["amodal_box"]
                assert abs(px - (left + to_right) / 2) < 0.15 * width
                assert top < py < bottom
            for name in ("left", "right", "front", "behind"):
                assert scene["relationships"][name] == [
                    [j for j, q in enumerate(places) if np.dot(q - p, expected[name]) > 0.2]
                    for p in places
                ]


def test_one_split_is_exported_alone(rendered: Path, tmp_path: Path) -> None:
    succeed("gen export clevr --split val", rendered, "--out", tmp_path / "one")
    assert [path.name for path in (tmp_path / "one" / "scenes").iterdir()] == [
        "CLEVR_val_scenes.json"
    ]
    assert [path.name for path in (tmp_path / "one" / "images").iterdir()] == ["val"]


def test_scenes_without_a_split_are_written_as_the_split_none(copied: Path, tmp_path: Path) -> None:
    """Another block leaves asymmetric scenes without a split; every image is written all the
    same."""
    succeed("gen split --holdout 4x6 --block-seed 1 --name other", copied)
    done = succeed("gen export clevr --benchmark other --json", copied, "--out", tmp_path / "out")
    opened = Dataset.open(copied)
    without = opened.benchmark("other").splits["split"].null_count
    assert json.loads(done.stdout)["scenes"]["none"] == without > 0
    images = list((tmp_path / "out" / "images").rglob("*.png"))
    assert len(images) == sum(row["status"] == "ok" for row in opened.world.scenes.to_pylist())
    assert len(scenes_of(tmp_path / "out", "none")["scenes"]) == without


def test_families_without_clevrs_fields_are_refused() -> None:
    text = (
        resource("scenes/clevr.toml")
        .read_text(encoding="utf-8")
        .replace('category = "shape"', 'category = "thing"')
    )
    with pytest.raises(
        UserError, match="objects of the family 'clevr' have thing, color, material, size; export"
    ):
        check_family(parse_vocabulary(text, "family"))
