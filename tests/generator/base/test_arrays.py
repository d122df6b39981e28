"""Arrays of .npy and .npz files: as large as they state, of numbers, and refused otherwise."""

import io
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.base.limits import map_npy, read_npy, read_npz
from tests.hostile_files import sparse


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
    found = read_npy(stored(array))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    np.savez_compressed(tmp_path / "a.npz", one=array, other=array * 2)
    assert np.array_equal(read_npz(tmp_path / "a.npz", ["other"])[0], array * 2)


@pytest.mark.parametrize(
    "shape", ["(10**12,)", "(1000000000000,)", "(-1,)", "(2,)", "(0,)", "1", "None", "(1, ", "(" * 500, "(1.5,)"]
)
def test_an_array_of_another_size_than_its_file_is_refused(shape: str) -> None:
    with pytest.raises(ValueError, match=r"it is no array|and states an array"):
        read_npy(stating(shape))


def test_objects_and_structures_are_refused() -> None:
    for descr in ("'|O'", "[('a', '<f4')]", "'<U1'", "'<M8[s]'", "7"):
        with pytest.raises(ValueError, match=r"it is no array|and states an array"):
            read_npy(stating("(1,)", descr))


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
    with pytest.raises(ValueError, match="no array"):
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
        with pytest.raises(ValueError, match="no archive of the arrays a"):
            read_npz(path, ["a"])
