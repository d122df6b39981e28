"""Several processes that share a run, as `torchrun` and `accelerate launch` start them: shards, and gathering by files."""

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
_PATIENCE = 1800.0


@dataclass(frozen=True)
class Rank:
    """Which of how many processes this is. The first writes the results."""

    number: int = 0
    size: int = 1

    @classmethod
    def of_environment(cls) -> "Rank":
        """What RANK and WORLD_SIZE say; alone where they are not set. Raises UserError when they are no such numbers."""
        number, size = (os.environ.get(name, default) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1")))
        if not (number.isdigit() and size.isdigit() and int(number) < int(size)):
            raise UserError(
                f"Expected RANK and WORLD_SIZE to be numbers, RANK the smaller, got '{number}' and '{size}'; start with torchrun or unset both."
            )
        return cls(int(number), int(size))

    @property
    def first(self) -> bool:
        """Whether this process talks, gathers and writes."""
        return self.number == 0

    def mine(self, i: int) -> bool:
        """Whether the i-th piece of work is this process's."""
        return i % self.size == self.number


class Store:
    """Vectors that are known: in a cache of all runs, and in the files that the processes of this run write.

    A process that is alone writes to the cache; one of several to a file of its own in the run's folder, since networked
    disks do not take many writers to one. The first process gathers.
    """

    def __init__(self, cache: VectorCache, folder: Path, kind: str, rank: Rank):
        self._cache, self._rank = cache, rank
        self._folder, self._kind = folder / PARTS, kind
        self._own = VectorCache(self._part(rank.number)) if rank.size > 1 else cache

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in {self._cache, self._own}:
            each.__exit__(kind, error, trace)

    def get(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those names that are known, to whichever process."""
        found = self._cache.get(names)
        for path in sorted(self._folder.glob(f"{self._kind}-*.sqlite")):
            if lacking := [name for name in names if name not in found]:
                with VectorCache(path) as part:
                    found |= part.get(lacking)
        return found

    def put(self, names: Iterable[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, d) of as many names."""
        self._own.put(names, vectors)

    def gather(self, names: Sequence[str], what: str) -> dict[str, np.ndarray]:
        """The vectors of all names, once the other processes have them; they go to the cache. For the first process."""
        found, since = self.get(names), time.monotonic()
        while len(found) < len(set(names)):
            if self._rank.size == 1 or time.monotonic() - since > _PATIENCE:
                raise UserError(
                    f"The other processes have not given {len(set(names)) - len(found):,} of the {what} for {_PATIENCE / 60:.0f} minutes; "
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

    def _part(self, number: int) -> Path:
        return self._folder / f"{self._kind}-{number}.sqlite"


def clear_parts(folder: Path) -> None:
    """Remove the processes' files from a run's folder, once all is gathered."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
