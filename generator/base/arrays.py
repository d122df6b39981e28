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

_ARRAY_OVERHEAD = 64 << 20
"""Bytes that NumPy may need besides the array itself."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_SIDE = 4096
"""Pixels of a side, as `gen render --resolution` allows."""


def read_png(data: bytes, most: tuple[int, int] = (MOST_SIDE, MOST_SIDE)) -> Image.Image:
    """Decode the bytes of a PNG file. Other formats are refused.

    Args:
        data: The bytes.
        most: Largest width and height, pixels.

    Returns:
        The image, in the mode of the file.

    Raises:
        ValueError: The file is damaged, or wider or higher than `most`.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("it is not a PNG file")
    try:
        # The header states the size, so a huge image is refused before it is decoded.
        width, height = struct.unpack_from(">II", data, 16)
        if width > most[0] or height > most[1]:
            raise ValueError(
                f"it has {width}x{height} pixels, expected at most {most[0]}x{most[1]}"
            )
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            image.load()
            return image
    except (OSError, SyntaxError, EOFError, IndexError, struct.error, zlib.error) as error:
        raise ValueError(f"it is not a whole PNG file ({reason_of_image(error)})") from None


def reason_of_image(error: Exception) -> str:
    """Say why Pillow cannot read an image, without the address of the object that it read.

    Args:
        error: Pillow's error.

    Returns:
        A clause for a message.

    Example:
        >>> reason_of_image(OSError("cannot identify image file <_io.BytesIO object at 0x7f>"))
        'cannot identify image file'
    """
    return re.sub(r" <[^<>]* at 0x[0-9a-f]+>", "", str(error)).rstrip(".")


_SIXTEEN_BITS = ("I", "I;16", "I;16L", "I;16B", "I;16N")
"""Pillow's modes of 16-bit grey. "I" has 32 bits; in older versions, PNG files of 16 bits have it
too."""
_MOST_OF_SIXTEEN = 65_535
"""White in 16 bits."""
_LEVELS_A_STEP = 257
"""Levels of 16 bits in a step of 8 bits: 257 x 255 = 65,535."""


def to_rgb(image: Image.Image) -> Image.Image:
    """Convert an image to 8-bit RGB.

    Args:
        image: An image of any mode.

    Returns:
        The image in mode RGB. Grey of 16 bits is scaled: Pillow's own conversion makes every value
        above 255 white.

    Raises:
        ValueError: Its pixels are fractions or integers above 65,535, whose white is unknown.

    Example:
        >>> to_rgb(Image.new("I;16", (1, 1), 257 * 100)).getpixel((0, 0))
        (100, 100, 100)
    """
    if image.mode in _SIXTEEN_BITS:
        levels = np.asarray(image).astype(np.int64)
        if levels.min() < 0 or levels.max() > _MOST_OF_SIXTEEN:
            raise ValueError("its pixels are integers of 32 bits, expected 8 or 16 bits")
        # To the nearest level of 8 bits, in integers.
        rounded = (levels + _LEVELS_A_STEP // 2) // _LEVELS_A_STEP
        image = Image.fromarray(rounded.astype(np.uint8))
    elif image.mode.startswith("F"):
        raise ValueError("its pixels are floating-point numbers, expected 8 or 16 bits")
    return image.convert("RGB")


def read_npy(data: bytes) -> np.ndarray:
    """Read the numeric array in the bytes of a .npy file.

    Args:
        data: The bytes.

    Returns:
        The array, with the shape and dtype that the file states.

    Raises:
        ValueError: The file is damaged, not numeric, or has trailing bytes.
    """
    file = io.BytesIO(data)
    try:
        # NumPy allocates the size that the header states, whatever follows it.
        with bounded_memory(2 * len(data) + _ARRAY_OVERHEAD):
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:
        # NumPy parses the header as Python, which can raise many errors.
        raise ValueError(f"it is not an array ({type(error).__name__})") from None
    if array.dtype.kind not in "biuf" or file.tell() != len(data):
        raise ValueError(
            f"it has {len(data):,} bytes, and states an array of {array.shape} of {array.dtype}"
        )
    return array


def map_npy(path: Path, shape: tuple[int | None, ...], kind: type[np.generic]) -> np.ndarray:
    """Memory-map the array of a .npy file.

    Args:
        path: The file.
        shape: Expected shape; a side that is None may have any length.
        kind: Expected dtype.

    Returns:
        The array, read-only.

    Raises:
        UserError: The file is not a regular file, or is sparse.
        FileNotFoundError: There is no file.
        ValueError: It is damaged, or has another shape or dtype.
    """
    check_file(path)
    try:
        array: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise
    except Exception as error:
        # As in `read_npy`.
        raise ValueError(f"it is not an array ({type(error).__name__})") from None
    is_expected = array.ndim == len(shape) and array.dtype == kind
    for length, side in zip(array.shape, shape, strict=False):
        if side is not None and length != side:
            is_expected = False
    if not is_expected:
        raise ValueError(
            f"it has {array.shape} of {array.dtype}, expected {shape} of {np.dtype(kind)}"
        )
    return array


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Read arrays of a .npz file.

    Args:
        path: The file.
        names: Names of the arrays.

    Returns:
        The arrays, in the order of `names`.

    Raises:
        UserError: The file is not a regular file, is sparse, or has more than 256 MiB.
        OSError: It cannot be read.
        ValueError: It is damaged, or an array takes more than 256 MiB.
    """
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
        raise ValueError(
            f"it is not an archive of the arrays {', '.join(names)} ({error})"
        ) from None


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    size = archive.getinfo(name).file_size
    if size > MOST_IN_SCENE:
        raise ValueError(
            f"its array {name} takes {size:,} bytes, expected at most {MOST_IN_SCENE:,}"
        )
    with archive.open(name) as file:
        return read_npy(file.read(size))
