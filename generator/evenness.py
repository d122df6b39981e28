"""How even values and objects are over the scenes drawn so far, in all and by place from left to right."""

from collections.abc import Iterator, Sequence

from generator.splits import Arrangement
from generator.streams import Stream

VALUE, OBJECT = 0, 1


class Evenness:
    """Counts of values and of objects; a binding is (value, object), and a sort is `VALUE` or `OBJECT`."""

    def __init__(self, values: Sequence[str], objects: Sequence[str]):
        self.names = (list(values), list(objects))
        self._number = tuple({name: i for i, name in enumerate(names)} for names in self.names)
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

    def crowded(self, like: Sequence[Sequence[object]]) -> set[tuple[int, int | None, str]]:
        """(sort, place, name) that are more frequent than another by more than one; place None for all places together.

        Names are compared that are alike: `like` says for each sort of each name what must be equal.
        """
        found: set[tuple[int, int | None, str]] = set()
        for sort, place, counts in self._tables():
            least: dict[object, int] = {}
            for kind, count in zip(like[sort], counts, strict=True):
                least[kind] = min(count, least.get(kind, count))
            rows = zip(self.names[sort], like[sort], counts, strict=True)
            found |= {(sort, place, name) for name, kind, count in rows if count > least[kind] + 1}
        return found

    def _tables(self) -> Iterator[tuple[int, int | None, list[int]]]:
        for sort in (VALUE, OBJECT):
            yield sort, None, self._total[sort]
            for place, counts in enumerate(self._placed[sort]):
                yield sort, place, counts

    def _at(self, sort: int, place: int) -> list[int]:
        rows = self._placed[sort]
        while len(rows) <= place:
            rows.append([0] * len(self.names[sort]))
        return rows[place]
