"""`gen vocab show`: a swatch for each value and each object, which is near and fills the view."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generator.inspection.object_masks import object_masks
from generator.inspection.swatches import single_scene
from tests.conftest import succeed
from tests.generator.inspection.scenes import CLEVR

SWATCHES = """
extends = "clevr"
remove = ["objects.cube", "objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus",
    "objects.heart",
    "objects.cylinder", "objects.pyramid", "attributes.color.gray", "attributes.color.brown", "attributes.color.purple",
    "attributes.color.cyan", "attributes.color.yellow", "attributes.material.metal", "attributes.size.small"]
"""


def draw_sheet(folder: Path, family: str) -> np.ndarray:
    """The pixels of the sheet of a family."""
    (folder / "mine.toml").write_text(family)
    done = succeed("gen vocab show mine.toml --workers 1", cwd=folder)
    with Image.open(folder / done.stdout.strip()) as sheet:
        return np.asarray(sheet.convert("RGB")).astype(int)


@pytest.mark.full
def test_swatches_show_each_value_and_each_object(tmp_path: Path) -> None:
    pixels = draw_sheet(tmp_path, SWATCHES)
    row, column = 188, 138  # a heading, a swatch and its label; a swatch and a gap
    middles = [pixels[40 + 64, 10 + column * i + 64] for i in range(3)]
    assert [int(middle.argmax()) for middle in middles] == [0, 2, 1]  # red, blue, green
    objects = pixels[
        40 + 2 * row : 168 + 2 * row
    ]  # material and size, of one value each, share a row
    assert all(
        (objects[:, 10 + column * i : 138 + column * i].std((0, 1)) > 5).all() for i in range(3)
    )
    assert (objects[:, 10 + column * 3 :] == 255).all()


MARKS = """
[attributes.marks]
stripes = { texture = { pattern = "stripes", scale = 0.3, colors = ["#101010", "#f0f0f0"] } }
plain = { srgb = "#808080" }
"""


@pytest.mark.full
def test_textures_are_shown_on_every_object(tmp_path: Path) -> None:
    pixels = draw_sheet(tmp_path, f'paints = ["color", "marks"]\n{SWATCHES}{MARKS}')
    last = pixels[-158:-30]  # the last row: a swatch for each object, all striped
    spread = [last[:, 10 + 138 * i : 138 + 138 * i].std() for i in range(3)]
    assert min(spread) > 30
    assert (last[:, 10 + 138 * 3 :] == 255).all()


def test_the_view_is_close_or_that_of_the_family() -> None:
    large = {"color": "red", "material": "rubber", "size": "large"}
    close, far = (
        single_scene(CLEVR, "cube", attributes=large, environment="studio", close=close)
        for close in (True, False)
    )
    assert far.camera.lens == CLEVR.camera.lens
    assert far.camera.target == CLEVR.camera.target
    near_pixels, far_pixels = (
        object_masks(scene, CLEVR, (128, 128))[0].whole.sum() for scene in (close, far)
    )
    assert near_pixels > 2 * far_pixels
