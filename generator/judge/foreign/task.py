"""A task: labels by row with their meaning, split, negatives and image."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from generator.judge.foreign.labels import arrangement
from generator.judge.meaning import Meaning


@dataclass(frozen=True, eq=False)
class Task:
    """The labels of a file, or of one task in it.

    `label`: int64 per row, index into `meanings` and `words`; -1 if it cannot be read. `split`, `image`: indices into
    `splits` and `images`; -1 for none. `negatives`: int64 [rows, negatives], like `label`. `training`, `familiar`: the
    splits that train, and those that may show the same arrangements. `unit`: what the file calls a row ("label" if it
    lists labels by split). `start`: the number of the first row. `texts`: the distinct texts of the file as they stand there, but for images.
    """

    name: str
    meanings: list[Meaning]
    words: list[str]
    label: np.ndarray
    splits: list[str]
    split: np.ndarray
    negatives: np.ndarray
    image: np.ndarray | None
    images: list[str]
    unreadable: list[str]
    training: frozenset[str]
    familiar: frozenset[str]
    unit: str
    start: int
    texts: tuple[str, ...] = ()

    def row(self, row: int) -> str:
        """Where to find a row, such as "train, line 12"."""
        split = self.splits[self.split[row]] if self.split[row] >= 0 else "no split"
        before = self._starts[self.split[row]] if self.unit == "label" else 0
        return f"{split}, {self.unit} {row - before + self.start}"

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each split, for files that list labels by split."""
        return [int(np.argmax(self.split == n)) for n in range(len(self.splits))]

    def quoted(self, label: int, row: int) -> str:
        """A label in quotes, and where to find a row that has it."""
        return f'"{self.words[label]}" ({self.row(row)})'

    @cached_property
    def shown(self) -> list[Meaning]:
        """The arrangement of each label."""
        return [arrangement(meaning) for meaning in self.meanings]

    @cached_property
    def arrangements(self) -> np.ndarray:
        """A number for each label; labels with equal numbers show the same arrangement."""
        return numbered(self.shown)

    @cached_property
    def trains(self) -> np.ndarray:
        """bool per row: whether it is in a training split."""
        return np.array([*(name in self.training for name in self.splits), False])[self.split]

    @cached_property
    def evaluates(self) -> np.ndarray:
        """bool per row: whether it is in an evaluation split."""
        return (self.split >= 0) & ~self.trains


def numbered(keys: Iterable[Hashable]) -> np.ndarray:
    """A number for each key, equal for equal keys."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def first_rows(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct combination of columns (integers from -1), and how many rows have it."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, code = np.unique(code * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return first, counts
