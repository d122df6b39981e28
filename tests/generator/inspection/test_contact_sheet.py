"""`gen preview`: a row of images for each split."""

from pathlib import Path

import pytest
from PIL import Image

from generator.base.errors import UserError
from generator.inspection.sheets import draw_preview


def test_every_split_has_a_row_as_long_as_asked(rendered: Path, tmp_path: Path) -> None:
    sizes = {}
    for name, splits, n in [("one", ("seen",), 2), ("two", ("seen", "unseen"), 2), ("long", ("seen",), 4)]:
        with Image.open(draw_preview(rendered, None, splits, n, 0, tmp_path / f"{name}.png")) as sheet:
            sizes[name] = sheet.size
    assert sizes["two"][1] - 10 == 2 * (sizes["one"][1] - 10)
    assert sizes["long"][0] - 10 == 2 * (sizes["one"][0] - 10)


def test_the_seed_chooses_the_images(rendered: Path, tmp_path: Path) -> None:
    same, again, other = (
        draw_preview(rendered, None, ("train",), 3, seed, tmp_path / f"{n}.png").read_bytes()
        for n, seed in enumerate((0, 0, 1))
    )
    assert same == again != other


def test_an_unknown_split_is_suggested(rendered: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'unseen'"):
        draw_preview(rendered, None, ("unsen",), 2, 0, tmp_path / "x.png")
