"""Scenes rendered again: the same bytes here; what is changed in image, outputs, boxes or materials
is named."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from generator.dataset.outputs import png
from generator.dataset.reader import Dataset
from generator.inspection.rerendered import Comparison, compare_renders, decibels, near, same_output
from generator.render.farm import Farm
from tests.conftest import FEWEST, once, render_into
from tests.generator.inspection.scenes import repaint, requested
from tests.generator.judge.datasets import edit, seal


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    more = (*FEWEST, "--with", "masks,depth,normals,boxes")
    return once(tmp_path_factory, "six-with-outputs", lambda root: render_into(root, *more))


@pytest.fixture
def own(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / "d"))


def compared(root: Path, number: int = 2) -> tuple[Comparison, list[dict[str, str]]]:
    """Render some scenes of a dataset again."""
    dataset, comparison = Dataset.open(root), Comparison()
    rows = dataset.world.scenes.to_pylist()[:number]
    return comparison, list(compare_renders(dataset, rows, Farm(1), comparison))


def test_here_all_are_the_same_bytes(source: Path) -> None:
    comparison, findings = compared(source, 6)
    assert findings == []
    assert (comparison.n_identical, comparison.different, comparison.least_decibels) == (
        6,
        [],
        float("inf"),
    )


def dither(pixels: np.ndarray, row: dict[str, Any]) -> None:
    """Low bits as another processor could give them."""
    pixels ^= np.random.default_rng(int(row["scene_id"])).integers(
        0, 2, pixels.shape, dtype=np.uint8
    )


@pytest.mark.full
def test_noise_of_another_processor_passes_in_all_images_and_is_measured(own: Path) -> None:
    repaint(own, dither, dither)
    comparison, findings = compared(own)
    assert findings == []
    assert (comparison.n_identical, len(comparison.different)) == (0, 2)
    assert 45 < comparison.least_decibels < 60
    assert 0.5 < comparison.largest_difference < 1


@pytest.mark.full
def test_where_some_images_are_the_same_bytes_all_have_to_be(own: Path) -> None:
    """One bit of one pixel in one image."""

    def mark(pixels: np.ndarray, _: object) -> None:
        pixels[0, 0, 0] ^= 1

    repaint(own, mark)
    _, (only,) = compared(own)
    assert only["fault"] == "not the same render"
    assert "rendered again, its image has other bytes" in only["what"]


def test_a_small_mark_on_every_image_is_found(own: Path) -> None:
    def mark(pixels: np.ndarray, row: dict[str, Any]) -> None:
        dither(pixels, row)
        pixels[:3, 5:8] = (255, 0, 0)

    repaint(own, mark, mark)
    _, findings = compared(own)
    assert len(findings) == 2
    assert all(
        "a block of 8x8 pixels of its image differs" in finding["what"] for finding in findings
    )


def test_a_mark_that_all_images_of_a_split_share_is_found() -> None:
    """A faint pattern in low bits, beside the noise that differs from image to image."""
    rng = np.random.default_rng(0)
    pattern = rng.integers(-1, 2, (32, 32, 3))
    marked, honest = Comparison(), Comparison()
    for i in range(12):
        split = ("unseen",) if i % 2 else ("train",)
        noise = rng.integers(-1, 2, (32, 32, 3)).astype(float)
        honest.add_difference(str(i), split, noise)
        marked.add_difference(str(i), split, noise + pattern * (split == ("unseen",)))
    assert list(honest.findings()) == []
    (only,) = marked.findings()
    assert "images of the split unseen differ from new renders in the same way" in only["what"]


@pytest.mark.parametrize(
    "changed", [{"samples": 10**9}, {"samples": 1, "denoise": ""}, {"name": "best"}]
)
def test_a_quality_that_nobody_declares_is_not_rendered(own: Path, changed: dict[str, Any]) -> None:
    quality = Dataset.open(own).world.manifest["request"]["quality"]
    requested(own, quality=quality | changed)
    _, (only,) = compared(own)
    assert only["fault"] == "not rendered again"
    assert "this version does not declare" in only["what"]


def test_one_object_that_looks_otherwise_is_found_in_its_box(own: Path) -> None:
    def fade(pixels: np.ndarray, row: dict[str, Any]) -> None:
        left, top, right, bottom = row["objects"][0]["amodal_box"]
        part = pixels[top:bottom, left:right]
        part[:] = np.clip(part.astype(int) + 6, 0, 255)

    repaint(own, fade)
    _, (only,) = compared(own)
    assert only["fault"] == "not the same render"
    assert "in the box of an object, expected 38 or more" in only["what"]


def test_a_material_renamed_in_the_record_is_found(own: Path) -> None:
    other = {"metal": "rubber", "rubber": "metal"}

    def rename(rows: list[dict[str, Any]]) -> None:
        record = json.loads(rows[0]["scene"])
        attributes = record["objects"][0]["attributes"]
        attributes["material"] = other[attributes["material"]]
        rows[0]["scene"] = json.dumps(record)
        rows[0]["objects"][0]["attributes"] = list(attributes.items())

    edit(own / "world", "scenes", rename)
    _, (only,) = compared(own)
    assert only["fault"] == "not the same render"


def test_other_boxes_shares_and_outputs_are_found(own: Path) -> None:
    def crop(rows: list[dict[str, Any]]) -> None:
        rows[0]["objects"][0]["amodal_box"][0] += 3
        rows[1]["objects"][1]["visible_fraction"] = 0.1

    edit(own / "world", "scenes", crop)
    scene_id = Dataset.open(own).world.scenes["scene_id"][0].as_py()
    path = own / f"world/masks/{scene_id}.png"
    with Image.open(path) as image:
        path.write_bytes(png(Image.fromarray(np.roll(np.asarray(image), 5, axis=1))))
    (own / f"world/depth/{scene_id}.npy").write_bytes(b"nothing")
    seal(own / "world")
    _, findings = compared(own)
    assert [finding["fault"] for finding in findings].count("wrong box") == 2
    differences = [
        finding["what"] for finding in findings if finding["fault"] == "not the same render"
    ]
    assert sorted(line.removesuffix(" differs").rpartition(" ")[2] for line in differences) == [
        "depth",
        "masks",
    ]


def test_a_scene_that_cannot_be_rendered_is_named(own: Path) -> None:
    def lift(rows: list[dict[str, Any]]) -> None:
        rows[0]["scene"] = json.dumps({**json.loads(rows[0]["scene"]), "objects": "none"})

    edit(own / "world", "scenes", lift)
    _, findings = compared(own, 1)
    assert [finding["fault"] for finding in findings] == ["not rendered again"]


def test_decibels_are_those_of_the_definition() -> None:
    one = Image.new("RGB", (10, 10), (100, 100, 100))
    other = one.copy()
    other.putpixel((2, 2), (110, 110, 110))
    whole, box = decibels(one, other, [(0, 0, 5, 5), (6, 6, 10, 10)])
    assert whole == pytest.approx(10 * np.log10(255**2 / (100 / 100)))
    assert box == pytest.approx(10 * np.log10(255**2 / (100 / 25)))
    assert decibels(one, one, [(0, 0, 5, 5)]) == (float("inf"), float("inf"))
    assert decibels(one, one, []) == (float("inf"), float("inf"))
    assert decibels(one, one.resize((5, 5)), []) == (0.0, 0.0)


def test_boxes_and_outputs_may_differ_as_processors_round() -> None:
    assert near((1, 2, 3, 4), (2, 1, 3, 5))
    assert not near((1, 2, 3, 4), (3, 2, 3, 4))
    assert not near((1, 2, 3, 4), ())

    def depth(array: np.ndarray) -> bytes:
        file = io.BytesIO()
        np.save(file, array.astype(np.float32))
        return file.getvalue()

    far = np.full((20, 20), np.inf)
    far[5:] = 3.0
    slightly = far + 0.001
    assert same_output("depth", depth(far), depth(slightly))
    assert not same_output("depth", depth(far), depth(far[::-1]))
    assert not same_output("depth", depth(far), depth(far[:10]))
    assert not same_output("boxes", b"[]", b"{")
