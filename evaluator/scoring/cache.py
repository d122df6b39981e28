"""What models have computed, on disk: one SQLite file per model, one float32 vector per input."""

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

EMBEDDINGS, SCORES = "embeddings", "scores"
"""Folders of the cache: vectors of images and texts, and of pairs (a number per channel), by the hashes of their contents."""


class VectorCache:
    """Vectors by name in the file `path`. Each `put` is one transaction, so a killed process loses at most one batch.

    Raises UserError when the file is damaged or the disk is full.
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
        return {name: np.frombuffer(kept, np.float32) for name, kept in self._select("input, vector", inputs)}

    def known(self, inputs: Sequence[str]) -> set[str]:
        """Those inputs that are in the cache. The vectors are not read."""
        return {name for (name,) in self._select("input", inputs)}

    def _select(self, columns: str, inputs: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(inputs), 500):
            part = inputs[start : start + 500]
            with self._explained():
                yield from self._database.execute(
                    f"SELECT {columns} FROM vectors WHERE input IN ({','.join('?' * len(part))})", part
                ).fetchall()

    def put(self, inputs: Iterable[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, d) of n inputs."""
        rows = [(name, each.tobytes()) for name, each in zip(inputs, vectors.astype(np.float32), strict=True)]
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
