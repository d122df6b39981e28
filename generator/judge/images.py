"""Checks PNG files: whole, of the expected size and mode, of pixels and nothing else.

The header is read before anything is decompressed, so that a file of a few bytes cannot fill the memory.
"""

import struct
import zlib
from collections.abc import Iterator

from generator.base.limits import MOST_SIDE, read_png

Size = tuple[int, int]
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MODES = {"images": (2, "RGB"), "masks": (0, "grayscale")}  # PNG's colour type, and its name
_PIXELS = b"IHDR", b"IDAT", b"IEND"


def image_fault(data: bytes, path: str = "", size: Size | None = None) -> str | None:
    """What is wrong with the bytes of a PNG file; None if nothing is.

    `path`: within the world, such as images/000017.png; images are 8-bit RGB, masks 8-bit grayscale. `size`:
    expected width and height in pixels. Neither is checked where it is not given.
    """
    try:
        chunks = dict[bytes, bytes]()
        for name, content in _chunks(data):
            chunks[name] = chunks.get(name, b"") + content
        return _header_fault(chunks[b"IHDR"], path, size) or _metadata(chunks) or _pixels_fault(data, chunks)
    except (OSError, SyntaxError, ValueError, KeyError, struct.error, zlib.error) as error:
        return f"does not decode: {error}"


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each chunk. Raises ValueError if the file is cut short, or goes on after its end."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("it is no PNG file")
    at = len(_SIGNATURE)
    while True:
        length, name = struct.unpack_from(">I4s", data, at)
        if at + 12 + length > len(data):
            raise ValueError("it is cut short")
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length
        if name == b"IEND":
            break
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes follow the end of the image")


def _header_fault(header: bytes, path: str, size: Size | None) -> str | None:
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if size is not None and (width, height) != size:
        return f"has {width}x{height} pixels, not {size[0]}x{size[1]} as the manifest says"
    if max(width, height) > MOST_SIDE:
        return f"has {width}x{height} pixels, more than the {MOST_SIDE}x{MOST_SIDE} of the largest image"
    mode = _MODES.get(path.partition("/")[0])
    if mode is not None and (depth, color, interlaced) != (8, mode[0], 0):
        return f"is not 8-bit {mode[1]} without interlacing"
    return None


def _metadata(chunks: dict[bytes, bytes]) -> str | None:
    others = [name.decode("ascii", "replace") for name in chunks if name not in _PIXELS]
    return f"has metadata: chunks {', '.join(others)} beside its pixels" if others else None


def _pixels_fault(data: bytes, chunks: dict[bytes, bytes]) -> str | None:
    """Pixels that do not decode, or other bytes hidden behind them."""
    image = read_png(data)
    bits = image.width * len(image.getbands()) * chunks[b"IHDR"][8]
    rows = image.height * (1 + (bits + 7) // 8)  # each row follows a byte that names its filter
    unpacked = zlib.decompressobj()
    pixels = unpacked.decompress(chunks[b"IDAT"], rows + 1)
    if len(pixels) != rows or unpacked.unused_data or unpacked.unconsumed_tail:
        return "has bytes behind its pixels"
    return None
