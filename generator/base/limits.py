"""Refuses files that would exhaust time or memory: pipes and devices, sparse files, and files above
a size limit.

Every reader of files calls this first (docs/security.md). Tables have a memory limit (tables.py);
PNG images and NumPy arrays have further limits (arrays.py).
"""

import os
import resource
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from generator.base.confinement import memory_of_data
from generator.base.errors import UserError

MOST_TOML = 1 << 20
"""Bytes of a TOML file."""
MOST_JSON = 32 << 20
"""Bytes of a JSON file such as a manifest, a run or a holdout. Parsed JSON takes up to 25 times its
size."""
MOST_LIST = 1 << 30
"""Bytes of a text file with a line for each file, row or label."""
MOST_IN_SCENE = 256 << 20
"""Bytes of one file of a scene: more than the normals of 4096x4096 pixels take."""
_SPARSE_FROM = 64 << 20
"""Bytes up to which a file may be sparse."""
_SPARSE = 8
"""A sparse file stores less than its bytes over this; the rest reads as zeros."""
_BLOCK = 512
"""Bytes of a block as stat counts them."""


def check_file(path: Path, most: int | None = None) -> None:
    """Check that a file can be read without exhausting time or memory.

    Args:
        path: The file; it need not exist.
        most: Most bytes; None for any number.

    Raises:
        UserError: It is not a regular file, has more than `most` bytes, or is sparse: it has more
            than 64 MiB and stores less than an eighth of them.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(status.st_mode):
        raise UserError(
            f"Expected {path} to be a regular file, got {_kind(status.st_mode)}; give a file."
        )
    if most is not None and status.st_size > most:
        raise UserError(
            f"{path} has {status.st_size:,} bytes, expected at most {most:,} in such a file; take "
            f"it from someone you trust."
        )
    stored = status.st_blocks * _BLOCK
    looks_sparse = status.st_size > _SPARSE_FROM and stored * _SPARSE < status.st_size
    # The block count proves nothing: some file systems give none.
    if looks_sparse and _has_hole(path):
        raise UserError(
            f"{path} is sparse: it has {status.st_size:,} bytes and stores "
            f"{stored:,}; take it from someone you trust."
        )


# The limit applies to the whole process, so one thread at a time may set it.
_BOUND = RLock()


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Limit the memory that this process may allocate. Only Linux enforces the limit.

    Args:
        most: Bytes that it may allocate beside those that it has.

    Returns:
        A context, in which further allocations raise MemoryError.
    """
    if sys.platform != "linux":
        yield
        return
    with _BOUND:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = memory_of_data() + most
        if soft != resource.RLIM_INFINITY:
            limit = min(limit, soft)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def read_bytes(path: Path, most: int = MOST_JSON) -> bytes:
    """Read the bytes of a file.

    Args:
        path: The file.
        most: Most bytes.

    Returns:
        Its bytes.

    Raises:
        UserError: As for `check_file`.
        OSError: It cannot be read.
    """
    check_file(path, most)
    return path.read_bytes()


def read_text(path: Path, most: int = MOST_JSON) -> str:
    """Read a text file.

    Args:
        path: The file, in UTF-8.
        most: Most bytes.

    Returns:
        Its text, without the byte order mark that editors on Windows write.

    Raises:
        UserError: As for `check_file`.
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    check_file(path, most)
    return path.read_text(encoding="utf-8-sig")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _has_hole(path: Path) -> bool:
    """Whether the file system reports a hole in a file."""
    with path.open("rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < path.stat().st_size
