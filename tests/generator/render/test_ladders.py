"""Rendered ladders: each step hides, dims or shrinks what it says, and is rendered again to the same
bytes."""

import json
from pathlib import Path

import numpy as np
import pytest

from generator.dataset.reader import Dataset
from tests.conftest import succeed


def render(factor: str, out: Path) -> Dataset:
    succeed(
        "gen ladder",
        *("--factor", factor, "--steps", "3", "--scenes", "2", "--resolution", "96x96"),
        *("--quality", "draft", "--device", "cpu", "--workers", "1", "--out", out),
    )
    return Dataset.open(out)


def steps_of(dataset: Dataset) -> list[tuple[float, np.ndarray, list[dict]]]:
    """The magnitude, image and objects of the first half of a ladder, easiest step first."""
    steps = []
    for row in dataset.world.scenes.to_pylist()[:3]:
        magnitude = json.loads(row["scene"])["rung"][1]
        image = np.asarray(dataset.world.image(row["scene_id"])).astype(float)
        steps.append((magnitude, image, row["objects"]))
    return steps[::-1]


@pytest.mark.full
@pytest.mark.parametrize("factor", ["contrast", "occlusion", "size"])
def test_each_step_is_rendered_as_it_says(factor: str, tmp_path: Path) -> None:
    dataset = render(factor, tmp_path / "ladder")
    steps = steps_of(dataset)
    _, easiest_image, easiest_objects = steps[0]
    for magnitude, image, objects in steps:
        for obj, easiest in zip(objects, easiest_objects, strict=True):
            left, top, right, bottom = obj["amodal_box"]
            area = (right - left) * (bottom - top)
            left, top, right, bottom = easiest["amodal_box"]
            share_of_area = area / ((right - left) * (bottom - top))
            if factor == "size":
                assert share_of_area == pytest.approx(magnitude, rel=0.35)
            else:
                assert share_of_area == 1
            if factor == "occlusion":
                assert 1 - obj["visible_fraction"] == pytest.approx(magnitude, abs=0.12)
        if factor == "contrast":
            expected = 128 + magnitude * (easiest_image - 128)
            assert np.abs(image - expected).max() <= 0.5
    done = succeed("gen verify", dataset.root, "--images", "2")
    assert "all 2 are byte-identical" in done.stdout + done.stderr
