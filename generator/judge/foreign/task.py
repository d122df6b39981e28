"""The labels that are judged, by row: what they say, in which split they are, their negatives and images."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from generator.judge.foreign.labels import arrangement
from generator.judge.meaning import Said


@dataclass(frozen=True, eq=False)
class Task:
    """The labels of a file, or of one task of it.

    Rows name their label by its place in `said` (-1: none that can be read), their split by its place in `splits`
    (-1: none), their image by its place in `images`. `negatives` has a column each a negative, likewise. `training` and
    `familiar` are the splits that train, and those that are meant to show the same arrangements. `unit` is what the
    file calls a row ("label" where each split has a list of its own), `start` the number of the first.
    """

    name: str
    said: list[Said]
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

    def row(self, row: int) -> str:
        """How a person finds a row: its split and its number, such as "train, line 12"."""
        split = self.splits[self.split[row]] if self.split[row] >= 0 else "no split"
        before = self._starts[self.split[row]] if self.unit == "label" else 0
        return f"{split}, {self.unit} {row - before + self.start}"

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each split, where the file gives labels split by split."""
        return [int(np.argmax(self.split == n)) for n in range(len(self.splits))]

    def quoted(self, label: int, row: int) -> str:
        """A label and a row that has it."""
        return f'"{self.words[label]}" ({self.row(row)})'

    @cached_property
    def shown(self) -> list[Said]:
        """The arrangement of each label."""
        return [arrangement(said) for said in self.said]

    @cached_property
    def arrangements(self) -> np.ndarray:
        """The arrangement of each label, by number: labels with the same number say the same."""
        return numbered(self.shown)

    @cached_property
    def trains(self) -> np.ndarray:
        """Whether each row trains."""
        return np.array([*(name in self.training for name in self.splits), False])[self.split]

    @cached_property
    def evaluates(self) -> np.ndarray:
        """Whether each row is in an evaluation split."""
        return (self.split >= 0) & ~self.trains


def numbered(keys: Iterable[Hashable]) -> np.ndarray:
    """A number for each key, the same for the same one."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def first_rows(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct combination of some columns of whole numbers from -1, and the number of its rows."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, code = np.unique(code * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return first, counts
