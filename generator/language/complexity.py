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
from generator.language.form import level_of
from generator.language.truth import Axes
from generator.vocabulary.schema import Vocabulary

LEVELS = {"L1": (1, 10), "OA": (2, 12), "OR": (3, 12), "OAR": (4, 12)}
"""Least and greatest N by level: L1 objects only, OA with attributes, OR with relations, OAR with
both (COMPASS, section 3.1)."""
MOST_ATOMS = 12
"""The greatest N of any level."""


@dataclass(frozen=True, order=True)
class Cell:
    """The complexity of a caption.

    >>> Cell("OAR", 2, 3, 1).complexity
    6
    """

    level: str
    """One of LEVELS."""
    n_objects: int
    """Exact number of objects."""
    n_attributes: int
    """Exact number of attributes of all objects together."""
    n_relations: int
    """Exact number of relations."""

    @property
    def complexity(self) -> int:
        """N, the number of atoms."""
        return self.n_objects + self.n_attributes + self.n_relations


_COUNT_OF_LETTER = {"O": "n_objects", "A": "n_attributes", "R": "n_relations"}
"""The field of a cell that each letter of `--counts` fixes."""


def list_cells(
    levels: Sequence[str],
    complexity: tuple[int, int],
    counts: Mapping[str, int],
    *,
    vocabulary: Vocabulary,
    most_objects: int,
) -> list[Cell]:
    """List the cells of some levels that a caption can have.

    An object has at most one attribute of each kind and at most one relation of each slot
    (truth.py), so that no relation of a caption follows from others.

    Args:
        levels: keys of LEVELS.
        complexity: least and greatest N.
        counts: exact numbers by letter (O, A, R); letters that are missing are free.
        vocabulary: of the world.
        most_objects: the largest number of objects in a scene.

    Returns:
        The cells by level, in the order of `levels`, then by N.

    Raises:
        UserError: a level is unknown, or there is no such cell; the message gives the limits.
    """
    for level in levels:
        if level not in LEVELS:
            raise UserError(f"Unknown level '{level}'; {did_you_mean(level, list(LEVELS))}")
    n_kinds = len(vocabulary.varied_kinds)
    n_slots = len(set(Axes(vocabulary).slots))
    cells: list[Cell] = []
    for level in levels:
        of_level = _cells_of_level(
            level, complexity, n_kinds=n_kinds, n_slots=n_slots, most_objects=most_objects
        )
        cells += [cell for cell in of_level if _has_counts(cell, counts)]
    if not cells:
        exact = ", ".join(f"{letter}={n}" for letter, n in counts.items())
        with_exact = f" with {exact}" if exact else ""
        least = min(LEVELS[level][0] for level in levels)
        greatest = max(LEVELS[level][1] for level in levels)
        raise UserError(
            f"No caption of level {' or '.join(levels)} has {complexity[0]} to {complexity[1]} "
            f"atoms{with_exact}: scenes have up to {most_objects} objects, "
            f"an object up to {n_kinds} attributes and {n_slots} relations, and N is {least} to "
            f"{greatest}; ask for less, or render a world with more --objects."
        )
    return cells


def _has_counts(cell: Cell, counts: Mapping[str, int]) -> bool:
    return all(getattr(cell, _COUNT_OF_LETTER[letter]) == n for letter, n in counts.items())


def _cells_of_level(
    level: str, complexity: tuple[int, int], *, n_kinds: int, n_slots: int, most_objects: int
) -> Iterator[Cell]:
    """Yield the cells of a level with N in `complexity`, by N."""
    least_of_level, greatest_of_level = LEVELS[level]
    least = max(least_of_level, complexity[0])
    greatest = min(greatest_of_level, complexity[1])
    for n_atoms in range(least, greatest + 1):
        for n_objects in range(1, min(n_atoms, most_objects) + 1):
            most_attributes = n_objects * n_kinds
            # A relation of a slot joins two objects that no other relation of it joins.
            most_relations = n_slots * (n_objects // 2)
            for n_attributes in range(n_atoms - n_objects + 1):
                n_relations = n_atoms - n_objects - n_attributes
                if n_attributes > most_attributes or n_relations > most_relations:
                    continue
                if level_of(n_attributes, n_relations) == level:
                    yield Cell(level, n_objects, n_attributes, n_relations)


def parse_complexity(spec: str) -> tuple[int, int]:
    """Parse the least and greatest N from `4..12` or `6`.

    Raises:
        UserError: `spec` has another form, or is not between 1 and 12.

    >>> parse_complexity("4..12"), parse_complexity("6")
    ((4, 12), (6, 6))
    """
    low, dots, high = spec.partition("..")
    least = whole_number(low)
    greatest = whole_number(high if dots else low)
    if least is None or greatest is None or not 1 <= least <= greatest <= MOST_ATOMS:
        raise UserError(
            f"Expected --complexity to be a number of atoms from 1 to {MOST_ATOMS}, or a range "
            f"such as 4..{MOST_ATOMS}, got '{spec}'."
        )
    return least, greatest


def parse_counts(spec: str | None) -> dict[str, int]:
    """Parse exact counts from `O=3,A=5,R=2`; each of the three may be left out.

    Raises:
        UserError: `spec` has another form, or names a letter twice.

    >>> parse_counts("O=3,R=2"), parse_counts(None)
    ({'O': 3, 'R': 2}, {})
    """
    counts: dict[str, int] = {}
    if not spec:
        return counts
    for part in spec.split(","):
        letter, _, digits = part.partition("=")
        letter = letter.strip()
        number = whole_number(digits.strip())
        if letter not in _COUNT_OF_LETTER or number is None or letter in counts:
            raise UserError(
                f"Expected --counts to be like O=3,A=5,R=2 (objects, attributes, relations), got "
                f"'{spec}'."
            )
        counts[letter] = number
    return counts


_FAILURE_FILLS = 0.02
"""How much a failure counts as a fill, so that impossible cells of a world come last."""
_MOST_EXCESS = 2
"""A cell is skipped once it has more than this many times the average of the filled cells, plus as
many fills."""
_MOST_TRIES = 12
"""Cells that are tried for a scene before it gets no caption."""
Result = TypeVar("Result")
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
        """All cells, in order of preference where they are equally filled."""
        self._fills = Counter[Cell]()
        self._failures = dict.fromkeys(self.cells, 0.0)

    def fill(self, n_objects: int, make: Callable[[Cell], list[Result]]) -> list[Result]:
        """Call `make` with the least filled cells until one gives a result.

        A failure counts as 0.02 fills. Cells that are filled far more often than the average are
        skipped, so that easy cells do not dominate.

        Args:
            n_objects: of the scene; cells with more objects are not tried.
            make: makes the results of a cell, or returns an empty list.

        Returns:
            The results of the first of up to twelve cells that has some, else an empty list.
        """
        average = self._fills.total() / len(self._fills) if self._fills else 0
        limit = _MOST_EXCESS * average + _MOST_EXCESS
        suitable = [
            cell
            for cell in self.cells
            if cell.n_objects <= n_objects and self._fills[cell] <= limit
        ]
        for cell in heapq.nsmallest(_MOST_TRIES, suitable, key=self._weight):
            results = make(cell)
            if results:
                self._fills[cell] += 1
                return results
            self._failures[cell] += _FAILURE_FILLS
        return []

    def _weight(self, cell: Cell) -> float:
        return self._fills[cell] + self._failures[cell]

    def to_dict(self) -> dict[str, int]:
        """How often each cell was filled, by its description; cells that were never filled are
        omitted."""
        return {
            f"{cell.level} O={cell.n_objects} A={cell.n_attributes} R={cell.n_relations}": (
                self._fills[cell]
            )
            for cell in self.cells
            if cell in self._fills
        }


def make_quotas(cells: Sequence[Cell], by_complexity: bool) -> dict[str, Quota]:
    """Make one quota per level, or with `by_complexity` per level and N.

    Returns:
        The quotas by name, "OA" or "OA 5", in the order of LEVELS and of N.
    """
    level_order = list(LEVELS)
    members: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (level_order.index(cell.level), cell.complexity)):
        name = f"{cell.level} {cell.complexity}" if by_complexity else cell.level
        members.setdefault(name, []).append(cell)
    return {name: Quota(cells_of_quota) for name, cells_of_quota in members.items()}


class LeastUsed:
    """Picks the least used option and counts its picks.

    >>> used = LeastUsed()
    >>> sorted(used.pick(["left", "right"], Stream(0)) for _ in range(4))
    ['left', 'left', 'right', 'right']
    """

    def __init__(self) -> None:
        self._picks: Counter[Hashable] = Counter()

    def pick(self, options: Sequence[Option], stream: Stream) -> Option:
        """Pick one of the options that were picked least often, at random."""
        fewest = min(self._picks[option] for option in options)
        least_used = [option for option in options if self._picks[option] == fewest]
        chosen = least_used[stream.below(len(least_used))]
        self._picks[chosen] += 1
        return chosen
