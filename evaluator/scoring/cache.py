"""What models have computed, on disk: one SQLite file per model, one float32 vector per input."""

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import numpy as np
from platformdirs import user_cache_path

from generator.base.errors import UserError
from generator.base.files import check_output

logger = logging.getLogger(__name__)
EMBEDDINGS, SCORES = "embeddings", "scores"
"""Folders of the cache: vectors of images and texts, and of pairs (a number per channel), by the hashes of their
contents."""
_CHECK = 8
"""Bytes of a vector's checksum, which stands behind it."""


class VectorCache:
    """Vectors by name in the file `path`. Each `put` is one transaction, so a killed process loses at most one batch.

    Each vector has a checksum of its name and its bytes; one that does not agree with it counts as not there. Raises
    UserError when the file is damaged or the disk is full.
    """

    def __init__(self, path: Path):
        check_output(path, "set XDG_CACHE_HOME to another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with self._explained():
            self._database = sqlite3.connect(path, timeout=60)
            self._database.execute("CREATE TABLE IF NOT EXISTS vectors (input TEXT PRIMARY KEY, vector BLOB NOT NULL)")

    @classmethod
    def of_model(cls, kind: str, key: str, folder: Path | None) -> "VectorCache":
        """The vectors of a kind (EMBEDDINGS or SCORES) of a model; in the user's cache where no folder is given."""
        return cls((folder or user_cache_path("jackalope") / kind) / f"{key}.sqlite")

    def __enter__(self) -> "VectorCache":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def get(self, inputs: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those inputs that are in the cache, float32 (d,) each."""
        found, damaged = {}, 0
        for start in range(0, len(inputs), 500):
            part = inputs[start : start + 500]
            with self._explained():
                rows = self._database.execute(
                    f"SELECT input, vector FROM vectors WHERE input IN ({','.join('?' * len(part))})", part
                ).fetchall()
            for name, kept in rows:
                if kept[-_CHECK:] == _checksum(name, kept[:-_CHECK]):
                    found[name] = np.frombuffer(kept[:-_CHECK], np.float32)
                else:
                    damaged += 1
        if damaged:
            logger.warning(f"{damaged:,} entries of the cache {self._path} are damaged and are computed again.")
        return found

    def put(self, inputs: Iterable[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, d) of n inputs."""
        named = [(name, each.tobytes()) for name, each in zip(inputs, vectors.astype(np.float32), strict=True)]
        rows = [(name, vector + _checksum(name, vector)) for name, vector in named]
        with self._explained(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def forget(self, inputs: Iterable[str]) -> None:
        """Remove the vectors of those inputs."""
        with self._explained(), self._database:
            self._database.executemany("DELETE FROM vectors WHERE input = ?", [(name,) for name in inputs])

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UserError(
                f"The cache {self._path} cannot be used ({error}); delete it, free some space, or set XDG_CACHE_HOME."
            ) from None


def _checksum(name: str, vector: bytes) -> bytes:
    return hashlib.blake2b(f"{len(name.encode())} {name}".encode() + vector, digest_size=_CHECK).digest()
