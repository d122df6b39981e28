"""Checks that an output can be written, before the work that makes it."""

import os
import tempfile
from pathlib import Path

from generator.dataset.errors import UserError, reason_of


def check_output(path: Path, mend: str = "choose another place") -> None:
    """Raise UserError where no file can be made at `path` or below it: before the work, not after it. Leaves nothing there."""
    places = (path.absolute(), *path.absolute().parents)
    folder = next(each for each in places if each.is_dir() or (each != places[0] and os.path.lexists(each)))
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = "it is a file" if isinstance(error, NotADirectoryError) else reason_of(error)
        raise UserError(f"Cannot write {path}: no file can be made in {folder} ({reason}); {mend}.") from None
