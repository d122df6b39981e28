"""Reads PNG images and NumPy arrays, and refuses those that cost more than they should (docs/security.md)."""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from generator.base.limits import MOST_IN_SCENE, bounded_memory, check_file

_ARRAY = 64 << 20
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_SIDE = 4096
"""Pixels of a side, as `gen render --resolution` allows."""


def read_png(data: bytes, most: tuple[int, int] = (MOST_SIDE, MOST_SIDE)) -> Image.Image:
    """The image in the bytes of a PNG file, in its own mode. No other format is decoded, whatever the file is called.

    Raises ValueError where the file is damaged, or has more than `most` pixels across or down.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("it is no PNG file")
    try:
        width, height = struct.unpack_from(">II", data, 16)
        if width > most[0] or height > most[1]:
            raise ValueError(f"it has {width}x{height} pixels, expected at most {most[0]}x{most[1]}")
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            image.load()
            return image
    except (OSError, SyntaxError, EOFError, IndexError, struct.error, zlib.error) as error:
        raise ValueError(f"it is no whole PNG file ({error})") from None


def read_npy(data: bytes) -> np.ndarray:
    """The array of numbers in the bytes of a .npy file. Raises ValueError where it is damaged, or has other bytes
    too."""
    file = io.BytesIO(data)
    try:
        with bounded_memory(2 * len(data) + _ARRAY):  # NumPy makes room for what the header states
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:  # NumPy parses the header as Python, with all the errors that this has
        raise ValueError(f"it is no array ({type(error).__name__})") from None
    if array.dtype.kind not in "biuf" or file.tell() != len(data):
        raise ValueError(f"it has {len(data):,} bytes, and states an array of {array.shape} of {array.dtype}")
    return array


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
