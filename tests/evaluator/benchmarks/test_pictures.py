"""Images of others: formats, boxes, digests, and what is refused."""

import io
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import ExifTags, Image

from evaluator.benchmarks import pictures
from evaluator.benchmarks.pictures import ImageFinder, Picture, Pictures
from evaluator.benchmarks.question import Cell, ImageRef
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import COLORS, encoded, square


def _pictures(tmp_path: Path, data: bytes, box: pictures.Box | None = None) -> Pictures:
    (tmp_path / "a").write_bytes(data)
    return Pictures(tmp_path, {"a": Picture(tmp_path / "a", box)})


@pytest.mark.parametrize("kind", pictures.FORMATS)
def test_images_of_each_format_are_read_as_rgb(tmp_path: Path, kind: str) -> None:
    image = _pictures(tmp_path, encoded(square("red"), kind)).image("a")
    assert (image.mode, image.size) == ("RGB", (24, 24))
    assert image.getpixel((12, 12)) == pytest.approx(COLORS["red"], abs=8)


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", encoded(square("red"), "GIF"), encoded(square("red"), "JPEG")[:200]]
)
def test_damaged_image_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(
        UserError, match=r"The image a of .* cannot be read as JPEG, PNG, WEBP"
    ) as error:
        _pictures(tmp_path, data).image("a")
    assert " at 0x" not in error.value.message


def test_images_of_too_many_pixels_are_refused(tmp_path: Path) -> None:
    bomb = encoded(Image.new("1", (12_000, 12_000)))
    assert len(bomb) < 100_000
    with pytest.raises(UserError, match="12000x12000 pixels, expected at most 100,000,000"):
        _pictures(tmp_path, bomb).image("a")


def test_an_image_that_is_large_and_allowed_is_read_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow warns of more pixels than its own limit, which is less than ours."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 24 * 24 - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _pictures(tmp_path, encoded(square("red"))).image("a").size == (24, 24)


def test_the_digest_is_another_one_for_other_bytes_boxes_and_ids(tmp_path: Path) -> None:
    red, blue = encoded(square("red")), encoded(square("blue"))
    digests = [
        _pictures(tmp_path, red).digest,
        _pictures(tmp_path, blue).digest,
        _pictures(tmp_path, red, (0, 0, 4, 4)).digest,
    ]
    named = Pictures(tmp_path, {"b": Picture(tmp_path / "a")})
    assert len({*digests, named.digest}) == 4
    assert _pictures(tmp_path, red).digest == digests[0]


def test_missing_image_file_is_refused(tmp_path: Path) -> None:
    missing = Pictures(tmp_path, {"a": Picture(tmp_path / "none.png")})
    for read in (missing.image, missing.image_digest):
        with pytest.raises(
            UserError, match=r"cannot be read .*; fetch it, or name its folder with --images"
        ):
            read("a")


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def _find(finder: ImageFinder, *names: str) -> Path | None:
    picture = finder.find(ImageRef(names))
    return picture and picture.source  # type: ignore[return-value]


def test_images_are_given_or_beside_the_questions(tmp_path: Path) -> None:
    assert ImageFinder(tmp_path / "a.json", None).folder == tmp_path
    (tmp_path / "images").mkdir()
    assert (
        ImageFinder(tmp_path / "a.json", None).folder
        == ImageFinder(tmp_path, None).folder
        == tmp_path / "images"
    )
    assert ImageFinder(tmp_path, tmp_path / "other").folder == tmp_path / "other"


def test_a_name_is_looked_for_as_it_stands_then_without_its_folders(tmp_path: Path) -> None:
    finder = ImageFinder(tmp_path, tmp_path)
    whole, part, last = (_touch(tmp_path / name) for name in ("data/VG/1.jpg", "VG/1.jpg", "1.jpg"))
    for expected in (whole, part, last):
        assert _find(finder, "data/VG/1.jpg") == expected
        expected.unlink()
    assert _find(finder, "data/VG/1.jpg") is None
    png = _touch(tmp_path / "ex_0.png")
    assert _find(finder, "x/none.jpg", "ex_0") == png
    with pytest.raises(UserError, match="is not a path within that folder"):
        finder.find(ImageRef(("../1.jpg",)))


def test_the_images_of_a_folder_come_by_name(tmp_path: Path) -> None:
    for name in ("red cube/2.png", "red cube/1.jpg", "red cube/notes.txt", "red cube/.3.png"):
        _touch(tmp_path / name)
    finder = ImageFinder(tmp_path, tmp_path)
    assert finder.images_in(["gone", "red cube"]) == ["red cube/1.jpg", "red cube/2.png"]
    assert finder.images_in(["gone"]) == []


def ramp() -> tuple[bytes, np.ndarray]:
    """A PNG file of 16-bit grey from black to white, and the 8-bit grey that it shows."""
    levels = np.linspace(0, 65_535, 256).round().astype(np.uint16)
    file = io.BytesIO()
    Image.fromarray(np.tile(levels, (4, 1))).save(file, "PNG")
    return file.getvalue(), np.tile(np.arange(256), (4, 1))


def test_grey_of_16_bits_is_scaled(tmp_path: Path) -> None:
    """In a file and in a cell of a Parquet file."""
    data, grey = ramp()
    (tmp_path / "ramp.png").write_bytes(data)
    pq.write_table(
        pa.table({"image": [{"bytes": data, "path": "ramp.png"}]}), tmp_path / "cells.parquet"
    )
    sources = (tmp_path / "ramp.png", Cell(tmp_path / "cells.parquet", 0, "image", ""))
    for source in sources:
        image = np.asarray(Pictures(tmp_path, {"a": Picture(source)}).image("a"))
        assert (image == grey[..., None]).all()


def test_exif_orientation_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (8, 4)).save(tmp_path / name, exif=exif)
    Image.new("RGB", (8, 4)).save(tmp_path / "upright.jpg")
    pictures = Pictures(tmp_path, {path.stem: Picture(path) for path in tmp_path.iterdir()})
    assert pictures.image("upright").size == (8, 4)
    assert not caplog.messages
    for name in ("a", "b"):
        assert pictures.image(name).size == (8, 4)
    (message,) = caplog.messages
    assert "The image a of" in message
    assert "is stored turned (EXIF orientation 6)" in message
