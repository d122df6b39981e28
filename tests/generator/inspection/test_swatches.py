"""`gen vocab show`: a swatch for each value and each object."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import run_command

SWATCHES = """
extends = "clevr"
remove = ["objects.cube", "objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus",
    "objects.heart",
    "objects.cylinder", "objects.pyramid", "attributes.color.gray", "attributes.color.brown", "attributes.color.purple",
    "attributes.color.cyan", "attributes.color.yellow", "attributes.material.metal", "attributes.size.small"]
"""


def test_swatches_show_each_value_and_each_object(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SWATCHES)
    done = run_command("gen", "vocab", "show", "mine.toml", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / done.stdout.strip()) as sheet:
        pixels = np.asarray(sheet.convert("RGB")).astype(int)
    row, column = 188, 138  # a heading, a swatch and its label; a swatch and a gap
    middles = [pixels[40 + 64, 10 + column * i + 64] for i in range(3)]
    assert [int(middle.argmax()) for middle in middles] == [0, 2, 1]  # red, blue, green
    objects = pixels[40 + 2 * row : 168 + 2 * row]  # material and size, of one value each, share a row
    assert all((objects[:, 10 + column * i : 138 + column * i].std((0, 1)) > 5).all() for i in range(3))
    assert (objects[:, 10 + column * 3 :] == 255).all()


@pytest.mark.full
def test_textures_are_shown_on_every_object(tmp_path: Path) -> None:
    marks = (
        'stripes = { texture = { pattern = "stripes", scale = 0.3, colors = ["#101010", "#f0f0f0"] } }\nplain = { '
        'srgb = "#808080" }'
    )
    (tmp_path / "mine.toml").write_text(f'paints = ["color", "marks"]\n{SWATCHES}\n[attributes.marks]\n{marks}\n')
    done = run_command("gen", "vocab", "show", "mine.toml", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / done.stdout.strip()) as sheet:
        pixels = np.asarray(sheet.convert("RGB")).astype(int)
    last = pixels[-158:-30]  # the last row: a swatch for each object, all striped
    spread = [last[:, 10 + 138 * i : 138 + 138 * i].std() for i in range(3)]
    assert min(spread) > 30
    assert (last[:, 10 + 138 * 3 :] == 255).all()
