"""Store computed vectors on disk: a cache for each model, and files in which several processes
(`torchrun`, `accelerate launch`) share their results."""

import hashlib
import logging
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, Self, TypeVar

import numpy as np
from platformdirs import user_cache_path

from generator.base.errors import UserError
from generator.base.files import check_output

logger = logging.getLogger(__name__)
EMBEDDINGS, SCORES = "embeddings", "scores"
"""Folders of the cache: vectors of images and texts, and of pairs (a number per channel), by the
hashes of their contents."""
_CHECK = 8
"""Bytes of the checksum after a vector."""

_ASKED = 500
"""Names in one query."""

T = TypeVar("T")
Names = Callable[[np.ndarray], list[str]]
"""Returns the names of rows (an integer array)."""
PARTS = ".parts"
"""Folder in a run's folder where each process writes its results."""
_ROWS = 4096
"""Rows whose names, or vectors by name, are in memory at once."""
_PATIENCE = 1800.0
"""Seconds without a new result after which the main process stops waiting for the others."""


@dataclass(frozen=True)
class Process:
    """One of the processes that share a run: its rank, and how many there are."""

    rank: int = 0
    count: int = 1

    @classmethod
    def from_environment(cls) -> "Process":
        """Read RANK and WORLD_SIZE; without them there is one process. Raises UserError if they are
        not valid numbers."""
        rank, count = (
            os.environ.get(name, default) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"))
        )
        if not (rank.isdigit() and count.isdigit() and int(rank) < int(count)):
            raise UserError(
                f"Expected RANK and WORLD_SIZE to be numbers, RANK the smaller, got '{rank}' and "
                f"'{count}'; start with torchrun or unset both."
            )
        return cls(int(rank), int(count))

    @property
    def is_main(self) -> bool:
        """Whether this process prints messages, gathers the results and writes them."""
        return self.rank == 0


class Store(ABC, Generic[T]):
    """Values by name in the SQLite file `path`, which threads may share. Each `put` is one
    transaction, so a killed process loses at most one.

    A damaged value counts as missing. Raises UserError when the file is damaged or the disk is
    full.
    """

    def __init__(self, path: Path):
        check_output(path, "set XDG_CACHE_HOME to another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._lock = path, threading.Lock()
        with self._open() as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS rows (name TEXT PRIMARY KEY, value BLOB NOT NULL)"
            )

    @abstractmethod
    def encode(self, name: str, value: T) -> bytes:
        """The bytes to store for a value."""

    @abstractmethod
    def decode(self, name: str, kept: bytes) -> T | None:
        """The inverse of `encode`; None if the value is damaged."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    def get(self, names: Iterable[str]) -> dict[str, T]:
        """The stored values of these names; skips missing names."""
        asked, found, damaged = list(dict.fromkeys(names)), dict[str, T](), 0
        for start in range(0, len(asked), _ASKED):
            part = asked[start : start + _ASKED]
            query = f"SELECT name, value FROM rows WHERE name IN ({','.join('?' * len(part))})"
            with self._open() as database:
                rows = database.execute(query, part).fetchall()
            for name, kept in rows:
                value = (
                    self.decode(name, kept) if isinstance(kept, bytes) else None
                )  # SQLite columns hold any type
                if value is None:
                    damaged += 1
                else:
                    found[name] = value
        if damaged:
            logger.warning(
                f"{damaged:,} entries of the cache {self._path} are damaged and are computed again."
            )
        return found

    def put(self, names: Iterable[str], values: Iterable[T]) -> None:
        """Store a value for each name."""
        rows = [(name, self.encode(name, value)) for name, value in zip(names, values, strict=True)]
        with self._open() as database:
            database.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", rows)

    def forget(self, names: Iterable[str]) -> None:
        """Remove the values of these names."""
        with self._open() as database:
            database.executemany("DELETE FROM rows WHERE name = ?", [(name,) for name in names])

    @cached_property
    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60, check_same_thread=False)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock, self._database:
                yield self._database
        except sqlite3.Error as error:
            raise UserError(
                f"The cache {self._path} cannot be used ({error}); delete it, free some space, or "
                f"set XDG_CACHE_HOME."
            ) from None


class VectorCache(Store[np.ndarray]):
    """Vectors, float32 (d,) each; after each, a checksum of its name and bytes."""

    @classmethod
    def of_model(cls, kind: str, key: str, folder: Path | None) -> "VectorCache":
        """The cache of a model for a kind of vectors, EMBEDDINGS or SCORES. folder: None for the
        user's cache."""
        return cls((folder or user_cache_path("jackalope") / kind) / f"{key}.sqlite")

    def encode(self, name: str, value: np.ndarray) -> bytes:
        """The bytes of the vector, then the checksum."""
        data = value.astype(np.float32).tobytes()
        return data + _checksum(name, data)

    def decode(self, name: str, kept: bytes) -> np.ndarray | None:
        """The vector; None if the checksum does not match."""
        is_whole = len(kept) % 4 == 0 and kept[-_CHECK:] == _checksum(name, kept[:-_CHECK])
        return np.frombuffer(kept[:-_CHECK], np.float32) if is_whole else None


def _checksum(name: str, vector: bytes) -> bytes:
    return hashlib.blake2b(
        f"{len(name.encode())} {name}".encode() + vector, digest_size=_CHECK
    ).digest()


class VectorStore:
    """The vectors that are computed already: in the cache of all runs, and in the files of this
    run's processes.

    A single process writes to the cache. Each of several processes writes to its own file in the
    run's folder, since several writers to one file are not safe on network disks; the main process
    gathers these files into the cache. A process that computes nothing creates no file, since the
    main process may have finished and removed the folder before it starts.
    """

    def __init__(self, cache: VectorCache, folder: Path, kind: str, process: Process):
        """`folder` is the run's; `kind` names its files, such as "texts"."""
        self._cache, self._process = cache, process
        self._run, self._folder, self._kind = folder, folder / PARTS, kind
        self._own = (
            cache if process.count == 1 else None
        )  # its own file is created with its first vector

    def __enter__(self) -> "VectorStore":
        return self

    def __exit__(self, *error: object) -> None:
        for each in {self._cache, self._own or self._cache}:
            each.__exit__(*error)

    def known(self, names: Names, rows: np.ndarray) -> np.ndarray:
        """Whether any process has computed each of `rows`, bool (n,)."""
        there = [np.zeros(0, bool)]
        for some in _parts(rows):
            part = names(some)
            found = self.get(part)
            there.append(np.array([name in found for name in part]))
        return np.concatenate(there)

    def get(self, names: list[str]) -> dict[str, np.ndarray]:
        """The vectors of these names that any process has computed, float32 (d,) each."""
        found = self._cache.get(names)
        for path in sorted(self._folder.glob(f"{self._kind}-*.sqlite")):
            if missing := [name for name in names if name not in found]:
                with VectorCache(path) as part:
                    found |= part.get(missing)
        return found

    def put(self, names: Iterable[str], vectors: np.ndarray) -> None:
        """Store the vectors (n, d) of n names."""
        if self._own is None:
            self._own = VectorCache(self._folder / f"{self._kind}-{self._process.rank}.sqlite")
        self._own.put(names, vectors)

    def gather(self, names: Names, total: int) -> np.ndarray:
        """Wait until rows 0 … total − 1 have vectors, and copy the vectors of other processes into
        the cache. Only for the main process. Returns the vectors, float32 (total, d), mapped from
        an unnamed file in the run's folder.

        Raises UserError when the other processes have no new result for 30 minutes.
        """
        vectors = np.empty((total, 0), np.float32)
        missing, since = np.arange(total), time.monotonic()
        while len(missing):
            left = []
            for rows in _parts(missing):
                part = names(rows)
                found = self.get(part)
                here = np.array([name in found for name in part])
                if found:
                    values = np.stack([found[name] for name in part if name in found])
                    if not vectors.size:
                        vectors = _mapped(self._run, (total, values.shape[1]))
                    vectors[rows[here]] = values
                left.append(rows[~here])
            if sum(map(len, left)) < len(missing):
                since = time.monotonic()
            missing = np.concatenate(left)
            if len(missing) and (self._process.count == 1 or time.monotonic() - since > _PATIENCE):
                raise UserError(
                    f"The other processes have not given {len(missing):,} of the {self._kind} for "
                    f"{_PATIENCE / 60:.0f} "
                    "minutes; run the same command again to continue."
                )
            time.sleep(0.2 * bool(len(missing)))
        if self._folder.exists():
            for rows in _parts(np.arange(total)):
                part = names(rows)
                kept = self._cache.get(part)
                fresh = [place for place, name in enumerate(part) if name not in kept]
                self._cache.put([part[place] for place in fresh], vectors[rows[fresh]])
        return vectors


def _mapped(folder: Path, shape: tuple[int, int]) -> np.ndarray:
    """A float32 array mapped from an unnamed file, so that a killed process leaves no file.

    Reserves the space at once: a full disk raises an error here, instead of killing the process
    later.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        size = max(1, 4 * shape[0] * shape[1])
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return np.memmap(file, np.float32, "r+", shape=shape)


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rows in chunks of _ROWS."""
    for start in range(0, len(rows), _ROWS):
        yield rows[start : start + _ROWS]


def remove_parts(folder: Path) -> None:
    """Remove the files of the processes from a run's folder, once they are gathered."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
