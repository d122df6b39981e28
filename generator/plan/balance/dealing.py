"""Arrangements whose every place holds each value, and each object, as often as every other: dealt, then exchanged."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from generator.dataset.streams import Stream
from generator.holdout.membership import Arrangement

_BLOCK, _TRIES, _ROUNDS = 2_000, 200, 40

Faults = Callable[[Arrangement], int]
Pool = tuple[str, ...]
Cast = Sequence[tuple[Pool, Pool]]
"""For each place of a scene the values and the objects that it may have."""


def deal(casts: Sequence[Cast], faults: Faults, stream: Stream) -> Iterator[Arrangement | None]:
    """An arrangement for each of the `casts`.

    Each place from left to right, and all places together, have all names of a pool equally often, up to one. `faults` says
    how much is wrong with an arrangement; that is mended by exchanging names between scenes at one place, which
    changes no count. None stands for a scene that could not be mended.
    """
    decks = (_Decks(0, casts, stream), _Decks(1, casts, stream))
    for start in range(0, len(casts), _BLOCK):
        block = casts[start : start + _BLOCK]
        table = [
            tuple((decks[0].deal(place, v), decks[1].deal(place, o)) for place, (v, o) in enumerate(cast))
            for cast in block
        ]
        wrong = [faults(row) for row in table]
        having = [[i for i, cast in enumerate(block) if len(cast) > place] for place in range(max(map(len, block)))]
        for _ in range(_ROUNDS):
            for i in range(len(table)):
                if wrong[i]:
                    _exchange(table, wrong, i, block, having, faults, stream)
            if not any(wrong):
                break
        yield from (None if fault else row for row, fault in zip(table, wrong, strict=True))


class _Decks:
    """Deals the names of pools at each place in shuffled rounds; the last, short rounds of all places together are even too."""

    def __init__(self, sort: int, casts: Sequence[Cast], stream: Stream):
        self._stream = stream
        counts = Counter((place, each[sort]) for cast in casts for place, each in enumerate(cast))
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


def _exchange(
    table: list[Arrangement],
    wrong: list[int],
    i: int,
    casts: Sequence[Cast],
    having: list[list[int]],
    faults: Faults,
    stream: Stream,
) -> None:
    """Exchange values, or objects, of scene i with other scenes, each at one place, until nothing is wrong with it.

    `having` are the scenes that have each place.
    """
    for _ in range(_TRIES):
        place, sort = stream.below(len(table[i])), stream.below(2)
        j = having[place][stream.below(len(having[place]))]
        if j == i or casts[i][place][sort] != casts[j][place][sort]:
            continue
        here, there = table[i][place], table[j][place]
        if here[sort] == there[sort]:
            continue
        new = ((there[0], here[1]), (here[0], there[1])) if sort == 0 else ((here[0], there[1]), (there[0], here[1]))
        one, other = (
            (*row[:place], binding, *row[place + 1 :]) for row, binding in zip((table[i], table[j]), new, strict=True)
        )
        found = faults(one), faults(other)
        if sum(found) <= wrong[i] + wrong[j]:  # what gets no better leads on: from here no single exchange may help
            (table[i], table[j]), (wrong[i], wrong[j]) = (one, other), found
            if not wrong[i]:
                return
