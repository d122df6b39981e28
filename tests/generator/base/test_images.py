"""PNG files: read whole, and refused before their pixels fill the memory."""

import io
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generator.base.limits import MOST_SIDE, read_png
from tests.hostile_files import measured, pixel_bomb, png, text_bombs


def encoded(kind: str, size: tuple[int, int] = (5, 4)) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.arange(size[0] * size[1] * 3, dtype=np.uint8).reshape(size[1], size[0], 3)).save(file, kind)
    return file.getvalue()


def test_an_image_is_read_and_no_other_format() -> None:
    assert np.array_equal(np.asarray(read_png(encoded("PNG"))), np.asarray(Image.open(io.BytesIO(encoded("PNG")))))
    for kind in ("JPEG", "GIF", "TIFF", "EPS"):
        with pytest.raises(ValueError, match="it is no PNG file"):
            read_png(encoded(kind))


def test_an_image_of_more_pixels_than_expected_is_refused_by_its_header() -> None:
    with pytest.raises(ValueError, match="5x4 pixels, expected at most 4x4"):
        read_png(encoded("PNG"), (4, 4))
    for side in (MOST_SIDE + 1, 13_300, 2**32 - 1):
        with pytest.raises(ValueError, match="expected at most 4096x4096"):
            read_png(png(side, 1))


@given(st.integers(0, 200), st.binary(min_size=1, max_size=4))
def test_a_damaged_file_is_refused_or_read(at: int, other: bytes) -> None:
    data = encoded("PNG")
    for damaged in (data[:at], data[:at] + other + data[at + len(other) :]):
        with suppress(ValueError):
            assert read_png(damaged, (64, 64)).width <= 64


@pytest.mark.full
def test_bombs_take_little_memory(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from generator.base.limits import read_png
for path in sys.argv:
    try:
        read_png(Path(path).read_bytes())
    except ValueError as error:
        print(error, file=sys.stderr)
"""
    paths = [tmp_path / f"{i}.png" for i in range(4)]
    for path, data in zip(paths, [pixel_bomb(), *text_bombs()], strict=True):
        path.write_bytes(data)
    assert struct.unpack_from(">II", paths[0].read_bytes(), 16) == (13_300, 13_300)
    returned, said, peak = measured(code, *map(str, paths))
    assert returned == 0, said
    assert "expected at most 4096x4096" in said
    assert peak < 300
