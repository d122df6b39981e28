"""Damaged, missing and unlisted files are named."""

import hashlib
import io
import os
import struct
import tracemalloc
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from generator.base.errors import UserError
from generator.base.files import read_json, sha256, write_json
from generator.judge.files import image_fault
from generator.judge.verify import verify_dataset
from tests.conftest import run_command
from tests.generator.judge.datasets import details_of, edit, judged, seal


def test_an_image_that_neither_files_nor_sums_have(copied: Path) -> None:
    (copied / "world/images/000007.png").unlink()
    seal(copied / "world")
    certificate = judged(copied)
    assert details_of(certificate, "missing image") == "scene 000007 has no image"
    assert certificate["faults"] == {"missing image": 1}


def test_a_truncated_image(copied: Path) -> None:
    image = copied / "world/images/000007.png"
    image.write_bytes(image.read_bytes()[:-400])
    certificate = judged(copied)
    assert "world/images/000007.png does not decode" in details_of(certificate, "damaged image")
    assert "world/images/000007.png has other bytes" in details_of(certificate, "damaged file")
    assert set(certificate["faults"]) == {"damaged image", "damaged file"}


def test_a_missing_and_an_unlisted_file(copied: Path) -> None:
    (copied / "world/images/000003.png").rename(copied / "world/images/x.png")
    (copied / "world/images/verify.json").write_text("{}")
    certificate = judged(copied)
    assert "000003.png is missing" in details_of(certificate, "damaged file")
    for name in ("x.png", "verify.json"):
        assert f"images/{name} is not in SHA256SUMS" in details_of(certificate, "unlisted file")


def test_tables_with_missing_cells_or_columns_or_repeated_rows(
    copied: Path, benchmark: Path
) -> None:
    edit(benchmark, "splits", lambda rows: rows.append(rows[0]))
    edit(benchmark, "items", lambda rows: rows.append(rows[0]))
    certificate = judged(copied)
    assert certificate["faults"]["repeated scene"] == certificate["faults"]["repeated item"] == 1
    edit(benchmark, "candidates", lambda rows: rows[0].update(truth=None))
    assert "candidates.parquet cannot be read: it has rows without truth" in details_of(
        judged(copied), "damaged file"
    )
    path = benchmark / "candidates.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["slot"]), path)
    assert "candidates.parquet cannot be read: it has no column slot" in details_of(
        judged(copied), "damaged file"
    )
    path.write_bytes(b"PAR1 nonsense")
    assert "candidates.parquet cannot be read" in details_of(judged(copied), "damaged file")


def test_candidates_without_a_kind_can_be_judged(copied: Path, benchmark: Path) -> None:
    path = benchmark / "candidates.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["kind"]), path)
    seal(benchmark)
    assert judged(copied)["status"] == "clean"


def test_a_listed_path_that_is_no_file_of_the_folder_is_found_and_not_read(
    copied: Path, benchmark: Path
) -> None:
    """A folder's name once was read as a file."""
    (copied.parent / "private").write_text("private")
    outside = ["../../private", "/etc/passwd", "images/../../../private"]
    listed = {copied / "world": [*outside, "", "images", "images/", "."], benchmark: outside}
    for folder, names in listed.items():
        sums, digest = folder / "SHA256SUMS", hashlib.sha256(b"private").hexdigest()
        sums.write_text("".join(f"{digest}  {name}\n" for name in names) + sums.read_text())
        manifest = read_json(folder / "manifest.json")
        write_json(folder / "manifest.json", {**manifest, "sums": sha256(sums)})
    details = details_of(judged(copied), "unsafe path")
    for folder, names in listed.items():
        assert all(f"{folder.name}/SHA256SUMS lists {name!r}: " in details for name in names)


def test_sums_that_are_not_text_or_not_a_file_are_a_finding(copied: Path) -> None:
    sums = copied / "world/SHA256SUMS"
    sums.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"SHA256SUMS is damaged: it is not UTF-8 text; restore it"):
        verify_dataset(copied, None)
    sums.unlink()
    sums.mkdir()
    done = run_command("gen", "verify", copied)
    assert done.returncode == 2
    assert "SHA256SUMS" in done.stderr


def test_a_dataset_with_a_link_or_a_pipe_is_not_judged(copied: Path) -> None:
    links = [partial(os.symlink, "/etc/passwd"), partial(os.symlink, "/etc")]
    for place in ("world/images/extra.png", "benchmarks/link", "link", "world/link"):
        for make in (*links, os.mkfifo):
            make(copied / place)
            with pytest.raises(UserError, match=f"{place} is (a link|not a regular file)"):
                verify_dataset(copied, None)
            (copied / place).unlink()


SIZE = (7, 5)
PATH = "images/000000.png"


def png(mode: str = "RGB", size: tuple[int, int] = SIZE, **options: object) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(file, "PNG", **options)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def repacked(pixels: bytes, header: bytes | None = None) -> bytes:
    """A PNG file with the given decompressed pixels."""
    header = header or struct.pack(">IIBBBBB", *SIZE, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def test_an_image_of_a_world_has_no_fault() -> None:
    assert image_fault(png(), PATH, SIZE) is None
    assert image_fault(png("L"), "masks/000000.png", SIZE) is None
    assert image_fault(repacked(zlib.compress(bytes(5 * (1 + 3 * 7)))), PATH, SIZE) is None


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "RGBA", "I;16"])
def test_any_mode_is_whole_where_none_is_expected(mode: str) -> None:
    assert image_fault(png(mode)) is None


@given(st.integers(0, len(png()) - 1))
def test_every_cut_that_loses_pixels_is_found(end: int) -> None:
    fault = image_fault(png()[:end], PATH, SIZE)
    if fault is None:
        pixels = [np.asarray(Image.open(io.BytesIO(data))) for data in (png()[:end], png())]
        assert (pixels[0] == pixels[1]).all()
    else:
        assert "does not decode" in fault


def test_metadata_are_found() -> None:
    text = PngImagePlugin.PngInfo()
    text.add_text("caption", "a red cube")
    exif = Image.Exif()
    exif[0x010E] = "a red cube"
    assert "metadata beside its pixels: caption" in str(image_fault(png(pnginfo=text), PATH, SIZE))
    assert "metadata beside its pixels: exif" in str(image_fault(png(exif=exif), PATH, SIZE))
    assert "metadata beside its pixels: dpi" in str(image_fault(png(dpi=(72, 72)), PATH, SIZE))


def test_sixteen_bits_a_channel_are_found() -> None:
    header = struct.pack(">IIBBBBB", *SIZE, 16, 2, 0, 0, 0)
    data = repacked(zlib.compress(bytes(5 * (1 + 6 * 7))), header)
    assert image_fault(data, PATH, SIZE) == "is not 8-bit RGB"


def test_a_label_in_the_metadata_of_a_table_is_found(copied: Path, benchmark: Path) -> None:
    path = benchmark / "items.parquet"
    table = pq.read_table(path)
    for changed in (
        table.replace_schema_metadata({"label": "seen"}),
        table.cast(
            pa.schema(
                [table.schema.field(0).with_metadata({"label": "seen"}), *list(table.schema)[1:]]
            )
        ),
    ):
        pq.write_table(changed, path)
        seal(benchmark)
        assert "items.parquet cannot be read: it has metadata" in details_of(
            judged(copied), "damaged file"
        )


@pytest.mark.parametrize("size", [(1, 1), (5, 7), (8, 5)])
def test_another_size_is_found(size: tuple[int, int]) -> None:
    assert f"has {size[0]}x{size[1]} pixels, not 7x5" in str(
        image_fault(png(size=size), PATH, SIZE)
    )


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
    assert image_fault(data, PATH, SIZE) is None
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_models_see_pixels_alone_so_their_packing_is_no_fault() -> None:
    """Filters of rows, cuts of chunks and bytes behind the image reach no model."""
    rows = b"".join(bytes([filter_type]) + bytes(3 * 7) for filter_type in b"\1\0\4\0\2")
    assert image_fault(repacked(zlib.compress(rows)) + b"a red cube", PATH, SIZE) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    assert image_fault(data, PATH, SIZE) is not None
    assert image_fault(b"\x89PNG\r\n\x1a\n" + data, PATH, SIZE) is not None
