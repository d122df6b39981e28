"""Choices that make everything equally frequent: each row takes one of its options, each option fills some cells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from generator.dataset.streams import Stream

Option = tuple[int, ...]
_SWEEPS = 12  # passes over all rows without getting any better
_AT_ONCE, _PATIENCE = 300, 80  # choices made anew at a time, and how often without getting any better
_TOO_FULL = 3  # times the mean: where a cell that need not be even is too full
_OTHERS = 40  # choices that are made anew with the uneven ones in each sweep, so that there is room to move


class Tally:
    """How often each cell was filled. Cells are numbered as they are first named."""

    def __init__(self) -> None:
        self._number: dict[tuple[object, ...], int] = {}
        self.counts: list[int] = []

    def cell(self, *name: object) -> int:
        """The number of a cell."""
        found = self._number.setdefault(name, len(self.counts))
        if found == len(self.counts):
            self.counts.append(0)
        return found

    def add(self, option: Option, n: int = 1) -> None:
        """Fill the cells of an option, or with a negative `n` empty them."""
        for cell in option:
            self.counts[cell] += n

    def cost(self, option: Option) -> int:
        """By how much the squares of all counts grow, less a constant, when the option is added."""
        return sum(self.counts[cell] for cell in option)


def choose(options: Sequence[Sequence[Option]], tally: Tally, stream: Stream) -> list[int]:
    """For each row the index of the option to take, so that counts of cells become as even as they can be.

    Greedy in the order given, then again and again over the rows that are uneven, and some others: a row changes its option
    when the squares of the counts get smaller by it, or stay the same, by which one unevenness wanders until it meets
    another that cancels it. Cells stand for the same in all options of a row: the k-th are to become equal.
    """
    chosen = []
    for row in options:
        pick = _cheapest(row, tally, stream)
        tally.add(row[pick])
        chosen.append(pick)
    patience, least = _SWEEPS, len(options) + 1
    while patience:
        uneven = [i for i, row in enumerate(options) if _uneven(row, chosen[i], tally)]
        if not uneven:
            break
        patience = _SWEEPS if len(uneven) < least else patience - 1
        least = min(least, len(uneven))
        others = {stream.below(len(options)) for _ in range(_OTHERS)}
        for i in stream.shuffled(sorted({*uneven, *others})):
            if i in others or _uneven(options[i], chosen[i], tally):
                tally.add(options[i][chosen[i]], -1)
                chosen[i] = _cheapest(options[i], tally, stream)
                tally.add(options[i][chosen[i]])
    return chosen


def _uneven(row: Sequence[Option], pick: int, tally: Tally) -> bool:
    """Whether a cell of the option that was taken is fuller than that of another option by more than one."""
    counts, taken = tally.counts, row[pick]
    for other in row:
        for here, there in zip(taken, other, strict=True):
            if counts[here] > counts[there] + 1:
                return True
    return False


def _cheapest(row: Sequence[Option], tally: Tally, stream: Stream) -> int:
    costs = [tally.cost(option) for option in row]
    least = min(costs)
    best = [i for i, cost in enumerate(costs) if cost == least]
    return best[stream.below(len(best))] if len(best) > 1 else best[0]


@dataclass(frozen=True)
class Family:
    """Cells of one sort, such as the value of the left object. `cells` is int (candidates, k): the k cells that each
    candidate fills, below `size`; `classes` is the class of each cell, within which counts shall be even; `weight` says
    how much the family matters. A family that is `strict` must become even up to one."""

    cells: np.ndarray
    classes: np.ndarray
    weight: int
    strict: bool = True

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.classes)


def choose_alike(families: Sequence[Family], n: int, stream: Stream) -> tuple[list[int], int]:
    """`n` times one of the same candidates, so that within each class of cells all become equally frequent.

    The same search as `choose`, by numpy. Returns the candidates, and the excess of strict families over even up to one.
    """
    state = _State(families, stream, n)
    chosen = [state.take() for _ in range(n)]
    patience, least, best = _PATIENCE, state.excess(), list(chosen)
    while least and patience:
        uneven = stream.shuffled(state.uneven(chosen))[:_AT_ONCE]
        for i in stream.shuffled(sorted({*uneven, *(stream.below(n) for _ in range(_OTHERS))})):
            state.put_back(chosen[i])
            chosen[i] = state.take(strictly=True)
        excess = state.excess()
        patience = _PATIENCE if excess < least else patience - 1
        if excess < least:
            least, best = excess, list(chosen)
    return [state.names[pick] for pick in best], least


def choose_by_groups(families: Sequence[Family], groups: np.ndarray, n: int, stream: Stream) -> tuple[list[int], int]:
    """As `choose_alike`, in two steps: a group for each of the `n`, then one of the candidates of that group.

    `groups` is the number of each candidate's group. Cells that all candidates of a group fill alike are for the first
    step, the others for the second. Each is a far smaller search than both at once, and finds what that may miss.
    """
    members = [np.flatnonzero(groups == group).tolist() for group in range(int(groups.max()) + 1)]
    firsts = np.array([row[0] for row in members])
    alike = [_filled_alike(family.cells, firsts[groups]) for family in families]
    whole = [replace(family, cells=family.cells[firsts]) for family, same in zip(families, alike, strict=True) if same]
    chosen, _ = choose_alike(whole, n, stream)
    tally = Tally()
    rest = [family.cells for family, same in zip(families, alike, strict=True) if not same]
    options = [
        [tuple(tally.cell(k, cell) for k, cells in enumerate(rest) for cell in cells[pick].tolist()) for pick in row]
        for row in members
    ]
    taken = choose([options[group] for group in chosen], tally, stream)
    picks = [members[group][pick] for group, pick in zip(chosen, taken, strict=True)]
    counts = [np.bincount(family.cells[picks].ravel(), minlength=family.size) for family in families]
    return picks, _excess(families, counts)


def _filled_alike(cells: np.ndarray, firsts: np.ndarray) -> bool:
    """Whether each candidate fills the same cells, in any order, as the first of its group."""
    ordered = np.sort(cells, axis=1)
    return bool((ordered == ordered[firsts]).all())


class _State:
    """Counts of every family's cells, and what each candidate would cost."""

    def __init__(self, families: Sequence[Family], stream: Stream, n: int):
        self._stream = stream
        self.names = stream.shuffled(range(len(families[0].cells)))
        self._families = families
        self._cells = [family.cells[self.names] for family in families]
        self._counts = [np.zeros(family.size, np.int64) for family in families]
        # a class of four cells counts as much as one of six: both in parts of their least common multiple
        sizes = [np.bincount(family.classes)[family.classes] for family in families]
        whole = math.lcm(*(int(size) for each in sizes for size in np.unique(each)))
        self._scale = [family.weight * (whole // size) for family, size in zip(families, sizes, strict=True)]
        self._sizes = sizes
        self._most = [-(-_TOO_FULL * n * family.cells.shape[1] // family.size) for family in families]

    def take(self, strictly: bool = False) -> int:
        """A candidate that makes counts the least uneven; strictly: those of strict families, the others only where too full."""
        cost = np.zeros(len(self.names), np.int64)
        for family, cells, count, size, scale, most in zip(
            self._families, self._cells, self._counts, self._sizes, self._scale, self._most, strict=True
        ):
            if strictly and not family.strict:
                excess = np.maximum(count + 1 - most, 0) * size * scale
            else:
                excess = (count * size - np.bincount(family.classes, count).astype(np.int64)[family.classes]) * scale
            for column in cells.T:
                cost += excess[column]
        best = np.flatnonzero(cost == cost.min())
        pick = int(best[self._stream.below(len(best))])
        self._add(pick, 1)
        return pick

    def put_back(self, pick: int) -> None:
        self._add(pick, -1)

    def _add(self, pick: int, by: int) -> None:
        for cells, count in zip(self._cells, self._counts, strict=True):
            np.add.at(count, cells[pick], by)

    def excess(self) -> int:
        return _excess(self._families, self._counts)

    def uneven(self, chosen: Sequence[int]) -> list[int]:
        """Places in `chosen` of candidates that fill a cell of a strict family that is too full."""
        picks = np.asarray(chosen)
        found = np.zeros(len(picks), bool)
        for family, cells, count in zip(self._families, self._cells, self._counts, strict=True):
            if family.strict:
                full = count > _least(family, count) + 1
                found |= full[cells[picks]].any(axis=1)
        return np.flatnonzero(found).tolist()


def _excess(families: Sequence[Family], counts: Sequence[np.ndarray]) -> int:
    """By how much cells of strict families exceed the least full of their class by more than one, in all."""
    return sum(
        int(np.maximum(count - _least(family, count) - 1, 0).sum())
        for family, count in zip(families, counts, strict=True)
        if family.strict
    )


def _least(family: Family, count: np.ndarray) -> np.ndarray:
    """For each cell how full the least full of its class is."""
    least = np.full(family.classes.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, family.classes, count)
    return least[family.classes]
