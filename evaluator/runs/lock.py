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

_LOCK, _HOLDER = ".lock", ".lock.holder"
LOCK_FILES = (_LOCK, _HOLDER)
_MOST_HOLDER = 1 << 10  # bytes


@contextmanager
def locked_run(folder: Path, is_main: bool = True) -> Iterator[None]:
    """Context in which no other command writes the run in `folder`. Folders that it makes and that
    stay empty go again.

    Args: folder: of the run; it need not exist. is_main: whether this process writes the run's
        results. Of several processes that share a run, only that one holds the lock.

    Raises: UserError: another command holds the lock, with the process that does; or the folder
        holds a link.
    """
    if not is_main:
        yield
        return
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; choose another --out.")
    check_own_files(folder)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
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
        for each in made:
            if each.is_dir() and not any(each.iterdir()):
                each.rmdir()


def _describe_holder() -> str:
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
        return "another command"  # it has not written the file yet
