"""`gen verify --images`: what an attacker changed, all digests computed again, is found at the
level that can find it."""

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import ndimage

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.inspection.examination import Examination, parse_images, sample_scenes
from generator.inspection.outlines import outlines
from generator.inspection.pixels import box_of
from generator.judge.verify import verify_dataset
from generator.render.farm import Farm
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary
from tests.generator.inspection.scenes import repaint, requested
from tests.generator.judge.datasets import BENCHMARK, edit, said, seal


def at_images(root: Path, number: int | None = None, render: bool = False) -> dict[str, Any]:
    return verify_dataset(root, None, examine=Examination(number, render, seed=0, farm=Farm(1)))[
        BENCHMARK
    ]


def test_a_dataset_as_it_was_made_is_clean_at_every_level(own: Path) -> None:
    for number, level, n in (
        (6, "sampled outlines", 6),
        (28, "all outlines", 28),
        (None, "all outlines", 28),
    ):
        certificate = at_images(own, number)
        assert (certificate["status"], certificate["level"]) == ("clean", level)
        judged = {"scenes": n, "objects": 2 * n, "outlines": 2 * n, "floors": n}
        assert certificate["images"] | judged == certificate["images"]
        assert 0 < certificate["images"]["colors"] <= 2 * n
        assert (
            f"at the level of {level}: {n} of 28 images compared with their records"
            in certificate["sentence"]
        )
        assert "rendered" not in certificate["sentence"]
    rendered = at_images(own, 2, render=True)
    assert (rendered["status"], rendered["level"]) == ("clean", "sampled images")
    assert rendered["images"]["identical"] == rendered["images"]["rendered_again"] == 2
    assert "all 2 are byte-identical" in rendered["sentence"]


def test_exchanged_images_are_found(own: Path) -> None:
    """Each image stands in the place of the next one."""
    paths = sorted((own / "world/images").iterdir())
    images = [path.read_bytes() for path in paths]
    for path, data in zip(paths, [images[-1], *images], strict=False):
        path.write_bytes(data)
    seal(own / "world")
    found = Examination(None, render=False)(own, {path.stem: ("train",) for path in paths}).findings
    named = " ".join(
        each["what"] for each in found if each["fault"] in ("wrong color", "wrong outline")
    )
    assert [path.stem for path in paths if path.stem not in named] == []


def test_a_color_renamed_in_the_vocabulary(own: Path) -> None:
    path = own / "world/vocabulary.toml"
    vocabulary = tomllib.loads(path.read_text(encoding="utf-8"))
    colors = vocabulary["attributes"]["color"]
    colors["red"]["linear"], colors["blue"]["linear"] = (
        colors["blue"]["linear"],
        colors["red"]["linear"],
    )
    path.write_text(tomli_w.dumps(vocabulary), encoding="utf-8")
    seal(own / "world")
    certificate = at_images(own)
    assert "the value 'red' of color has the colour that people call blue" in said(
        certificate, "wrong word"
    )
    assert "is recorded as red and its pixels show blue" in said(certificate, "wrong color")


def test_poses_edited_with_boxes_and_without_a_change_of_relations(own: Path) -> None:
    vocabulary = parse_vocabulary(Dataset.open(own).world.vocabulary_text, "vocabulary.toml")

    def move(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            record = json.loads(row["scene"])
            for thing in record["objects"]:
                thing["position"][0] += 1.0
            row["scene"] = json.dumps(record)
            drawn = outlines(
                Scene.from_json(row["scene"]), vocabulary, (row["width"], row["height"])
            )
            for thing, each in zip(row["objects"], drawn, strict=True):
                thing["amodal_box"] = list(box_of(each.whole) or (0, 0, 0, 0))
        rows[0]["objects"][1]["amodal_box"][0] += 3
        rows[1]["objects"][1]["amodal_box"][0] += 2  # as much as curved meshes may differ

    edit(own / "world", "scenes", move)
    assert verify_dataset(own, None)[BENCHMARK]["status"] == "clean"
    found = at_images(own)
    assert found["faults"]["wrong outline"] > 20
    assert found["faults"]["wrong box"] == 1
    assert "scene 000000: object 1" in said(found, "wrong box")


def test_a_size_in_manifest_and_images_that_is_not_that_of_the_scenes(own: Path) -> None:
    for path in (own / "world/images").iterdir():
        Image.new("RGB", (1, 1)).save(path)
    requested(own, width=1, height=1)
    seal(own / "world")
    assert at_images(own)["faults"]["damaged image"] == 28


def test_a_record_that_cannot_be_drawn_is_named(own: Path) -> None:
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "KeyError: 'lamps'": lambda record: record.pop("lamps"),
        "AttributeError: 'list' object": lambda record: record.update(lamps=[]),
        "ZeroDivisionError": lambda record: record["camera"].update(sensor=0),
        "RuntimeError": lambda record: record["objects"][0]["attributes"].pop("size"),
    }

    def damage(rows: list[dict[str, Any]]) -> None:
        for row, change in zip(rows, changes.values(), strict=False):
            record = json.loads(row["scene"])
            change(record)
            row["scene"] = json.dumps(record)

    edit(own / "world", "scenes", damage)
    found = said(at_images(own), "wrong record")
    drawn = found.split(" | ")
    for words in changes:
        assert any(
            "its record cannot be drawn: " in finding and words in finding for finding in drawn
        ), words


def test_a_damaged_world_stays_at_the_level_of_records(own: Path) -> None:
    (own / "world/SHA256SUMS").write_text(f"{64 * '0'}  images/000000.png\n", encoding="utf-8")
    certificate = at_images(own)
    assert certificate["level"] == "records"
    assert "no image was checked" in said(certificate, "damaged world")


@pytest.mark.parametrize("spec", ["0", "-1", "some", "", "1.5", "²"])
def test_a_number_or_all(spec: str) -> None:
    assert (parse_images("all"), parse_images("20")) == (None, 20)
    with pytest.raises(UserError, match="a number of images such as 100, or all"):
        parse_images(spec)


def test_without_a_seed_nobody_can_foresee_which_images_are_drawn() -> None:
    assert len({Examination(1, render=False).seed for _ in range(10)}) > 5


NAMES = st.tuples(st.sampled_from(["train", "val", "unseen", ""]))


@given(st.lists(NAMES, min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 2**32))
def test_splits_are_drawn_from_evenly(names: list[tuple[str]], number: int, seed: int) -> None:
    splits = {f"{i:06d}": each for i, each in enumerate(names)}
    drawn = sample_scenes(splits, number, seed)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == min(number, len(splits))
    taken, there = Counter(splits[scene_id] for scene_id in drawn), Counter(names)
    most = max(taken.values())
    assert all(taken[name] >= min(most - 1, there[name]) for name in there)
    assert drawn == sample_scenes(splits, number, seed)


def test_all_are_drawn_in_time() -> None:
    splits = {f"{i:06d}": ("train",) for i in range(1000)}
    counts = Counter(
        scene_id for seed in range(200) for scene_id in sample_scenes(splits, 100, seed)
    )
    assert len(counts) == 1000  # none can be sure to be spared


def test_what_stands_on_a_bare_floor_without_a_record_is_found(own: Path) -> None:
    """An object's colour, and letters, in a corner where no object is; and a floor of another
    colour."""

    def add_object(pixels: np.ndarray, row: dict[str, Any]) -> None:
        y, x = _free(row)
        pixels[y - 2 : y + 3, x - 2 : x + 3] = (173, 35, 35)

    def add_letters(pixels: np.ndarray, row: dict[str, Any]) -> None:
        y, x = _free(row)
        pixels[y - 2 : y + 3, [x - 2, x - 1, x + 1, x + 2]] = 60

    def tint(pixels: np.ndarray, _: object) -> np.ndarray:
        return np.clip(pixels.astype(int) + np.array([8, 0, -8]), 0, 255).astype(np.uint8)

    repaint(own, add_object, add_letters, tint)
    found = at_images(own)
    assert found["status"] == "failed"
    assert all(f"scene 00000{i}" in said(found, "strange floor") for i in range(3))
    assert found["faults"]["strange floor"] == 3


def _free(row: dict[str, Any]) -> tuple[int, int]:
    """The row and column farthest from all boxes and edges."""
    taken = np.zeros((row["height"], row["width"]), bool)
    taken[[0, -1]] = taken[:, [0, -1]] = True
    for left, top, right, bottom in (thing["amodal_box"] for thing in row["objects"]):
        taken[top:bottom, left:right] = True
    far = ndimage.distance_transform_edt(~taken)
    y, x = np.unravel_index(far.argmax(), far.shape)
    return int(y), int(x)
