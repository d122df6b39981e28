"""Arrangements dealt from pools of names, so that at every place all names of a pool are equally frequent."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from generator.base.streams import Stream
from generator.holdout.membership import Arrangement
from generator.plan.balance.names import OBJECT, VALUE, renamed
from generator.plan.balance.search import search

_BLOCK, _TRIES = 2_000, 100

Faults = Callable[[Arrangement], int]
Pool = tuple[str, ...]
ScenePools = Sequence[tuple[Pool, Pool]]
"""The values and the objects that each place of a scene may have."""


def deal(scenes: Sequence[ScenePools], faults: Faults, stream: Stream) -> Iterator[Arrangement | None]:
    """An arrangement for each of the `scenes`.

    At each place from left to right, and over all places together, all names of a pool are equally frequent, up to one.
    `faults` counts what is wrong with an arrangement. Faulty arrangements exchange names with other scenes at one place, which
    changes no count. None stands for a scene that stays faulty.
    """
    decks = (_Decks(VALUE, scenes, stream), _Decks(OBJECT, scenes, stream))
    for start in range(0, len(scenes), _BLOCK):
        block = scenes[start : start + _BLOCK]
        dealt = [
            tuple((decks[VALUE].deal(place, v), decks[OBJECT].deal(place, o)) for place, (v, o) in enumerate(pools))
            for pools in block
        ]
        rows = _Exchanges(dealt, block, faults, stream)
        search(rows, stream)
        yield from (None if fault else made for made, fault in zip(rows.chosen, rows.faults, strict=True))


class _Decks:
    """Deals the names of pools at each place in shuffled rounds; the last, short rounds of all places together are even too."""

    def __init__(self, role: int, scenes: Sequence[ScenePools], stream: Stream):
        self._stream = stream
        counts = Counter((place, pools[role]) for scene in scenes for place, pools in enumerate(scene))
        pools = sorted({pool for _, pool in counts})
        order = {pool: stream.shuffled(pool) for pool in pools}
        begun = dict.fromkeys(pools, 0)
        self._rounds: dict[tuple[int, Pool], int] = {}
        self._rest: dict[tuple[int, Pool], list[str]] = {}
        self._piles: dict[tuple[int, Pool], list[str]] = {}
        for place, pool in sorted(counts):
            key = (place, pool)
            self._rounds[key], left = divmod(counts[key], len(pool))
            self._rest[key] = [order[pool][(begun[pool] + i) % len(pool)] for i in range(left)]
            begun[pool] += left

    def deal(self, place: int, pool: Pool) -> str:
        key = (place, pool)
        if not self._piles.get(key):
            whole = self._rounds[key] > 0
            self._rounds[key] -= whole
            self._piles[key] = self._stream.shuffled(pool if whole else self._rest[key])
        return self._piles[key].pop()


class _Exchanges:
    """Rows of a search: arrangements that exchange the values, or the objects, of two scenes at one place."""

    def __init__(self, made: list[Arrangement], scenes: Sequence[ScenePools], faults: Faults, stream: Stream):
        self.chosen, self.faults = made, [faults(each) for each in made]
        self._scenes, self._count_faults, self._stream = scenes, faults, stream
        self._with_place = [
            [i for i, pools in enumerate(scenes) if len(pools) > place] for place in range(max(map(len, scenes)))
        ]

    def excess(self) -> int:
        return sum(self.faults)

    def at_fault(self) -> list[int]:
        return [row for row, fault in enumerate(self.faults) if fault]

    def move(self, row: int) -> None:
        """Exchange names with scenes drawn at random where that adds no fault, until the row has none; rows without faults stay."""
        for _ in range(_TRIES):
            if not self.faults[row]:
                return
            place, role = self._stream.below(len(self.chosen[row])), self._stream.below(2)
            other = self._with_place[place][self._stream.below(len(self._with_place[place]))]
            here, there = self.chosen[row][place], self.chosen[other][place]
            if here[role] == there[role] or self._scenes[row][place][role] != self._scenes[other][place][role]:
                continue
            found = [
                renamed(self.chosen[i], place, role, name) for i, name in ((row, there[role]), (other, here[role]))
            ]
            faults = [self._count_faults(each) for each in found]
            if sum(faults) <= self.faults[row] + self.faults[other]:
                (self.chosen[row], self.chosen[other]), (self.faults[row], self.faults[other]) = found, faults

    def put(self, row: int, choice: Arrangement) -> None:
        self.chosen[row], self.faults[row] = choice, self._count_faults(choice)
