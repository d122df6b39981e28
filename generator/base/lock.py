"""A lock file: one process at a time does what the file guards."""

import fcntl
import os
from pathlib import Path
from types import TracebackType

from generator.base.errors import UserError


class Lock:
    """Holds the lock file `path` while it is used as a context, and removes the file at the end.

    `busy` is what is said where another process holds it: a UserError. Without `busy` the lock waits for the other.

    The system locks a file, not its name. If the file is removed and made again, two processes can each lock one of the
    two. So a lock counts only while the name leads to the locked file: that is checked when it is taken, and `held` checks it again.
    """

    def __init__(self, path: Path, busy: str | None = None):
        self._path, self._busy = path, busy
        self._file: int | None = None

    def __enter__(self) -> "Lock":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | (0 if self._busy is None else fcntl.LOCK_NB))
            except BlockingIOError:
                self._close()
                raise UserError(str(self._busy)) from None
            except BaseException:
                self._close()
                raise
            if not self.held:
                self._close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.held:
            self._path.unlink()  # before it is released, so that a process that waits for this file sees it gone
        self._close()

    @property
    def held(self) -> bool:
        """Whether the name still leads to the file that is locked; False once somebody removed it."""
        if self._file is None:
            return False
        try:
            return os.path.samestat(os.stat(self._path, follow_symlinks=False), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def fileno(self) -> int:
        """The descriptor of the locked file. A process that inherits it holds the lock too. Raises ValueError when it is not held."""
        if self._file is None:
            raise ValueError(f"{self._path} is not locked.")
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
