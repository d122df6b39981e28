"""A plan in memory: each scene in some dozens of bytes."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import overload

from generator.holdout.membership import cluster_of
from generator.plan.content import Content
from generator.scene.exchange import Exchange
from generator.scene.layouts import Layout
from generator.scene.planned import Planned, scene_id
from generator.vocabulary.schema import Vocabulary


class Codec:
    """Planned scenes as rows of small numbers, and back.

    `tested` is the attribute kind under test, `splits` are the names of all splits that scenes are made for.
    """

    def __init__(self, vocabulary: Vocabulary, tested: str, splits: Sequence[str]):
        self._tested, self._splits = tested, [None, *splits]
        self._things, self._environments = list(vocabulary.objects), list(vocabulary.environments)
        self._values = {kind: vocabulary.values(kind) for kind in vocabulary.attributes}
        self._exchanged = [None, *vocabulary.attributes]

    def pack(
        self,
        content: Content,
        attributes: Sequence[Mapping[str, str]],
        layout: Layout,
        environment: str,
        part: int,
        split: str | None,
    ) -> bytes:
        """A scene as a row; it has no number yet."""
        n = len(content.arrangement)
        numbers = [part, self._splits.index(split), self._environments.index(environment), n, len(content.named)]
        numbers += content.named
        numbers += [self._things.index(thing) for _, thing in content.arrangement]
        numbers += [self._values[kind].index(each[kind]) for each in attributes for kind in self._values]
        numbers += [*layout.depth_order, *_marks(layout.rests_on, n), *_marks(layout.clumps, n)]
        return array("H", numbers).tobytes()

    def paired(self, row: bytes, exchange: Exchange) -> tuple[bytes, bytes]:
        """The rows of a scene and of its twin, whose row stands right after it."""
        kind, first, second = exchange
        place = self._exchanged.index(kind)
        one, other = (array("H", (place, first, second, is_twin)).tobytes() for is_twin in (0, 1))
        return row + one, row + other

    def planned(self, row: bytes, number: int) -> Planned:
        """The scene of a row, which is the row of that number."""
        numbers = array("H", row)
        part, split, environment, n, named = numbers[:5]
        rest = iter(numbers[5 + named :])
        things = [self._things[next(rest)] for _ in range(n)]
        attributes = [{kind: values[next(rest)] for kind, values in self._values.items()} for _ in range(n)]
        depth = tuple(islice(rest, n))
        rests_on = tuple(None if mark < 2 else mark - 2 for mark in islice(rest, n))
        clumps = tuple(mark - 2 for mark in islice(rest, n))
        exchange, is_twin = None, 0
        if pair := tuple(rest):
            kind, first, second, is_twin = pair
            exchange = Exchange(self._exchanged[kind], first, second)
        return Planned(
            scene_id(number),
            cluster_of(tuple((each[self._tested], thing) for each, thing in zip(attributes, things, strict=True))),
            tuple(zip(things, attributes, strict=True)),
            depth,
            self._environments[environment],
            () if all(each is None for each in rests_on) else rests_on,
            () if -2 in clumps else clumps,
            exchange,
            scene_id(number - 1) if is_twin else None,
            part,
            self._splits[split],
            tuple(numbers[5 : 5 + named]),
        )


class Plan(Sequence[Planned]):
    """Planned scenes by number, spelled out when they are asked for."""

    def __init__(self, codec: Codec, rows: list[bytes]):
        self.codec, self.rows = codec, rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Planned: ...
    @overload
    def __getitem__(self, index: slice) -> list[Planned]: ...
    def __getitem__(self, index: int | slice) -> Planned | list[Planned]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        return self.codec.planned(self.rows[number], number)

    def __iter__(self) -> Iterator[Planned]:
        return (self.codec.planned(row, number) for number, row in enumerate(self.rows))


def _marks(given: Sequence[int | None], n: int) -> list[int]:
    """0 where nothing is said, 1 for None, else the number and 2."""
    return [1 if each is None else each + 2 for each in given] if given else [0] * n
