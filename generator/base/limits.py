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
MOST_JSON = 32 << 20
"""Bytes of a JSON file such as a manifest, a run or a holdout. Parsed JSON takes up to 25 times its
size."""
MOST_LIST = 1 << 30
"""Bytes of a text file with a line for each file, row or label."""
MOST_IN_SCENE = 256 << 20
"""Bytes of one file of a scene: more than the normals of 4096x4096 pixels take."""
_SPARSE_FROM, _SPARSE = 64 << 20, 8


def check_file(path: Path, most: int | None = None) -> None:
    """Raise UserError if `path` is no regular file, is sparse, or has more than `most` bytes. It
    need not exist.

    A sparse file stores less than an eighth of its bytes; the rest reads as zeros. Up to 64 MiB it
    is allowed.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(found.st_mode):
        raise UserError(
            f"Expected {path} to be a regular file, got {_kind(found.st_mode)}; give a file."
        )
    if most is not None and found.st_size > most:
        raise UserError(
            f"{path} has {found.st_size:,} bytes, expected at most {most:,} in such a file; take "
            f"it from someone you trust."
        )
    if (
        found.st_size > _SPARSE_FROM
        and found.st_blocks * 512 * _SPARSE < found.st_size
        and _has_hole(path)
    ):
        raise UserError(
            f"{path} is sparse: it has {found.st_size:,} bytes and stores "
            f"{found.st_blocks * 512:,}; take it from someone you trust."
        )


_BOUND = RLock()  # the limit applies to the whole process


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Context in which this process may allocate at most `most` more bytes; beyond that,
    allocations raise MemoryError. Only Linux enforces the limit."""
    if sys.platform != "linux":
        yield
        return
    with _BOUND:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = memory_of_data() + most
        resource.setrlimit(
            resource.RLIMIT_DATA,
            (limit if soft == resource.RLIM_INFINITY else min(limit, soft), hard),
        )
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def read_bytes(path: Path, most: int = MOST_JSON) -> bytes:
    """The bytes of a file. Raises UserError as `check_file`, OSError where it cannot be read."""
    check_file(path, most)
    return path.read_bytes()


def read_text(path: Path, most: int = MOST_JSON) -> str:
    """The text of a file, without the byte order mark that editors on Windows write.

    Raises UserError as `check_file`, OSError and UnicodeDecodeError where it cannot be read.
    """
    check_file(path, most)
    return path.read_text(encoding="utf-8-sig")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _has_hole(path: Path) -> bool:
    """Whether the file system reports a hole in a file. The block count proves nothing: some file
    systems give none."""
    with path.open("rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < path.stat().st_size
