"""Writes SHA256SUMS of a folder whose list of files is too long for memory."""

import os
from pathlib import Path
from types import TracebackType

from generator.dataset.files import SUMS, sha256


class SumsWriter:
    """Collects the lines of SHA256SUMS on disk, one file for each subfolder, and joins them sorted.

    The files of one subfolder must be added in order; subfolders may alternate. Used as a context; without `finish` it
    leaves no files behind.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._parts: dict[str, Path] = {}

    def __enter__(self) -> "SumsWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for part in self._parts.values():
            part.unlink(missing_ok=True)

    def add(self, path: str, digest: str) -> None:
        """Add a file by its path below the folder, and its SHA-256."""
        subfolder, slash, _ = path.partition("/")
        part = self._parts.setdefault(subfolder + slash, self._folder / f".{SUMS}.{len(self._parts)}.{os.getpid()}")
        with part.open("a", encoding="utf-8") as file:
            file.write(f"{digest}  {path}\n")

    def finish(self) -> str:
        """Write SHA256SUMS, sorted by path; returns its own digest."""
        draft = self._folder / f".{SUMS}.{os.getpid()}"
        try:
            with draft.open("wb") as whole:
                for subfolder in sorted(self._parts):
                    with self._parts[subfolder].open("rb") as part:
                        while block := part.read(1 << 20):
                            whole.write(block)
            os.replace(draft, self._folder / SUMS)
        finally:
            draft.unlink(missing_ok=True)
        return sha256(self._folder / SUMS)
