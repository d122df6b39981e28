"""Writes tars that WebDataset reads: equal contents give equal bytes, and the place of every member is known."""

import io
import os
import tarfile
from pathlib import Path
from types import TracebackType

_BLOCK, _RECORD = tarfile.BLOCKSIZE, tarfile.RECORDSIZE

Member = tuple[str, bytes]
Place = tuple[int, int]


class TarWriter:
    """Writes a tar, which gets its name only when it is finished. Used as a context."""

    def __init__(self, path: Path):
        self._path, self._draft = path, path.with_name(f".{path.name}.{os.getpid()}")
        self._used = 0

    def __enter__(self) -> "TarWriter":
        self._file = self._draft.open("wb")
        self._tar = tarfile.open(fileobj=self._file, mode="w", format=tarfile.USTAR_FORMAT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._tar.close()
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                os.replace(self._draft, self._path)
        finally:
            self._file.close()
            self._draft.unlink(missing_ok=True)

    def fits(self, members: list[Member], most: int) -> bool:
        """Whether the tar would have at most `most` bytes with these members, or is still empty."""
        whole = self._used + sum(_space(data) for _, data in members) + 2 * _BLOCK
        return self._used == 0 or -(-whole // _RECORD) * _RECORD <= most

    def add(self, members: list[Member]) -> dict[str, Place]:
        """Add files; returns the offset and the size of each in the tar, in bytes."""
        places = {}
        for name, data in members:
            info = tarfile.TarInfo(name)  # time, owner and group are 0
            info.size = len(data)
            self._tar.addfile(info, io.BytesIO(data))
            places[name] = (self._used + _BLOCK, len(data))
            self._used += _space(data)
        return places


def _space(data: bytes) -> int:
    return _BLOCK + -(-len(data) // _BLOCK) * _BLOCK


def member_name(path: str) -> str:
    """Name of a scene's file in a tar. In WebDataset the part before the first dot is the sample's key.

    >>> member_name("images/000017.png"), member_name("masks/000017.png")
    ('000017.png', '000017.masks.png')
    """
    folder, _, name = path.rpartition("/")
    key, dot, ending = name.partition(".")
    return name if folder == "images" else f"{key}.{folder}{dot}{ending}"
