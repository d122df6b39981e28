"""Reads PNG images and NumPy arrays; refuses files that would take too much memory
(docs/security.md)."""

import io
import re
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
    """Decode the bytes of a PNG file to an image, in the mode of the file. Other formats are
    refused.

    Raises ValueError if the file is damaged, or is wider or higher than `most` pixels (width,
    height).
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("it is no PNG file")
    try:
        width, height = struct.unpack_from(">II", data, 16)
        if width > most[0] or height > most[1]:
            raise ValueError(
                f"it has {width}x{height} pixels, expected at most {most[0]}x{most[1]}"
            )
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            image.load()
            return image
    except (OSError, SyntaxError, EOFError, IndexError, struct.error, zlib.error) as error:
        raise ValueError(f"it is no whole PNG file ({reason_of_image(error)})") from None


def reason_of_image(error: Exception) -> str:
    """Why Pillow cannot read an image, without the address of the object that it read.

    >>> reason_of_image(OSError("cannot identify image file <_io.BytesIO object at 0x7f>"))
    'cannot identify image file'
    """
    return re.sub(r" <[^<>]* at 0x[0-9a-f]+>", "", str(error)).rstrip(".")


_SIXTEEN_BITS = ("I", "I;16", "I;16L", "I;16B", "I;16N")
"""Pillow's modes of 16-bit grey. "I" has 32 bits; in older versions, PNG files of 16 bits have it
too."""
_MOST_OF_SIXTEEN, _LEVELS_A_STEP = 65_535, 257  # 257 x 255 = 65,535


def to_rgb(image: Image.Image) -> Image.Image:
    """An image as 8-bit RGB. Grey of 16 bits is scaled: Pillow's own conversion makes every value
    above 255 white.

    >>> to_rgb(Image.new("I;16", (1, 1), 257 * 100)).getpixel((0, 0))
    (100, 100, 100)

    Raises:
        ValueError: its pixels are fractions or integers above 65,535, whose white is unknown.
    """
    if image.mode in _SIXTEEN_BITS:
        levels = np.asarray(image).astype(np.int64)
        if levels.min() < 0 or levels.max() > _MOST_OF_SIXTEEN:
            raise ValueError("its pixels are integers of 32 bits, expected 8 or 16 bits")
        rounded = (levels + _LEVELS_A_STEP // 2) // _LEVELS_A_STEP
        image = Image.fromarray(rounded.astype(np.uint8))
    elif image.mode.startswith("F"):
        raise ValueError("its pixels are floating-point numbers, expected 8 or 16 bits")
    return image.convert("RGB")


def read_npy(data: bytes) -> np.ndarray:
    """Read the numeric array in the bytes of a .npy file. Raises ValueError if it is damaged, not
    numeric, or has trailing bytes."""
    file = io.BytesIO(data)
    try:
        with bounded_memory(
            2 * len(data) + _ARRAY
        ):  # NumPy allocates the size that the header states
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:  # NumPy parses the header as Python, which can raise many errors
        raise ValueError(f"it is no array ({type(error).__name__})") from None
    if array.dtype.kind not in "biuf" or file.tell() != len(data):
        raise ValueError(
            f"it has {len(data):,} bytes, and states an array of {array.shape} of {array.dtype}"
        )
    return array


def map_npy(path: Path, shape: tuple[int | None, ...], kind: type[np.generic]) -> np.ndarray:
    """Memory-map the array of a .npy file. A side that is None in `shape` may have any length.

    Raises UserError as `check_file`, and ValueError if it is damaged or has another shape or dtype.
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
        raise ValueError(
            f"it has {array.shape} of {array.dtype}, expected {shape} of {np.dtype(kind)}"
        )
    return array


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Read arrays of a .npz file by name. Raises UserError as `check_file`, OSError if the file
    cannot be read, and ValueError if it is damaged or an array takes more than 256 MiB."""
    check_file(path, MOST_IN_SCENE)
    try:
        with zipfile.ZipFile(path) as archive:
            return [_member(archive, f"{name}.npy") for name in names]
    except (
        KeyError,
        EOFError,
        RuntimeError,
        struct.error,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(f"it is no archive of the arrays {', '.join(names)} ({error})") from None


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    size = archive.getinfo(name).file_size
    if size > MOST_IN_SCENE:
        raise ValueError(
            f"its array {name} takes {size:,} bytes, expected at most {MOST_IN_SCENE:,}"
        )
    with archive.open(name) as file:
        return read_npy(file.read(size))
