"""Complexity of captions: levels, and cells of exact numbers of objects, attributes and
relations."""

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from generator.base.declarations import whole_number
from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.language.truth import Axes
from generator.vocabulary.schema import Vocabulary

LEVELS = {"L1": (1, 10), "OA": (2, 12), "OR": (3, 12), "OAR": (4, 12)}
"""Least and greatest N by level: L1 objects only, OA with attributes, OR with relations, OAR with
both (COMPASS, section 3.1)."""


@dataclass(frozen=True, order=True)
class Cell:
    """The complexity of a caption: its level and exact numbers of objects, attributes and
    relations."""

    level: str
    n_objects: int
    n_attributes: int
    n_relations: int

    @property
    def complexity(self) -> int:
        """N, the number of atoms."""
        return self.n_objects + self.n_attributes + self.n_relations


def cells(
    levels: Sequence[str],
    complexity: tuple[int, int],
    counts: Mapping[str, int],
    vocabulary: Vocabulary,
    most: int,
) -> list[Cell]:
    """All cells of some levels with N in `complexity` (inclusive) and the exact `counts` given
    (keys O, A, R).

    `most` is the largest number of objects in a scene. An object has at most one attribute of each
    kind and at most one
    relation of each slot (truth.py), so that no relation of a caption follows from others. Raises
    UserError for an
    unknown level, or if there is no such cell; the message gives the limits.
    """
    for level in levels:
        if level not in LEVELS:
            raise UserError(f"Unknown level '{level}'; {did_you_mean(level, list(LEVELS))}")
    slots = len(set(Axes(vocabulary).slots))
    found = [
        cell
        for level in levels
        for cell in _cells_of(level, complexity, len(vocabulary.varied_kinds), slots, most)
        if all(getattr(cell, _COUNTED[name]) == n for name, n in counts.items())
    ]
    if not found:
        asked = ", ".join(f"{name}={n}" for name, n in counts.items())
        least, greatest = (
            min(LEVELS[level][0] for level in levels),
            max(LEVELS[level][1] for level in levels),
        )
        raise UserError(
            f"No caption of level {' or '.join(levels)} has {complexity[0]} to {complexity[1]} "
            f"atoms{f' with {asked}' if asked else ''}: scenes have up to {most} objects, an "
            f"object up to "
            f"{len(vocabulary.varied_kinds)} attributes and {slots} relations, and N is {least} to "
            f"{greatest}; ask for "
            "less, or render a world with more --objects."
        )
    return found


_COUNTED = {"O": "n_objects", "A": "n_attributes", "R": "n_relations"}


def _cells_of(
    level: str, complexity: tuple[int, int], kinds: int, slots: int, most: int
) -> Iterator[Cell]:
    least, greatest = LEVELS[level]
    for n in range(max(least, complexity[0]), min(greatest, complexity[1]) + 1):
        for n_o in range(1, min(n, most) + 1):
            for n_a in range(n - n_o + 1):
                n_r = n - n_o - n_a
                named = "O" + "A" * bool(n_a) + "R" * bool(n_r)
                if (
                    named.replace("O", "L1" if named == "O" else "O") == level
                    and n_a <= n_o * kinds
                    and n_r <= slots * (n_o // 2)
                ):
                    yield Cell(level, n_o, n_a, n_r)


def parse_complexity(spec: str) -> tuple[int, int]:
    """Least and greatest N from `4..12` or `6`. Raises UserError."""
    low, dots, high = spec.partition("..")
    high = high if dots else low
    least, most = whole_number(low), whole_number(high)
    if least is None or most is None or not 1 <= least <= most <= 12:
        raise UserError(
            f"Expected --complexity to be a number of atoms from 1 to 12, or a range such as "
            f"4..12, got '{spec}'."
        )
    return least, most


def parse_counts(spec: str | None) -> dict[str, int]:
    """Exact counts from `O=3,A=5,R=2`; each of the three may be left out. Raises UserError."""
    counts: dict[str, int] = {}
    for part in spec.split(",") if spec else ():
        name, _, given = part.partition("=")
        number = whole_number(given.strip())
        if name.strip() not in _COUNTED or number is None or name.strip() in counts:
            raise UserError(
                f"Expected --counts to be like O=3,A=5,R=2 (objects, attributes, relations), got "
                f"'{spec}'."
            )
        counts[name.strip()] = number
    return counts


_FAILURE = 0.02
_EXCESS = 2
_TRIES = 12
Made = TypeVar("Made")
Option = TypeVar("Option", bound=Hashable)


class Quota:
    """Fills the least filled cells first and counts how often each is filled.

    >>> quota = Quota([Cell("L1", 1, 0, 0), Cell("L1", 2, 0, 0)])
    >>> quota.fill(2, lambda cell: ["a text"] if cell.n_objects == 2 else [])
    ['a text']
    >>> quota.to_dict()
    {'L1 O=2 A=0 R=0': 1}
    """

    def __init__(self, cells: Sequence[Cell]):
        self.cells = list(cells)
        self._filled = Counter[Cell]()
        self._failed = dict.fromkeys(self.cells, 0.0)

    def fill(self, n_objects: int, make: Callable[[Cell], list[Made]]) -> list[Made]:
        """Calls `make` with the least filled cell of at most `n_objects` objects, and returns the
        result.

        Tries up to twelve cells until one gives a result; returns an empty list if none does. A
        failure counts as 0.02 fills. Skips cells that are filled far more often than the average,
        so that easy cells do not dominate.
        """
        filled, failed = self._filled, self._failed
        limit = _EXCESS * filled.total() / len(filled) + _EXCESS if filled else _EXCESS
        suitable = (
            cell for cell in self.cells if cell.n_objects <= n_objects and filled[cell] <= limit
        )
        for cell in heapq.nsmallest(_TRIES, suitable, key=lambda cell: filled[cell] + failed[cell]):
            if made := make(cell):
                filled[cell] += 1
                return made
            failed[cell] += _FAILURE
        return []

    def to_dict(self) -> dict[str, int]:
        """How often each cell was filled, by its description; cells that were never filled are
        omitted."""
        return {
            f"{c.level} O={c.n_objects} A={c.n_attributes} R={c.n_relations}": self._filled[c]
            for c in self.cells
            if c in self._filled
        }


def quotas_of(cells: Sequence[Cell], by_complexity: bool) -> dict[str, Quota]:
    """One quota per level, or with `by_complexity` per level and N, by name: "OA" or "OA 5"."""
    found: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: ([*LEVELS].index(cell.level), cell.complexity)):
        found.setdefault(
            f"{cell.level} {cell.complexity}" if by_complexity else cell.level, []
        ).append(cell)
    return {name: Quota(members) for name, members in found.items()}


class LeastUsed:
    """Picks the least used option and counts its picks.

    >>> used = LeastUsed()
    >>> sorted(used.pick(["left", "right"], Stream(0)) for _ in range(4))
    ['left', 'left', 'right', 'right']
    """

    def __init__(self) -> None:
        self._used: Counter[Hashable] = Counter()

    def pick(self, options: Sequence[Option], stream: Stream) -> Option:
        """One of the options that were picked least often, at random."""
        fewest = min(self._used[option] for option in options)
        least = [option for option in options if self._used[option] == fewest]
        chosen = least[stream.below(len(least))]
        self._used[chosen] += 1
        return chosen
