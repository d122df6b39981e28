"""What no reader opens: pipes, sockets, devices, sparse files, and files larger than they should
be."""

import io
import os
import socket
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generator.base.arrays import MOST_SIDE, map_npy, read_npy, read_npz, read_png
from generator.base.errors import UserError
from generator.base.limits import bounded_memory, check_file, read_bytes, read_text
from tests.hostile_files import measured, pixel_bomb, png, sparse, text_bombs


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("héllo")
    check_file(tmp_path / "missing")
    assert (read_text(path), read_bytes(path, 6)) == ("héllo", "héllo".encode())
    (tmp_path / "marked").write_text("héllo", encoding="utf-8-sig")
    assert read_text(tmp_path / "marked") == "héllo"
    with pytest.raises(UserError, match="has 6 bytes, expected at most 5"):
        read_bytes(path, 5)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "missing")


def test_pipes_sockets_devices_and_folders_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may have a hundred characters
    os.mkfifo("pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket")
    for path, kind in (
        (Path("pipe"), "a pipe"),
        (Path("socket"), "a socket"),
        (Path("/dev/zero"), "a device"),
        (tmp_path, "a folder"),
    ):
        with pytest.raises(UserError, match=f"to be a regular file, got {kind}"):
            read_text(path)
    listening.close()


def test_a_sparse_file_is_refused_and_a_written_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"sparse: it has 68,719,476,736 bytes and stores [0-9,]+; take"
    ):
        check_file(sparse(tmp_path / "zeros"))
    check_file(sparse(tmp_path / "few", 1 << 20))
    written = tmp_path / "written"
    written.write_bytes(os.urandom(1 << 20) * 80)
    check_file(written)
    with written.open("rb+") as file:  # a tenth of it is a hole, as some copies make of zeros
        file.truncate(90 << 20)
    check_file(written)


def test_memory_is_bounded_while_it_lasts() -> None:
    with pytest.raises(MemoryError), bounded_memory(64 << 20), bounded_memory(1 << 40):
        np.ones(128 << 20, np.uint8)
    with bounded_memory(256 << 20):
        assert np.ones(64 << 20, np.uint8).all()
    assert np.ones(512 << 20, np.uint8)[-1] == 1


def stored(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def stating(shape: str, descr: str = "'<f4'") -> bytes:
    """A .npy file of four bytes that states an array of that shape."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(4)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.eye(3)),
        np.array(7),
        np.zeros((0, 3), np.int8),
    ],
)
def test_arrays_are_read_as_numpy_reads_them(array: np.ndarray, tmp_path: Path) -> None:
    read_array = read_npy(stored(array))
    assert read_array.dtype == array.dtype
    assert np.array_equal(read_array, array)
    np.savez_compressed(tmp_path / "a.npz", one=array, other=array * 2)
    assert np.array_equal(read_npz(tmp_path / "a.npz", ["other"])[0], array * 2)


@pytest.mark.parametrize(
    ("shape", "descr"),
    [
        *(
            (shape, "'<f4'")
            for shape in (
                "(10**12,)",
                "(1000000000000,)",
                "(-1,)",
                "(0,)",
                "1",
                "(1, ",
                "(" * 500,
                "(1.5,)",
            )
        ),
        *(("(1,)", descr) for descr in ("'|O'", "[('a', '<f4')]", "'<U1'", "7")),
    ],
)
def test_an_array_of_another_size_than_its_file_or_of_no_numbers_is_refused(
    shape: str, descr: str
) -> None:
    with pytest.raises(ValueError, match=r"it is not an array|and states an array"):
        read_npy(stating(shape, descr))


@given(st.integers(0, 140), st.binary(max_size=4))
def test_a_damaged_array_is_refused_or_as_large_as_its_file(at: int, other: bytes) -> None:
    data = stored(np.arange(4, dtype=np.float32))
    with suppress(ValueError):
        assert read_npy(data[:at] + other + data[at + len(other) :]).nbytes <= len(data)


def test_a_matrix_on_disk_has_the_expected_shape(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    path.write_bytes(stored(np.eye(2, 3, dtype=np.float32)))
    assert np.array_equal(map_npy(path, (2, 3), np.float32), np.eye(2, 3))
    for shape, kind in (((3, 2), np.float32), ((2, 3), np.float64)):
        with pytest.raises(ValueError, match="expected"):
            map_npy(path, shape, kind)
    path.write_bytes(stating("(1000000000000,)"))
    with pytest.raises(ValueError, match="not an array"):
        map_npy(path, (10**12,), np.float32)
    with pytest.raises(UserError, match="sparse"):
        map_npy(sparse(path), (1, 1), np.float32)
    with pytest.raises(FileNotFoundError):
        map_npy(tmp_path / "none.npy", (1,), np.float32)


def test_an_archive_of_zeros_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as file,
    ):
        for _ in range(300):
            file.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(ValueError, match=r"takes 314,572,800 bytes, expected at most 268,435,456"):
        read_npz(path, ["a"])
    for data in (b"", b"PK", stored(np.eye(2))):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="not an archive of the arrays a"):
            read_npz(path, ["a"])


def encoded(kind: str, size: tuple[int, int] = (5, 4)) -> bytes:
    file = io.BytesIO()
    Image.fromarray(
        np.arange(size[0] * size[1] * 3, dtype=np.uint8).reshape(size[1], size[0], 3)
    ).save(file, kind)
    return file.getvalue()


def test_an_image_is_read_and_no_other_format() -> None:
    assert np.array_equal(
        np.asarray(read_png(encoded("PNG"))), np.asarray(Image.open(io.BytesIO(encoded("PNG"))))
    )
    for kind in ("JPEG", "GIF", "TIFF", "EPS"):
        with pytest.raises(ValueError, match="it is not a PNG file"):
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
from generator.base.arrays import read_png
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
    returned, output, peak = measured(code, *map(str, paths))
    assert returned == 0, output
    assert "expected at most 4096x4096" in output
    assert peak < 300
