"""PNG files that are cut short, carry more than pixels, or are of another size or mode are named; nothing large is decompressed."""

import io
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from generator.judge.png import image_fault

SIZE = (7, 5)
PATH = "images/000000.png"


def png(mode: str = "RGB", size: tuple[int, int] = SIZE, **options: object) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(file, "PNG", **options)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def repacked(pixels: bytes, header: bytes | None = None) -> bytes:
    """A PNG file with the given decompressed pixels."""
    header = header or struct.pack(">IIBBBBB", *SIZE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_an_image_of_a_world_has_no_fault() -> None:
    assert image_fault(png(), PATH, SIZE) is None
    assert image_fault(png("L"), "masks/000000.png", SIZE) is None
    assert image_fault(repacked(zlib.compress(bytes(5 * (1 + 3 * 7)))), PATH, SIZE) is None


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "RGBA", "I;16"])
def test_any_mode_is_whole_where_none_is_expected(mode: str) -> None:
    assert image_fault(png(mode)) is None


@given(st.integers(0, len(png()) - 1))
def test_every_cut_is_found(at: int) -> None:
    assert "does not decode" in str(image_fault(png()[:at], PATH, SIZE))


@given(st.binary(min_size=1, max_size=40))
def test_bytes_after_the_end_are_found(more: bytes) -> None:
    assert f"{len(more)} bytes follow the end" in str(image_fault(png() + more, PATH, SIZE))


def test_metadata_are_found() -> None:
    text = PngImagePlugin.PngInfo()
    text.add_text("caption", "a red cube")
    exif = Image.Exif()
    exif[0x010E] = "a red cube"
    assert "metadata: chunks tEXt" in str(image_fault(png(pnginfo=text), PATH, SIZE))
    assert "metadata: chunks eXIf" in str(image_fault(png(exif=exif), PATH, SIZE))
    assert "metadata: chunks pHYs" in str(image_fault(png(dpi=(72, 72)), PATH, SIZE))


def test_bytes_hidden_behind_the_pixels_are_found() -> None:
    rows = bytes(5 * (1 + 3 * 7))
    assert "behind its pixels" in str(image_fault(repacked(zlib.compress(rows + b"a red cube")), PATH, SIZE))
    assert "behind its pixels" in str(image_fault(repacked(zlib.compress(rows) + b"a red cube"), PATH, SIZE))


@pytest.mark.parametrize("size", [(1, 1), (5, 7), (8, 5)])
def test_another_size_is_found(size: tuple[int, int]) -> None:
    assert f"has {size[0]}x{size[1]} pixels, not 7x5" in str(image_fault(png(size=size), PATH, SIZE))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "I;16"])
def test_another_mode_is_found(mode: str) -> None:
    assert "is not 8-bit RGB" in str(image_fault(png(mode), PATH, SIZE))
    assert "is not 8-bit grayscale" in str(image_fault(png("RGB"), "masks/000000.png", SIZE))


@pytest.mark.parametrize("size", [SIZE, None])
def test_a_bomb_is_refused_by_its_header(size: tuple[int, int] | None) -> None:
    wide = struct.pack(">IIBBBBB", 13_300, 13_300, 8, 2, 0, 0, 0)
    data = repacked(zlib.compress(bytes(1 << 20)), wide)
    tracemalloc.start()
    fault = str(image_fault(data, PATH, size))
    assert "has 13300x13300 pixels" in fault
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_pixels_that_swell_are_not_decompressed_whole() -> None:
    data = repacked(zlib.compress(bytes(200 << 20), 9))
    tracemalloc.start()
    assert "behind its pixels" in str(image_fault(data, PATH, SIZE))
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    assert image_fault(data, PATH, SIZE) is not None
    assert image_fault(b"\x89PNG\r\n\x1a\n" + data, PATH, SIZE) is not None
