"""Reads PNG files as images, and refuses those whose pixels would fill the memory before any is decoded."""

import io
import struct
import zlib

from PIL import Image

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
