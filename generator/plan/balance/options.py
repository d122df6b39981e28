"""Rows that each take one option of a list, so that counts become even."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from generator.base.streams import Stream
from generator.plan.balance.counts import Counts, Option
from generator.plan.balance.search import search

_MOST = 3  # times the mean: cells of a loose class that are filled more often cost something
_LOOSE = 4  # so many of a loose class cost as much as one of another


def choose(options: Sequence[Sequence[Option]], counts: Counts, stream: Stream) -> list[int]:
    """For each row the index of the option to take, so that `counts`, to which the options are added, become even.

    Rows first take the cheapest option in the order given; then `search` moves them. All options of a row fill cells of the
    same classes.
    """

    def cheapest(row: int) -> int:
        costs = [counts.cost(option) for option in options[row]]
        least = min(costs)
        best = [i for i, cost in enumerate(costs) if cost == least]
        return best[stream.below(len(best))] if len(best) > 1 else best[0]

    rows = _Choices(options, counts, cheapest)
    for row in range(len(options)):
        rows.take(row, cheapest(row))
    search(rows, stream)
    return rows.chosen


def choose_shared(options: Sequence[Option], n: int, counts: Counts, stream: Stream) -> list[int]:
    """`choose` for `n` rows that share the same options, thousands of them, and empty `counts`.

    Rows first take all options equally often. Options may fill cells of different classes; all fill as many cells, and the
    k-th cells of all are of loose classes or none is.
    """
    costs = _SharedCosts(options, n, counts)

    def cheapest(row: int) -> int:
        found = costs.all()
        best = np.flatnonzero(found == found.min())
        return int(best[stream.below(len(best))])

    rows = _Choices([options] * n, counts, cheapest)
    for row, option in enumerate(stream.balanced(range(len(options)), n)):
        rows.take(row, option)
    search(rows, stream)
    return rows.chosen


class _Choices:
    """Rows of a search that each take one of their options."""

    def __init__(self, options: Sequence[Sequence[Option]], counts: Counts, cheapest: Callable[[int], int]):
        self._options, self._counts, self._cheapest = options, counts, cheapest
        self.chosen = [-1] * len(options)

    def excess(self) -> int:
        return self._counts.excess()

    def at_fault(self) -> list[int]:
        crowded = self._counts.crowded()
        pairs = enumerate(zip(self._options, self.chosen, strict=True))
        return [row for row, (options, pick) in pairs if not crowded.isdisjoint(options[pick])]

    def take(self, row: int, pick: int) -> None:
        self.chosen[row] = pick
        self._counts.add(self._options[row][pick])

    def move(self, row: int) -> None:
        self._counts.add(self._options[row][self.chosen[row]], -1)
        self.take(row, self._cheapest(row))

    def put(self, row: int, choice: int) -> None:
        self._counts.add(self._options[row][self.chosen[row]], -1)
        self.take(row, choice)


class _SharedCosts:
    """What each of thousands of options costs, computed at once.

    A cell costs its count less the mean of its class; a cell of a loose class costs nothing until it is far above the mean.
    """

    def __init__(self, options: Sequence[Option], n: int, counts: Counts):
        self._filled = np.frombuffer(counts.filled, np.int64)  # the counts themselves, not a copy
        cells = np.array(options, np.int64).T
        is_loose = np.array([counts.class_of[cell] in counts.loose for cell in cells[:, 0]])
        self._loose = cells[is_loose]
        means = [n / len(counts.classes[counts.class_of[cell]]) for cell in self._loose[:, 0]]
        self._most = np.array([math.ceil(_MOST * mean) for mean in means])[:, None]
        self._cells, columns = np.unique(cells[~is_loose], return_inverse=True)
        self._columns = columns.reshape(-1, len(options))
        classes = [counts.class_of[cell] for cell in self._cells]
        numbers = {among: number for number, among in enumerate(dict.fromkeys(classes))}
        self._classes = np.array([numbers[among] for among in classes])
        self._sizes = np.array([len(counts.classes[among]) for among in classes])
        self._unit = math.lcm(_LOOSE, *self._sizes.tolist())  # costs are whole numbers, so that ties are exact

    def all(self) -> np.ndarray:
        """The cost of each option, int64 (options,)."""
        filled = self._filled[self._cells]
        totals = np.bincount(self._classes, filled).astype(np.int64)[self._classes]
        costs = (filled * self._unit - totals * (self._unit // self._sizes)).take(self._columns).sum(axis=0)
        too_many = np.maximum(self._filled.take(self._loose) + 1 - self._most, 0).sum(axis=0)
        return np.asarray(costs + too_many * (self._unit // _LOOSE))
