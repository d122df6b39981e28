"""`gen preview`: a row of images for each split."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generator.inspection.sheets import contact_sheet, draw_preview, save_sheet


def test_every_split_has_a_row_as_long_as_asked(rendered: Path, tmp_path: Path) -> None:
    sizes = {}
    for name, splits, n in [
        ("one", ("seen",), 2),
        ("two", ("seen", "unseen"), 2),
        ("long", ("seen",), 4),
    ]:
        with Image.open(
            draw_preview(
                rendered, None, splits=splits, number=n, seed=0, out=tmp_path / f"{name}.png"
            )
        ) as sheet:
            sizes[name] = sheet.size
    assert sizes["two"][1] - 10 > 1.5 * (sizes["one"][1] - 10)
    assert sizes["long"][0] - 10 == 2 * (sizes["one"][0] - 10)


CAPTION = "There is a large red metal cube to the left of a small blue rubber sphere in the image."


def test_captions_are_whole_and_small_images_enlarged_by_a_whole_number() -> None:
    tiny = Image.fromarray(np.random.default_rng(0).integers(0, 255, (9, 16, 3), np.uint8))
    short, long = (
        contact_sheet([("seen", [(tiny, [text, "not: it"])])], 280, "one")
        for text in ("A cube.", CAPTION)
    )
    assert long.height - short.height == 20  # of two lines
    pixels = np.asarray(long)
    enlarged = np.kron(np.asarray(tiny), np.ones((17, 17, 1), np.uint8))  # 280 // 16
    assert (pixels[40 : 40 + 9 * 17, 10 : 10 + 16 * 17] == enlarged).all()
    assert (pixels[:, 10 + 16 * 17 :] == 255).all()


def test_groups_share_a_row_where_there_is_room() -> None:
    image = Image.new("RGB", (40, 40), "red")
    one, two, four = ([(image, ["x"])] * n for n in (1, 2, 4))
    block = contact_sheet([("a", four)], 40, "").height - 10
    sheet = contact_sheet([("a", four), ("b", one), ("c", two), ("d", two)], 40, "")
    assert sheet.height - 10 == 3 * block  # a; b and c; d
    red = (np.asarray(sheet) == (255, 0, 0)).all(-1)
    assert [int(red[10 + 30 + block * i + 20].sum()) for i in range(3)] == [160, 120, 80]


def test_a_sheet_that_cannot_be_written_leaves_the_last_one(tmp_path: Path) -> None:
    path = save_sheet(Image.new("RGB", (1, 1)), tmp_path / "new" / "sheet.png")
    before = path.read_bytes()
    with pytest.raises(OSError, match="cannot write mode F"):
        save_sheet(Image.new("F", (1, 1)), path)
    assert [*path.parent.iterdir()] == [path]
    assert path.read_bytes() == before


def test_the_seed_chooses_the_images(rendered: Path, tmp_path: Path) -> None:
    same, same_seed, other = (
        draw_preview(
            rendered, None, splits=("train",), number=3, seed=seed, out=tmp_path / f"{n}.png"
        ).read_bytes()
        for n, seed in enumerate((0, 0, 1))
    )
    assert same == same_seed != other
