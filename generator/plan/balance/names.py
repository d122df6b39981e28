"""Arrangements in which values and objects become equally frequent, in all and at each place from left to right."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import itemgetter

from generator.base.streams import Stream
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
    """Rows of a search: arrangements of which one name is replaced, or exchanged with another of its scene, at a time."""

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
        """Change the name at one crowded place to the best that fits; rows without a crowded place stay."""
        old, crowded = self.chosen[row], self._counts.crowded()
        spots = [
            (place, role)
            for place, binding in enumerate(old)
            for role, name in enumerate(binding)
            if not crowded.isdisjoint(self._names.cells(role, place)[name])
        ]
        self._counts.add(self._names.option(old), -1)
        found = (new for spot in self._stream.shuffled(spots) if (new := self._changed(old, *spot)))
        self.chosen[row] = next(found, old)
        self._counts.add(self._names.option(self.chosen[row]))

    def put(self, row: int, choice: Arrangement) -> None:
        self._counts.add(self._names.option(self.chosen[row]), -1)
        self._counts.add(self._names.option(choice))
        self.chosen[row] = choice

    def _changed(self, old: Arrangement, place: int, role: int) -> Arrangement | None:
        """The arrangement with another name at a place; None if no change fits that is as good as none.

        Replacing a name changes what is counted in all. Exchanging two names of the scene changes the counts at two places
        only, and mostly fits where no replacement does.
        """
        changes = [*self._replacements(old, place, role), *self._exchanges(old, place, role)]
        for _, new in sorted(self._stream.shuffled([each for each in changes if each[0] <= 0]), key=itemgetter(0)):
            if new in self._refused:
                continue
            if self._fits(new):
                return new
            self._refused.add(new)
        return None

    def _replacements(self, old: Arrangement, place: int, role: int) -> Iterator[tuple[int, Arrangement]]:
        """Costs, less that of `old`, and arrangements with another name at a place."""
        cells, here = self._names.cells(role, place), old[place][role]
        before = self._counts.cost(cells[here])
        for name in cells:
            if name != here:
                yield self._counts.cost(cells[name]) - before, renamed(old, place, role, name)

    def _exchanges(self, old: Arrangement, place: int, role: int) -> Iterator[tuple[int, Arrangement]]:
        """Costs, less that of `old`, and arrangements with the name at a place exchanged with that at another."""
        cells, here = self._names.cells(role, place), old[place][role]
        for other, binding in enumerate(old):
            if (there := binding[role]) != here:
                theirs = self._names.cells(role, other)
                after = self._counts.cost(cells[there]) + self._counts.cost(theirs[here])
                before = self._counts.cost(cells[here]) + self._counts.cost(theirs[there])
                yield after - before, renamed(renamed(old, place, role, there), other, role, here)
