"""Runs shared by several processes, as `torchrun` and `accelerate launch` start them: shares of work, gathered by files."""

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from evaluator.scoring.cache import VectorCache
from generator.dataset.errors import UserError

PARTS = ".parts"
"""Folder in a run's folder where each process writes its results."""
_PATIENCE = 1800.0
"""Seconds without a new result after which the main process stops waiting for the others."""


@dataclass(frozen=True)
class Process:
    """One of the processes that share a run: its rank, and how many there are."""

    rank: int = 0
    count: int = 1

    @classmethod
    def from_environment(cls) -> "Process":
        """Read RANK and WORLD_SIZE; without them the process is alone. Raises UserError when they are no such numbers."""
        rank, count = (os.environ.get(name, default) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1")))
        if not (rank.isdigit() and count.isdigit() and int(rank) < int(count)):
            raise UserError(
                f"Expected RANK and WORLD_SIZE to be numbers, RANK the smaller, got '{rank}' and '{count}'; start with torchrun or unset both."
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
    several writers to one file are not safe on network disks; the main process gathers these files into the cache.
    """

    def __init__(self, cache: VectorCache, folder: Path, kind: str, process: Process):
        """`folder` is the run's; `kind` names its files, such as "texts"."""
        self._cache, self._process = cache, process
        self._folder, self._kind = folder / PARTS, kind
        own = self._folder / f"{kind}-{process.rank}.sqlite"
        self._own = VectorCache(own) if process.count > 1 else cache

    def __enter__(self) -> "VectorStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in {self._cache, self._own}:
            each.__exit__(kind, error, trace)

    def get(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those names that any process has computed, float32 (d,) each."""
        found = self._cache.get(names)
        for path in sorted(self._folder.glob(f"{self._kind}-*.sqlite")):
            if missing := [name for name in names if name not in found]:
                with VectorCache(path) as part:
                    found |= part.get(missing)
        return found

    def known(self, names: Sequence[str]) -> set[str]:
        """Those names whose vectors any process has computed; the vectors are not kept in memory."""
        found = self._cache.known(names)
        for path in sorted(self._folder.glob(f"{self._kind}-*.sqlite")):
            if missing := [name for name in names if name not in found]:
                with VectorCache(path) as part:
                    found |= part.known(missing)
        return found

    def put(self, names: Iterable[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, d) of n names."""
        self._own.put(names, vectors)

    def gather(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Wait until all names have vectors, and put those of other processes into the cache. Only for the main process.

        Raises UserError when the other processes give nothing for 30 minutes.
        """
        found, since = self.get(names), time.monotonic()
        while len(found) < len(set(names)):
            if self._process.count == 1 or time.monotonic() - since > _PATIENCE:
                raise UserError(
                    f"The other processes have not given {len(set(names)) - len(found):,} of the {self._kind} for {_PATIENCE / 60:.0f} minutes; "
                    "run the same command again to continue."
                )
            time.sleep(0.2)
            new = self.get([name for name in names if name not in found])
            if new:
                found, since = found | new, time.monotonic()
        if self._folder.exists():
            own = self._cache.get(names)
            if fresh := [name for name in found if name not in own]:
                self._cache.put(fresh, np.stack([found[name] for name in fresh]))
        return found


def remove_parts(folder: Path) -> None:
    """Remove the processes' files from a run's folder, after they were gathered."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
