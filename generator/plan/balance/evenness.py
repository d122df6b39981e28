"""How even values and objects are over the scenes drawn so far, in all and by place from left to right."""

from collections.abc import Sequence

from generator.dataset.streams import Stream
from generator.holdout.membership import Arrangement

VALUE, OBJECT = 0, 1


class Evenness:
    """Counts of values and of objects; a binding is (value, object), and a sort is `VALUE` or `OBJECT`.

    `names` are those of both sorts. `like` says of each what must be equal of names that are to be equally frequent.
    """

    def __init__(self, names: tuple[Sequence[str], Sequence[str]], like: tuple[Sequence[object], Sequence[object]]):
        self.names = names
        self._number = tuple({name: i for i, name in enumerate(each)} for each in names)
        self._alike = tuple([[k for k, other in enumerate(each) if other == one] for one in each] for each in like)
        self._total = tuple([0] * len(names) for names in self.names)
        self._placed: tuple[list[list[int]], list[list[int]]] = ([], [])

    def add(self, arrangement: Arrangement, n: int = 1) -> None:
        """Count an arrangement, or with n = -1 take it back."""
        for place, binding in enumerate(arrangement):
            for sort, name in enumerate(binding):
                i = self._number[sort][name]
                self._total[sort][i] += n
                self._at(sort, place)[i] += n

    def costs(self, sort: int, place: int, names: Sequence[str]) -> list[int]:
        """How much less even each of the names at a place would make the counts."""
        number, total, placed = self._number[sort], self._total[sort], self._at(sort, place)
        return [total[number[name]] + placed[number[name]] for name in names]

    def cost(self, arrangement: Arrangement) -> int:
        """How much less even an arrangement would make the counts."""
        return sum(
            self.costs(sort, place, [binding[sort]])[0]
            for place, binding in enumerate(arrangement)
            for sort in (VALUE, OBJECT)
        )

    def lagging(self) -> int:
        """The sort that is less even, relative to how often each of its names should occur."""
        spreads = [(max(total) - min(total)) * len(total) for total in self._total]
        return VALUE if spreads[VALUE] >= spreads[OBJECT] else OBJECT

    def pick(self, sort: int, place: int, names: Sequence[str], stream: Stream, ease: int = 1) -> str:
        """One of the least frequent names, or with `ease` of the next to least frequent ones too, by chance among equals."""
        costs = self.costs(sort, place, names)
        least = min(costs) if ease == 1 else sorted(set(costs))[:ease][-1]
        best = [name for name, cost in zip(names, costs, strict=True) if cost <= least]
        return best[stream.below(len(best))]

    def crowded(self, arrangement: Arrangement) -> list[tuple[int, int]]:
        """(place, sort) of the names that are more frequent than one that is alike by more than one, in all or at their place."""
        found = []
        for place, binding in enumerate(arrangement):
            for sort, name in enumerate(binding):
                i = self._number[sort][name]
                alike = self._alike[sort][i]
                total, placed = self._total[sort], self._placed[sort][place]
                if placed[i] > min([placed[k] for k in alike]) + 1 or total[i] > min([total[k] for k in alike]) + 1:
                    found.append((place, sort))
        return found

    def _at(self, sort: int, place: int) -> list[int]:
        rows = self._placed[sort]
        while len(rows) <= place:
            rows.append([0] * len(self.names[sort]))
        return rows[place]
