"""What models have computed, on disk: one SQLite file per model, one float32 vector per input."""

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from generator.base.errors import UserError
from generator.base.files import check_output

logger = logging.getLogger(__name__)
_CHECK = 8
"""Bytes of a vector's checksum, which stands behind it."""


class VectorCache:
    """Vectors by name in the file `path`. Each `put` is one transaction, so a killed process loses at most one batch.

    Each vector has a checksum of its name and its bytes. Those that do not agree with it are computed again. Raises UserError when the file is damaged or the disk is full.
    """

    kind = "cache"
    """What error messages call the file."""

    def __init__(self, path: Path):
        check_output(path, "set XDG_CACHE_HOME to another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with self._explained():
            self._database = sqlite3.connect(path, timeout=60)
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS embeddings (input TEXT PRIMARY KEY, vector BLOB NOT NULL)"
            )

    def __enter__(self) -> "VectorCache":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def get(self, inputs: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those inputs that are in the cache and whole, float32 (d,) each."""
        found = {name: _checked(name, kept) for name, kept in self._select("input, vector", inputs)}
        whole = {name: vector for name, vector in found.items() if vector is not None}
        if damaged := len(found) - len(whole):
            logger.warning(
                f"{damaged:,} entries of the {self.kind} {self._path} do not agree with their checksums and are computed again."
            )
        return whole

    def known(self, inputs: Sequence[str]) -> set[str]:
        """Those inputs that have entries in the cache. The entries are not read; `get` leaves out those that are damaged."""
        return {name for (name,) in self._select("input", inputs)}

    def _select(self, columns: str, inputs: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(inputs), 500):
            part = inputs[start : start + 500]
            with self._explained():
                yield from self._database.execute(
                    f"SELECT {columns} FROM embeddings WHERE input IN ({','.join('?' * len(part))})", part
                ).fetchall()

    def put(self, inputs: Iterable[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, d) of n inputs."""
        named = zip(inputs, vectors.astype(np.float32), strict=True)
        rows = [(name, vector.tobytes() + _checksum(name, vector.tobytes())) for name, vector in named]
        with self._explained(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", rows)

    def forget(self, inputs: Iterable[str]) -> None:
        """Remove the vectors of those inputs."""
        with self._explained(), self._database:
            self._database.executemany("DELETE FROM embeddings WHERE input = ?", [(name,) for name in inputs])

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UserError(
                f"The {self.kind} {self._path} cannot be used ({error}); delete it, free some space, or set XDG_CACHE_HOME."
            ) from None


def _checksum(name: str, vector: bytes) -> bytes:
    return hashlib.blake2b(f"{len(name.encode())} {name}".encode() + vector, digest_size=_CHECK).digest()


def _checked(name: str, kept: bytes) -> np.ndarray | None:
    """The vector of an entry, float32 (d,); None where it does not agree with its checksum."""
    vector, check = kept[:-_CHECK], kept[-_CHECK:]
    if len(vector) % 4 or check != _checksum(name, vector):
        return None
    return np.frombuffer(vector, dtype=np.float32)


class EmbeddingCache(VectorCache):
    """Embeddings of images and texts by content hash, for one model key."""

    kind = "embedding cache"

    def __init__(self, model_key: str, folder: Path | None = None):
        super().__init__((folder or user_cache_path("jackalope") / "embeddings") / f"{model_key}.sqlite")


class ScoreCache(VectorCache):
    """Scores of pairs, one number per channel, by the content hashes of image and text, for one model key."""

    kind = "score cache"

    def __init__(self, model_key: str, folder: Path | None = None):
        super().__init__((folder or user_cache_path("jackalope") / "scores") / f"{model_key}.sqlite")
