"""Reads arrays of NumPy from .npy and .npz files: as large as their files, or as the archive says, and no objects."""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from generator.base.limits import MOST_IN_SCENE, check_file

_NUMBERS = "biuf"


def read_npy(data: bytes) -> np.ndarray:
    """The array of numbers in the bytes of a .npy file. Raises ValueError where it is damaged, or has other bytes too."""
    file = io.BytesIO(data)
    try:
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, by_column, kind = read_header[np.lib.format.read_magic(file)](file)
    except Exception as error:  # NumPy parses the header as Python, with all the errors that this has
        raise ValueError(f"it is no array ({type(error).__name__})") from None
    return _numbers(data[file.tell() :], shape, by_column, kind)


def _numbers(data: bytes, shape: tuple[int, ...], by_column: bool, kind: np.dtype) -> np.ndarray:
    n = 1
    for side in shape:
        n *= side
    if kind.kind not in _NUMBERS or kind.shape or min(shape, default=0) < 0 or n * kind.itemsize != len(data):
        raise ValueError(f"it has {len(data):,} bytes, and states an array of {shape} of {kind}")
    return np.frombuffer(data, kind).reshape(shape, order="F" if by_column else "C")


def map_npy(path: Path, shape: tuple[int | None, ...], kind: type[np.generic]) -> np.ndarray:
    """The array of a .npy file, read from disk as it is used. A side of the shape that is None may have any length.

    Raises UserError or ValueError unless it is as expected.
    """
    check_file(path)
    try:
        array: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise
    except Exception as error:  # as in read_npy
        raise ValueError(f"it is no array ({type(error).__name__})") from None
    wanted = tuple(n if side is None else side for n, side in zip(array.shape, shape, strict=False))
    if array.ndim != len(shape) or array.shape != wanted or array.dtype != kind:
        raise ValueError(f"it has {array.shape} of {array.dtype}, expected {shape} of {np.dtype(kind)}")
    return array


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Arrays of a .npz file by name. Raises UserError where it is no regular file, OSError where it cannot be read, and
    ValueError where it is damaged or an array takes more than 256 MiB."""
    check_file(path, MOST_IN_SCENE)
    try:
        with zipfile.ZipFile(path) as archive:
            return [_member(archive, f"{name}.npy") for name in names]
    except (KeyError, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"it is no archive of the arrays {', '.join(names)} ({error})") from None


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    size = archive.getinfo(name).file_size
    if size > MOST_IN_SCENE:
        raise ValueError(f"its array {name} takes {size:,} bytes, expected at most {MOST_IN_SCENE:,}")
    with archive.open(name) as file:
        return read_npy(file.read(size))
