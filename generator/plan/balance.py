"""Makes counts even: each row takes one of its options so that all names are used equally often.

Rows are the scenes of a plan, or their objects. An option of a row fills *cells*. A cell is a name
that is counted within a class, such as "red" in the class ("value", "left"). Within a class, the
counts should differ by at most one.

`choose` first gives each row its least-used option. Rows with few options can then still leave a
surplus in some cells, so `even_out` moves rows until no cell is crowded, or until moves stop
helping.
"""

from array import array
from collections.abc import Callable, Collection, Hashable, Sequence, Set
from typing import TypeVar

from generator.base.streams import Stream

T = TypeVar("T")

_CROWDED_ROWS_PER_SWEEP = 300
"""Rows in crowded cells that move in a sweep. Which cells are crowded is computed once for each
sweep, over all cells: moving many rows spreads that cost, and moving all of them would act on a
picture that is out of date."""
_OTHER_ROWS_PER_SWEEP = 20
"""Rows outside crowded cells that move too: a crowded row often has no free cell until another
leaves it."""

PATIENCE = 4_000
"""Moves without improvement after which the counts count as even as they can be."""

Cells = tuple[int, ...]
"""The numbers of the cells that an option fills."""


class CellCounts:
    """The count of each cell, and the classes within which counts should be even."""

    def __init__(self) -> None:
        self.filled = array("q")
        """The count of each cell, by the cell's number."""
        self.loose: Collection[str] = ()
        """Classes whose key is a tuple that starts with one of these words need not be even."""
        self._cells_of_class: dict[Hashable, list[int]] = {}
        self._class_of_cell: list[list[int]] = []
        self._number_of: dict[tuple[Hashable, Hashable], int] = {}

    def cell(self, class_key: Hashable, name: Hashable) -> int:
        """The number of the cell of a name in a class; both are added if they are new."""
        number = self._number_of.setdefault((class_key, name), len(self.filled))
        if number == len(self.filled):
            self.filled.append(0)
            class_cells = self._cells_of_class.setdefault(class_key, [])
            class_cells.append(number)
            self._class_of_cell.append(class_cells)
        return number

    def classes(self) -> list[list[int]]:
        """The cells of each class."""
        return list(self._cells_of_class.values())

    def add(self, cells: Cells, n: int = 1) -> None:
        """Add n to the count of each cell; n = -1 takes back what was added."""
        for cell in cells:
            self.filled[cell] += n

    def growth(self, emptied: Cells, filled: Cells) -> int:
        """How a move changes the unevenness: half the growth of the sum of squared counts.

        With as many cells filled as emptied, the sum of counts stays the same, so a smaller sum of
        squares means more even counts.

        Args:
            emptied: the cells that lose one.
            filled: the cells that gain one; as many.

        >>> counts = CellCounts()
        >>> red, blue = counts.cell("color", "red"), counts.cell("color", "blue")
        >>> counts.add((red, red, red))
        >>> counts.growth((red,), (blue,))  # (2² + 1² - 3² - 0²) / 2
        -2
        """
        current = self.filled
        growth = 0
        # One after the other, as a cell may occur in both, or twice in one.
        for cell in emptied:
            current[cell] -= 1
            growth -= current[cell]
        for cell in filled:
            growth += current[cell]
            current[cell] += 1
        self.add(filled, -1)
        self.add(emptied)
        return growth

    def crowded(self) -> dict[int, int]:
        """The cells whose count exceeds the least count of their class by more than one.

        Returns:
            For each of these cells its surplus: count - least count - 1. Loose classes are skipped.
        """
        surplus_of: dict[int, int] = {}
        for class_key, cells in self._cells_of_class.items():
            if isinstance(class_key, tuple) and class_key[0] in self.loose:
                continue
            counts = [self.filled[cell] for cell in cells]
            highest_even = min(counts) + 1
            if max(counts) <= highest_even:
                continue
            for cell, count in zip(cells, counts, strict=True):
                if count > highest_even:
                    surplus_of[cell] = count - highest_even
        return surplus_of

    def is_crowded(self, cell: int) -> bool:
        """Whether the count of a cell exceeds the least count of its class by more than one."""
        least = min([self.filled[other] for other in self._class_of_cell[cell]])
        return self.filled[cell] > least + 1

    def excess(self) -> int:
        """How far the counts are from even: the sum over cells of
        max(0, count - least count of the class - 1)."""
        return sum(self.crowded().values())


def even_out(
    choices: list[T],
    counts: CellCounts,
    stream: Stream,
    *,
    cells_of: Callable[[int, T], Cells],
    best_choice: Callable[[int, T, Set[int]], T],
    patience: int = PATIENCE,
) -> None:
    """Change the choices of rows, one at a time, until the counts are even or stop improving.

    This is a local search over sweeps:
    1. Find the crowded cells, the rows that fill one, and draw some of these rows and a few others.
    2. Give each drawn row its best choice, all others being what they are. A move that costs
       nothing is allowed: it lets a surplus wander until it meets a gap that it can fill.
    3. Remember the choices with the least excess so far; end when that stays for `patience` moves.
    Last, the remembered choices are put back.

    Args:
        choices: the choice of each row; changed in place.
        counts: the counts, which include the choices.
        stream: draws the rows and their order.
        cells_of: the cells that a choice of a row fills.
        best_choice: the best choice of a row, from the row, its present choice, and the cells that
            were crowded before the sweep. It is random among ties and never worse than the present
            choice.
        patience: moves without improvement after which the search ends.
    """
    cells_of_row = [cells_of(row, choice) for row, choice in enumerate(choices)]

    def set_choice(row: int, choice: T) -> None:
        if choice == choices[row]:
            return
        counts.add(cells_of_row[row], -1)
        choices[row] = choice
        cells_of_row[row] = cells_of(row, choice)
        counts.add(cells_of_row[row])

    crowded = counts.crowded()
    least_excess = sum(crowded.values())
    best_choices = list(choices)
    moves_left = patience
    while choices and crowded and moves_left > 0:
        # 1. The rows that move.
        moving = _draw_moving_rows(cells_of_row, crowded.keys(), stream)

        # 2. Their moves. Sorted first, because the order of a set is not fixed.
        for row in stream.shuffled(sorted(moving)):
            set_choice(row, best_choice(row, choices[row], crowded.keys()))
        moves_left -= len(moving)

        # 3. Whether they helped.
        crowded = counts.crowded()
        excess = sum(crowded.values())
        if excess < least_excess:
            least_excess = excess
            best_choices = list(choices)
            moves_left = patience
    for row, choice in enumerate(best_choices):
        set_choice(row, choice)


def _draw_moving_rows(cells_of_row: Sequence[Cells], crowded: Set[int], stream: Stream) -> set[int]:
    """Draw the rows that move in a sweep: some of those that fill a crowded cell, and others."""
    crowded_rows = [row for row, cells in enumerate(cells_of_row) if not crowded.isdisjoint(cells)]
    n_crowded = min(_CROWDED_ROWS_PER_SWEEP, len(crowded_rows))
    moving = {crowded_rows[stream.below(len(crowded_rows))] for _ in range(n_crowded)}
    moving |= {stream.below(len(cells_of_row)) for _ in range(_OTHER_ROWS_PER_SWEEP)}
    return moving


def choose(options: Sequence[Sequence[Cells]], counts: CellCounts, stream: Stream) -> list[int]:
    """Choose an option for each row so that counts become even, and add the choices to the counts.

    Args:
        options: for each row, the cells that each of its options fills; all options of a row fill
            equally many.
        counts: the counts so far, which the choices continue.
        stream: decides between options that are used equally often.

    Returns:
        The index of the chosen option of each row.

    >>> counts = CellCounts()
    >>> red_or_blue = [(counts.cell("color", name),) for name in ("red", "blue")]
    >>> sorted(choose([red_or_blue] * 4, counts, Stream("example")))
    [0, 0, 1, 1]
    """
    count_of = counts.filled.__getitem__

    def least_used(row: int) -> int:
        # The sum of counts is half the growth of the sum of squares, except for a constant: that
        # of the cells, of which all options of a row fill equally many.
        return _index_of_least([sum(map(count_of, cells)) for cells in options[row]], stream)

    def best_choice(row: int, choice: int, _crowded: Set[int]) -> int:
        counts.add(options[row][choice], -1)
        best = least_used(row)
        counts.add(options[row][choice])
        return best

    choices: list[int] = []
    for row, row_options in enumerate(options):
        choice = least_used(row)
        choices.append(choice)
        counts.add(row_options[choice])
    even_out(
        choices,
        counts,
        stream,
        cells_of=lambda row, choice: options[row][choice],
        best_choice=best_choice,
    )
    return choices


def _index_of_least(costs: Sequence[int], stream: Stream) -> int:
    """The index of the least cost, random among ties."""
    least = min(costs)
    cheapest = [i for i, cost in enumerate(costs) if cost == least]
    # No number is drawn if there is nothing to decide.
    return cheapest[stream.below(len(cheapest))] if len(cheapest) > 1 else cheapest[0]
