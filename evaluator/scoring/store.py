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
_CHECKSUM_BYTES = 8
"""Bytes of the checksum after a vector."""

_NAMES_IN_QUERY = 500
"""Names in one query; older versions of SQLite allow 999 variables."""

T = TypeVar("T")
Names = Callable[[np.ndarray], list[str]]
"""Returns the names of rows (an integer array)."""
PARTS = ".parts"
"""Folder in a run's folder where each process writes its results."""
_ROWS_AT_ONCE = 4096
"""Rows whose names, or vectors by name, are in memory at once."""
_PATIENCE = 1800.0
"""Seconds without a new result after which the main process stops waiting for the others."""
_POLL_SECONDS = 0.2
"""Seconds between two looks for the results of other processes."""


@dataclass(frozen=True)
class Process:
    """One of the processes that share a run."""

    rank: int = 0
    """Number of the process, from 0."""
    count: int = 1
    """Number of processes."""

    @classmethod
    def from_environment(cls) -> "Process":
        """Read RANK and WORLD_SIZE; without them there is one process. Raises UserError if they are
        not valid numbers."""
        rank = os.environ.get("RANK", "0")
        count = os.environ.get("WORLD_SIZE", "1")
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
    """Values by name in a SQLite file, which threads may share.

    Each `put` is one transaction, so a killed process loses at most one. A damaged value counts as
    missing. Subclasses say how a value is written as bytes.

    Args:
        path: The file; it is created with its folders.

    Raises:
        UserError: The file is damaged, or the disk is full. All methods raise it.
    """

    def __init__(self, path: Path):
        check_output(path, "set XDG_CACHE_HOME to another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = threading.Lock()
        with self._open() as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS rows (name TEXT PRIMARY KEY, value BLOB NOT NULL)"
            )

    @abstractmethod
    def encode(self, name: str, value: T) -> bytes:
        """Convert a value to the bytes to store.

        Args:
            name: Its name.
            value: The value.

        Returns:
            The bytes.
        """

    @abstractmethod
    def decode(self, name: str, stored: bytes) -> T | None:
        """Convert stored bytes to a value, the inverse of `encode`.

        Args:
            name: Name of the value.
            stored: The bytes.

        Returns:
            The value; None if the bytes are damaged.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    def get(self, names: Iterable[str]) -> dict[str, T]:
        """The stored values of these names; skips missing names."""
        distinct = list(dict.fromkeys(names))
        values: dict[str, T] = {}
        damaged = 0
        for start in range(0, len(distinct), _NAMES_IN_QUERY):
            part = distinct[start : start + _NAMES_IN_QUERY]
            query = f"SELECT name, value FROM rows WHERE name IN ({','.join('?' * len(part))})"
            with self._open() as database:
                rows = database.execute(query, part).fetchall()
            for name, stored in rows:
                # A column of SQLite holds any type, also where it was declared as BLOB.
                value = self.decode(name, stored) if isinstance(stored, bytes) else None
                if value is None:
                    damaged += 1
                else:
                    values[name] = value
        if damaged:
            logger.warning(
                f"{damaged:,} entries of the cache {self._path} are damaged and are computed again."
            )
        return values

    def put(self, names: Iterable[str], values: Iterable[T]) -> None:
        """Store values.

        Args:
            names: Their names.
            values: A value for each name.
        """
        rows = []
        for name, value in zip(names, values, strict=True):
            rows.append((name, self.encode(name, value)))
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
        """The cache of a model.

        Args:
            kind: EMBEDDINGS or SCORES.
            key: The cache key of the model, which names the file.
            folder: The folder of the file; None for the user's cache.
        """
        return cls((folder or user_cache_path("jackalope") / kind) / f"{key}.sqlite")

    def encode(self, name: str, value: np.ndarray) -> bytes:
        """The bytes of the vector, then the checksum."""
        data = value.astype(np.float32).tobytes()
        return data + _checksum(name, data)

    def decode(self, name: str, stored: bytes) -> np.ndarray | None:
        """The vector; None if the checksum does not match."""
        data, checksum = stored[:-_CHECKSUM_BYTES], stored[-_CHECKSUM_BYTES:]
        if len(stored) % 4 or checksum != _checksum(name, data):
            return None
        return np.frombuffer(data, np.float32)


def _checksum(name: str, vector: bytes) -> bytes:
    """A checksum of a name and its vector. The length of the name keeps the two apart."""
    data = f"{len(name.encode())} {name}".encode() + vector
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


class VectorStore:
    """The vectors that are computed already: in the cache of all runs, and in the files of this
    run's processes.

    A single process writes to the cache. Each of several processes writes to its own file in the
    run's folder, since several writers to one file are not safe on network disks; the main process
    gathers these files into the cache. A process that computes nothing creates no file, since the
    main process may have finished and removed the folder before it starts.

    Args:
        cache: The cache of all runs.
        folder: The folder of the run.
        kind: Names the files of the processes, such as "texts".
        process: This process.
    """

    def __init__(self, cache: VectorCache, folder: Path, *, kind: str, process: Process):
        self._cache = cache
        self._run = folder
        self._folder = folder / PARTS
        self._kind = kind
        self._process = process
        # Where this process writes; one of several creates its own file with its first vector.
        self._own = cache if process.count == 1 else None

    def __enter__(self) -> "VectorStore":
        return self

    def __exit__(self, *error: object) -> None:
        for store in {self._cache, self._own or self._cache}:
            store.__exit__(*error)

    def known(self, names: Names, rows: np.ndarray) -> np.ndarray:
        """Check which vectors are computed already, by any process.

        Args:
            names: Names of all rows.
            rows: The rows to check, int (n,).

        Returns:
            bool (n,).
        """
        is_known = [np.zeros(0, bool)]
        for part in _parts(rows):
            part_names = names(part)
            vectors = self.get(part_names)
            is_known.append(np.array([name in vectors for name in part_names]))
        return np.concatenate(is_known)

    def get(self, names: list[str]) -> dict[str, np.ndarray]:
        """The vectors of these names that any process has computed, float32 (d,) each."""
        vectors = self._cache.get(names)
        for path in sorted(self._folder.glob(f"{self._kind}-*.sqlite")):
            missing = [name for name in names if name not in vectors]
            if missing:
                with VectorCache(path) as file_of_process:
                    vectors |= file_of_process.get(missing)
        return vectors

    def put(self, names: Iterable[str], vectors: np.ndarray) -> None:
        """Store vectors.

        Args:
            names: n names.
            vectors: (n, d).
        """
        if self._own is None:
            self._own = VectorCache(self._folder / f"{self._kind}-{self._process.rank}.sqlite")
        self._own.put(names, vectors)

    def gather(self, names: Names, total: int) -> np.ndarray:
        """Wait until rows 0 … total − 1 have vectors, and copy the vectors of other processes into
        the cache. Only for the main process.

        Returns:
            The vectors, float32 (total, d), mapped from an unnamed file in the run's folder.

        Raises:
            UserError: The other processes have no new result for 30 minutes.
        """
        vectors = np.empty((total, 0), np.float32)
        missing = np.arange(total)
        last_result = time.monotonic()
        while len(missing):
            vectors, still_missing = self._collect(names, missing, vectors)
            if len(still_missing) < len(missing):
                last_result = time.monotonic()
            missing = still_missing
            if not len(missing):
                break
            # A single process has computed all that it could: nobody else will add to it.
            if self._process.count == 1 or time.monotonic() - last_result > _PATIENCE:
                raise UserError(
                    f"The other processes have not given {len(missing):,} of the {self._kind} for "
                    f"{_PATIENCE / 60:.0f} minutes; run the same command again to continue."
                )
            time.sleep(_POLL_SECONDS)
        if self._folder.exists():
            self._copy_to_cache(names, vectors)
        return vectors

    def _collect(
        self, names: Names, rows: np.ndarray, vectors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill in the vectors of rows as far as any process has computed them; returns the vectors,
        and the rows that have none yet."""
        missing = []
        for part in _parts(rows):
            part_names = names(part)
            known = self.get(part_names)
            is_known = np.array([name in known for name in part_names])
            if known:
                values = np.stack([known[name] for name in part_names if name in known])
                if not vectors.size:
                    # The width of the vectors is known from the first of them.
                    vectors = _mapped(self._run, (len(vectors), values.shape[1]))
                vectors[part[is_known]] = values
            missing.append(part[~is_known])
        return vectors, np.concatenate(missing)

    def _copy_to_cache(self, names: Names, vectors: np.ndarray) -> None:
        """Store the vectors that the cache lacks, so that later runs find them."""
        for part in _parts(np.arange(len(vectors))):
            part_names = names(part)
            cached = self._cache.get(part_names)
            new = [place for place, name in enumerate(part_names) if name not in cached]
            self._cache.put([part_names[place] for place in new], vectors[part[new]])


def _mapped(folder: Path, shape: tuple[int, int]) -> np.ndarray:
    """A float32 array mapped from an unnamed file, so that a killed process leaves no file.

    Reserves the space at once: a full disk raises an error here, instead of killing the process
    later.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        size = max(1, np.dtype(np.float32).itemsize * shape[0] * shape[1])
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return np.memmap(file, np.float32, "r+", shape=shape)


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rows in chunks of _ROWS_AT_ONCE."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        yield rows[start : start + _ROWS_AT_ONCE]


def remove_parts(folder: Path) -> None:
    """Remove the files of the processes from a run's folder, once they are gathered."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
