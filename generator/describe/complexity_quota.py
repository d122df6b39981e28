"""Fills cells of complexity as evenly as the scenes allow."""

import heapq
from collections.abc import Iterable, Sequence

from generator.language.complexity import LEVELS, Cell

Offer = tuple[float, int]
"""A cell on loan: how often it has been filled, raised a little by every failure, and its index."""
_FAILURE = 0.02
_EXCESS = 2


class ComplexityQuota:
    """Offers the least filled cells first and counts how often each is filled.

    >>> quota = ComplexityQuota([Cell("L1", 1, 0, 0), Cell("L1", 2, 0, 0)])
    >>> offers = quota.take(12, 2)
    >>> quota.put_back(offers, 1, filled=1)
    >>> quota.to_dict()
    {'L1 O=2 A=0 R=0': 1}
    """

    def __init__(self, cells: Sequence[Cell]):
        self.cells = list(cells)
        self.filled = [0] * len(self.cells)
        self._queue: list[Offer] = [(0.0, i) for i in range(len(self.cells))]

    def take(self, most: int, n_objects: int) -> list[Offer]:
        """Up to `most` of the least filled cells with at most `n_objects` objects. Return them with `put_back`.

        A cell that is filled far more often than the average is held back, so that easy cells do not prevail.
        """
        used = sum(n > 0 for n in self.filled)
        limit = _EXCESS * sum(self.filled) / used + _EXCESS if used else _EXCESS
        offers: list[Offer] = []
        unsuitable: list[Offer] = []
        while self._queue and len(offers) < most:
            entry = heapq.heappop(self._queue)
            suitable = self.cells[entry[1]].n_objects <= n_objects and self.filled[entry[1]] <= limit
            (offers if suitable else unsuitable).append(entry)
        for entry in unsuitable:
            heapq.heappush(self._queue, entry)
        return offers

    def put_back(self, offers: Iterable[Offer], failed: int, filled: int | None) -> None:
        """Return cells: the first `failed` could not be filled; `filled` is the index of the cell that was, or None."""
        for n, (weight, i) in enumerate(offers):
            if i == filled:
                self.filled[i] += 1
                weight += 1
            elif n < failed:
                weight += _FAILURE
            heapq.heappush(self._queue, (weight, i))

    def to_dict(self) -> dict[str, int]:
        """How often each cell was filled, by its description; cells that were never filled are omitted."""
        return {
            f"{c.level} O={c.n_objects} A={c.n_attributes} R={c.n_relations}": n
            for c, n in zip(self.cells, self.filled, strict=True)
            if n
        }


def quotas_of(cells: Sequence[Cell], by_complexity: bool) -> dict[str, ComplexityQuota]:
    """A quota for the cells of each level, or with `by_complexity` of each level and N, by its name: "OA" or "OA 5"."""
    found: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: ([*LEVELS].index(cell.level), cell.complexity)):
        found.setdefault(f"{cell.level} {cell.complexity}" if by_complexity else cell.level, []).append(cell)
    return {name: ComplexityQuota(members) for name, members in found.items()}
