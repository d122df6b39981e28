"""Arrangements in which values and objects become equally frequent, in all and at each place from left to right."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from generator.dataset.streams import Stream
from generator.holdout.membership import Arrangement
from generator.plan.balance.counts import Counts, Option
from generator.plan.balance.search import search

VALUE, OBJECT = 0, 1
"""The roles in a binding: (value, object)."""


def renamed(arrangement: Arrangement, place: int, role: int, name: str) -> Arrangement:
    """The arrangement with another value or object at a place."""
    binding = (name, arrangement[place][1]) if role == VALUE else (arrangement[place][0], name)
    return (*arrangement[:place], binding, *arrangement[place + 1 :])


class NameCounts:
    """How often each value and object occurs, in all and at each place.

    `classes` is the class of each name, for both roles: names of a class should be equally frequent.
    """

    def __init__(self, classes: tuple[Mapping[str, Hashable], Mapping[str, Hashable]]):
        self.counts, self.classes = Counts(), classes
        self._cells: dict[tuple[int, int], dict[str, Option]] = {}

    def cells(self, role: int, place: int) -> dict[str, Option]:
        """For each name of a role the cells that it fills at a place: one for the place, one for all places."""
        if (role, place) not in self._cells:
            self._cells[role, place] = {
                name: tuple(self.counts.cell((role, where, among), name) for where in (place, "all"))
                for name, among in self.classes[role].items()
            }
        return self._cells[role, place]

    def option(self, arrangement: Arrangement) -> Option:
        """The cells that an arrangement fills."""
        return tuple(
            cell
            for place, binding in enumerate(arrangement)
            for role, name in enumerate(binding)
            for cell in self.cells(role, place)[name]
        )

    def behind(self) -> int:
        """The role whose names are less even, relative to how often each of them should occur."""
        spreads = []
        for role in (VALUE, OBJECT):
            filled = [self.counts.filled[everywhere] for _, everywhere in self.cells(role, 0).values()]
            spreads.append((max(filled) - min(filled)) * len(filled))
        return VALUE if spreads[VALUE] >= spreads[OBJECT] else OBJECT

    def pick(self, role: int, place: int, names: Sequence[str], stream: Stream, ease: int = 1) -> str:
        """One of the names by chance: of the least frequent, with `ease` 2 also of the next to least frequent, and so on."""
        cells = self.cells(role, place)
        costs = [self.counts.cost(cells[name]) for name in names]
        most = min(costs) if ease == 1 else sorted(set(costs))[:ease][-1]
        best = [name for name, cost in zip(names, costs, strict=True) if cost <= most]
        return best[stream.below(len(best))]


def replace_names(
    made: Sequence[Arrangement], names: NameCounts, fits: Callable[[Arrangement], bool], stream: Stream
) -> list[Arrangement]:
    """The arrangements, already added to `names`, with names replaced until they are as even as the search finds.

    Only arrangements for which `fits` is true replace others.
    """
    rows = _Replacements(made, names, fits, stream)
    search(rows, stream)
    return rows.chosen


class _Replacements:
    """Rows of a search: arrangements of which one name is replaced at a time."""

    def __init__(
        self, made: Sequence[Arrangement], names: NameCounts, fits: Callable[[Arrangement], bool], stream: Stream
    ):
        self.chosen = list(made)
        self._names, self._counts, self._fits, self._stream = names, names.counts, fits, stream
        self._refused: set[Arrangement] = set()

    def excess(self) -> int:
        return self._counts.excess()

    def at_fault(self) -> list[int]:
        crowded = self._counts.crowded()
        return [row for row, made in enumerate(self.chosen) if not crowded.isdisjoint(self._names.option(made))]

    def move(self, row: int) -> None:
        """Replace the name at one crowded place by the least frequent one that fits."""
        old = self.chosen[row]
        crowded = self._counts.crowded()
        spots = [(place, role) for place in range(len(old)) for role in (VALUE, OBJECT)]
        cells = {(place, role): self._names.cells(role, place)[old[place][role]] for place, role in spots}
        spots = [spot for spot in spots if not crowded.isdisjoint(cells[spot])]
        self._counts.add(self._names.option(old), -1)
        found = (new for spot in self._stream.shuffled(spots) if (new := self._replaced(old, *spot)))
        self.chosen[row] = next(found, old)
        self._counts.add(self._names.option(self.chosen[row]))

    def put(self, row: int, choice: Arrangement) -> None:
        self._counts.add(self._names.option(self.chosen[row]), -1)
        self._counts.add(self._names.option(choice))
        self.chosen[row] = choice

    def _replaced(self, old: Arrangement, place: int, role: int) -> Arrangement | None:
        """The arrangement with the least frequent name that fits at a place; None if no name as good as the old one fits."""
        cells = self._names.cells(role, place)
        costs = {name: self._counts.cost(cells[name]) for name in self._stream.shuffled(list(cells))}
        for name in sorted(costs, key=costs.__getitem__):
            if costs[name] > costs[old[place][role]]:
                return None
            new = renamed(old, place, role, name)
            if name == old[place][role] or new in self._refused:
                continue
            if self._fits(new):
                return new
            self._refused.add(new)
        return None
