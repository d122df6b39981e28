"""The lock on the folder of a run: one command at a time writes there.

Two commands that score different models into one folder would mix the scores of one with the name
of the other.
"""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from generator.base.errors import UserError
from generator.base.files import locked, write_text
from generator.base.limits import read_text
from generator.base.paths import check_own_files

_LOCK = ".lock"
"""The file that is locked."""
_HOLDER = ".lock.holder"
"""The file that says which process holds the lock."""
LOCK_FILES = (_LOCK, _HOLDER)
"""The files of the lock in a run's folder, which are no part of the run."""
_MOST_HOLDER = 1 << 10
"""Bytes that are read of the file that says who holds the lock: it may not be ours."""


@contextmanager
def locked_run(folder: Path, is_main: bool = True) -> Iterator[None]:
    """Context in which no other command writes a run.

    Folders that it creates, and that are empty at the end, are removed.

    Args:
        folder: The folder of the run; it need not exist.
        is_main: Whether this process writes the run's results. Of several processes that share a
            run, only that one holds the lock.

    Raises:
        UserError: Another process holds the lock, and which; or the folder holds a link.
    """
    if not is_main:
        yield
        return
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; choose another --out.")
    check_own_files(folder)  # before anything is written through a link
    created_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    busy = (
        f"{folder} is being written by {_read_holder(folder)}; wait until it ends, or choose "
        f"another --out."
    )
    try:
        with locked(folder / _LOCK, busy):
            write_text(folder / _HOLDER, _describe_holder())
            try:
                yield
            finally:
                (folder / _HOLDER).unlink(missing_ok=True)
    finally:
        for path in created_folders:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def _describe_holder() -> str:
    """This process, its command and machine, and the time, as the error of another process says
    it."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    return (
        f"process {os.getpid()} ({command}) on {platform.node()} since "
        f"{datetime.now():%Y-%m-%d %H:%M}"
    )


def _read_holder(folder: Path) -> str:
    """Who holds the lock, by the file that the holder wrote."""
    try:
        return read_text(folder / _HOLDER, _MOST_HOLDER)
    except (OSError, UnicodeDecodeError):
        return "another command"  # the holder has not written the file yet
