"""Refuses files that cost more than they should: pipes and devices, sparse files, and files larger than any honest one.

Every reader of files asks here first (docs/security.md). Tables are held to a limit of memory (parquet.py), PNG images
and NumPy arrays to limits of their own, further down.
"""

import io
import os
import resource
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

import numpy as np
from PIL import Image

from generator.base.confinement import memory_of_data
from generator.base.errors import UserError

MOST_TOML = 1 << 20
MOST_JSON = 32 << 20
"""Bytes of a file that describes: a manifest, a run, a holdout. Python holds JSON in up to 25 times its size."""
MOST_LIST = 1 << 30
"""Bytes of a text file with a line for each file, row or label."""
MOST_IN_SCENE = 256 << 20
"""Bytes of one file of a scene: more than the normals of 4096x4096 pixels take."""
_SPARSE_FROM, _SPARSE = 64 << 20, 8
_ARRAY = 64 << 20


def check_file(path: Path, most: int | None = None) -> None:
    """Raise UserError where `path` is no regular file, is sparse, or has more than `most` bytes. It need not exist.

    A sparse file stores less than an eighth of what reading it gives, zeros for the rest; up to 64 MiB that is allowed.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"Expected {path} to be a regular file, got {_kind(found.st_mode)}; give a file.")
    if most is not None and found.st_size > most:
        raise UserError(
            f"{path} has {found.st_size:,} bytes, expected at most {most:,} in such a file; take it from someone you "
            f"trust."
        )
    if found.st_size > _SPARSE_FROM and found.st_blocks * 512 * _SPARSE < found.st_size and _has_hole(path):
        raise UserError(
            f"{path} is sparse: it has {found.st_size:,} bytes and stores {found.st_blocks * 512:,}; take it from "
            f"someone you trust."
        )


_BOUND = RLock()  # the limit is that of the process


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Context in which this process may take at most `most` bytes more than it has; what asks for more raises
    MemoryError. Only Linux keeps this limit."""
    if sys.platform != "linux":
        yield
        return
    with _BOUND:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = memory_of_data() + most
        resource.setrlimit(resource.RLIMIT_DATA, (limit if soft == resource.RLIM_INFINITY else min(limit, soft), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def read_bytes(path: Path, most: int = MOST_JSON) -> bytes:
    """The bytes of a file. Raises UserError as `check_file`, OSError where it cannot be read."""
    check_file(path, most)
    return path.read_bytes()


def read_text(path: Path, most: int = MOST_JSON, encoding: str = "utf-8") -> str:
    """The text of a file. Raises UserError as `check_file`, OSError and UnicodeDecodeError where it cannot be read."""
    check_file(path, most)
    return path.read_text(encoding=encoding)


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _has_hole(path: Path) -> bool:
    """Whether the file system says that a part of a file is not stored. Some give no number of blocks."""
    with path.open("rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < path.stat().st_size


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
