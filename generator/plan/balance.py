"""Balances counts: each row takes its least-used option, then a repair pass reduces the remaining
excess."""

from array import array
from collections.abc import Callable, Collection, Hashable, Sequence, Set
from typing import TypeVar

from generator.base.streams import Stream

T = TypeVar("T")
_AT_ONCE = 300  # uneven rows that move in each sweep
_OTHERS = 20  # other rows that move with them, to make room
_PATIENCE = 4_000  # moves without improvement

Cells = tuple[int, ...]
"""The numbers of the cells that a choice fills."""


class Counts:
    """The count of each cell. Within a class, counts should differ by at most one.

    A cell is a counted name of a class, such as "red" in the class ("value", "left"). `filled` has
    the count of each cell. A class that is a tuple need not be even while its first item is in
    `loose`.
    """

    def __init__(self) -> None:
        self.filled = array("q")
        self.loose: Collection[str] = ()
        self._classes: dict[Hashable, list[int]] = {}
        self._class_of: list[list[int]] = []
        self._cells: dict[tuple[Hashable, Hashable], int] = {}

    def cell(self, among: Hashable, name: Hashable) -> int:
        """The number of the cell of a name in the class `among`; both are added when they are
        new."""
        number = self._cells.setdefault((among, name), len(self.filled))
        if number == len(self.filled):
            self.filled.append(0)
            cells = self._classes.setdefault(among, [])
            cells.append(number)
            self._class_of.append(cells)
        return number

    def classes(self) -> list[list[int]]:
        """The cells of each class."""
        return list(self._classes.values())

    def add(self, cells: Cells, n: int = 1) -> None:
        """Fill cells, or with n = -1 empty them again."""
        for cell in cells:
            self.filled[cell] += n

    def growth(self, empties: Cells, fills: Cells) -> int:
        """Half the growth of the sum of squared counts when cells are emptied and then equally many
        filled."""
        filled, grown = self.filled, 0
        for cell in empties:
            filled[cell] -= 1
            grown -= filled[cell]
        for cell in fills:
            grown += filled[cell]
            filled[cell] += 1
        self.add(fills, -1)
        self.add(empties)
        return grown

    def crowded(self) -> dict[int, int]:
        """Cells with count > class minimum + 1, each with count - class minimum - 1; skips loose
        classes."""
        found: dict[int, int] = {}
        for among, cells in self._classes.items():
            if isinstance(among, tuple) and among[0] in self.loose:
                continue
            counts = [self.filled[cell] for cell in cells]
            most = min(counts) + 1
            if max(counts) > most:
                found |= {cell: n - most for cell, n in zip(cells, counts, strict=True) if n > most}
        return found

    def is_crowded(self, cell: int) -> bool:
        """Whether the count of a cell is above its class minimum + 1."""
        return self.filled[cell] > min([self.filled[each] for each in self._class_of[cell]]) + 1

    def excess(self) -> int:
        """How far the counts are from even: the sum over cells of max(0, count - class minimum -
        1)."""
        return sum(self.crowded().values())


def even_out(
    chosen: list[T],
    counts: Counts,
    cells: Callable[[int, T], Cells],
    best: Callable[[int, T, Set[int]], T],
    stream: Stream,
) -> None:
    """Change the choices of rows one by one until the counts are even or stop improving. `counts`
    includes the choices.

    `cells`: the cells that a row's choice fills. `best`: the best choice for a row given the
    choices of all others,
    random among ties and never worse than the present one; its last argument has the cells that
    were crowded before the
    sweep. Each sweep moves some rows that fill a crowded cell, and a few others. Moves of zero cost
    are allowed, so
    that surpluses can drift and cancel. The best choices found are kept.
    """

    def put(row: int, choice: T) -> None:
        if choice != chosen[row]:
            counts.add(fills[row], -1)
            chosen[row], fills[row] = choice, cells(row, choice)
            counts.add(fills[row])

    fills = [cells(row, choice) for row, choice in enumerate(chosen)]
    least, found, patience = counts.excess(), list(chosen), _PATIENCE
    while chosen and (crowded := set(counts.crowded())) and patience > 0:
        uneven = [row for row, each in enumerate(fills) if not crowded.isdisjoint(each)]
        moving = {uneven[stream.below(len(uneven))] for _ in range(min(_AT_ONCE, len(uneven)))}
        moving |= {stream.below(len(chosen)) for _ in range(_OTHERS)}
        for row in stream.shuffled(sorted(moving)):
            put(row, best(row, chosen[row], crowded))
        patience -= len(moving)
        if (excess := counts.excess()) < least:
            least, found, patience = excess, list(chosen), _PATIENCE
    for row, choice in enumerate(found):
        put(row, choice)


def choose(options: Sequence[Sequence[Cells]], counts: Counts, stream: Stream) -> list[int]:
    """Choose an option for each row so that counts become even. Adds these to `counts`; returns
    their indices."""

    filled = counts.filled.__getitem__

    def cheapest(row: int) -> int:
        # half the growth of the sum of squared counts, minus a constant
        return least_of([sum(map(filled, option)) for option in options[row]], stream)

    def best(row: int, pick: int, _: Set[int]) -> int:
        counts.add(options[row][pick], -1)
        found = cheapest(row)
        counts.add(options[row][pick])
        return found

    chosen = []
    for row, option in enumerate(options):
        chosen.append(cheapest(row))
        counts.add(option[chosen[-1]])
    even_out(chosen, counts, lambda row, pick: options[row][pick], best, stream)
    return chosen


def least_of(costs: Sequence[int], stream: Stream) -> int:
    """The index of the least cost, random among ties."""
    least = min(costs)
    best = [i for i, cost in enumerate(costs) if cost == least]
    return best[stream.below(len(best))] if len(best) > 1 else best[0]
