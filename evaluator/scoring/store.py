"""What models have computed, on disk: a cache of vectors for each model, and the shares of several processes, as
`torchrun` and `accelerate launch` start them, gathered by files."""

import hashlib
import logging
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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

Names = Callable[[np.ndarray], list[str]]
"""The names of rows, which are an array of integers."""
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
        """Read RANK and WORLD_SIZE; without them the process is alone. Raises UserError when they are no such
        numbers."""
        rank, count = (os.environ.get(name, default) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1")))
        if not (rank.isdigit() and count.isdigit() and int(rank) < int(count)):
            raise UserError(
                f"Expected RANK and WORLD_SIZE to be numbers, RANK the smaller, got '{rank}' and '{count}'; start "
                f"with torchrun or unset both."
            )
        return cls(int(rank), int(count))

    @property
    def is_main(self) -> bool:
        """Whether this process prints messages, gathers the results and writes them."""
        return self.rank == 0


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

    def __exit__(self, *error: object) -> None:
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
                if _is_whole(name, kept):
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


def _is_whole(name: str, kept: object) -> bool:
    """Whether an entry is a vector with its checksum; SQLite keeps a text or a number in any column."""
    return isinstance(kept, bytes) and len(kept) % 4 == 0 and kept[-_CHECK:] == _checksum(name, kept[:-_CHECK])


def _checksum(name: str, vector: bytes) -> bytes:
    return hashlib.blake2b(f"{len(name.encode())} {name}".encode() + vector, digest_size=_CHECK).digest()


class VectorStore:
    """The vectors that are computed already: in the cache of all runs, and in the files of this run's processes.

    A process that is alone writes to the cache. One of several writes to a file of its own in the run's folder, since
    several writers to one file are not safe on network disks; the main process gathers these files into the cache. A
    process that computes nothing has no file: the main process may have ended, and removed the folder, before it
    starts.
    """

    def __init__(self, cache: VectorCache, folder: Path, kind: str, process: Process):
        """`folder` is the run's; `kind` names its files, such as "texts"."""
        self._cache, self._process = cache, process
        self._run, self._folder, self._kind = folder, folder / PARTS, kind
        self._own = cache if process.count == 1 else None  # a file of its own begins with its first vector

    def __enter__(self) -> "VectorStore":
        return self

    def __exit__(self, *error: object) -> None:
        for each in {self._cache, self._own or self._cache}:
            each.__exit__(*error)

    def known(self, names: Names, rows: np.ndarray) -> np.ndarray:
        """Which of some rows any process has computed, bool (n,)."""
        there = [np.zeros(0, bool)]
        for some in _parts(rows):
            part = names(some)
            found = self.get(part)
            there.append(np.array([name in found for name in part]))
        return np.concatenate(there)

    def get(self, names: list[str]) -> dict[str, np.ndarray]:
        """The vectors of those names that any process has computed, float32 (d,) each."""
        found = self._cache.get(names)
        for path in sorted(self._folder.glob(f"{self._kind}-*.sqlite")):
            if missing := [name for name in names if name not in found]:
                with VectorCache(path) as part:
                    found |= part.get(missing)
        return found

    def put(self, names: Iterable[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, d) of n names."""
        if self._own is None:
            self._own = VectorCache(self._folder / f"{self._kind}-{self._process.rank}.sqlite")
        self._own.put(names, vectors)

    def gather(self, names: Names, total: int) -> np.ndarray:
        """Wait until the rows 0 … total − 1 have vectors, and put those of other processes into the cache. Only for the
        main process. Returns the vectors, float32 (total, d), mapped from an unnamed file in the run's folder.

        Raises UserError when the other processes give nothing for 30 minutes.
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
                    f"The other processes have not given {len(missing):,} of the {self._kind} for {_PATIENCE / 60:.0f} "
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
    """An array of float32, mapped from a file without a name, so that a process that is killed leaves nothing.

    Its space is reserved at once: a full disk is an error here, where it would end the process later.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        size = max(1, 4 * shape[0] * shape[1])
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return np.memmap(file, np.float32, "r+", shape=shape)


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Rows, a few at a time."""
    for start in range(0, len(rows), _ROWS):
        yield rows[start : start + _ROWS]


def remove_parts(folder: Path) -> None:
    """Remove the processes' files from a run's folder, after they were gathered."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
