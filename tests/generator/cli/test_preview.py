"""`gen preview`: images of every split, or of some."""

from pathlib import Path

from PIL import Image

from tests.conftest import succeed


def test_preview_shows_every_split(rendered: Path, tmp_path: Path) -> None:
    succeed("gen preview --n 3 --out sheet.png", rendered, cwd=tmp_path)
    succeed("gen preview --n 3 --split unseen --out one.png", rendered, cwd=tmp_path)
    with Image.open(tmp_path / "sheet.png") as sheet, Image.open(tmp_path / "one.png") as one:
        assert one.width == sheet.width
        assert one.height < sheet.height / 4
