"""Runs shared by several processes, as `torchrun` and `accelerate launch` start them: shares of work, gathered by
files."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from evaluator.scoring.cache import VectorCache
from generator.base.errors import UserError

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

    def owns(self, i: int) -> bool:
        """Whether this process does the i-th batch."""
        return i % self.count == self.rank


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in {self._cache, self._own or self._cache}:
            each.__exit__(kind, error, trace)

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
