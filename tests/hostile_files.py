"""Files that cost far more than their bytes: bombs of Parquet, PNG and NumPy, sparse files; and
what reading them costs."""

import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_MEASURED = """
import re, sys
sys.argv = sys.argv[1:]
try:
    exec({code!r})
finally:
    peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
    print("PEAK", int(peak) // 1024, file=sys.stderr)
"""


def measured(code: str, *arguments: str, seconds: float = 120) -> tuple[int, str, int]:
    """Run Python in a process of its own: its exit code, stderr, and the most MiB of memory that it
    held."""
    command = [sys.executable, "-P", "-c", _MEASURED.format(code=code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    errors, _, peak = done.stderr.rpartition("PEAK ")
    return done.returncode, errors, int(peak)


def sparse(path: Path, size: int = 64 << 30) -> Path:
    """A file of zeros that takes no room."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


_TEXTS = ["x" * (1 << 20)] * 400
PARQUET_BOMBS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "dictionary": (
        lambda: pa.DictionaryArray.from_arrays(_zeros(1_000_000), pa.array(["x" * 500_000])),
        {},
    ),
    "page": (lambda: _TEXTS, {"data_page_size": 1 << 30}),
    "rows": (lambda: pa.nulls(100_000_000, pa.string()), {}),
    "list": (lambda: pa.ListArray.from_arrays([0, 100_000_000], _zeros(100_000_000)), {}),
    "prefix": (lambda: _TEXTS, {"column_encoding": "DELTA_BYTE_ARRAY"}),
}
"""Values and options of tables of up to some hundred KB: one text a million times, one page of 400
MiB, a hundred million empty cells, a list of as many numbers in one row, and texts that each repeat
the one before."""


def _zeros(n: int) -> Any:
    return pa.array(np.zeros(n, np.int32))


def parquet_bomb(folder: Path, name: str, column: str = "scene_id") -> Path:
    """Write one of PARQUET_BOMBS."""
    values, options = PARQUET_BOMBS[name]
    path = folder / f"{name}.parquet"
    table = pa.table({column: values()})
    pq.write_table(table, path, compression="zstd", use_dictionary=not options, **options)
    return path


def png(width: int, height: int, *chunks: tuple[bytes, bytes], pixels: bytes = b"") -> bytes:
    """A PNG file of RGB pixels, with chunks between its header and its pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def pixel_bomb(side: int = 13_300) -> bytes:
    """A PNG file of half a MB with `side` x `side` pixels."""
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + 3 * side)) for _ in range(side))
    return png(side, side, pixels=rows + packer.flush())


def text_bombs(mib: int = 512) -> list[bytes]:
    """PNG files of one pixel, each with a compressed chunk of so many MiB."""
    packer = zlib.compressobj(9)
    zeros = b"".join(packer.compress(bytes(1 << 20)) for _ in range(mib)) + packer.flush()
    pixel = zlib.compress(bytes(4))
    chunks = [
        (b"zTXt", b"a\0\0" + zeros),
        (b"iTXt", b"a\0\1\0\0\0" + zeros),
        (b"iCCP", b"a\0\0" + zeros),
    ]
    return [png(1, 1, chunk, pixels=pixel) for chunk in chunks]
