"""Per-place value and object pools, whose combinations mostly fall in the wanted split."""

from collections.abc import Sequence

from generator.base.streams import Stream
from generator.holdout.holdout import Holdout
from generator.plan.balance.dealing import Pool, ScenePools
from generator.plan.balance.names import OBJECT, VALUE


class SplitPools:
    """Pools for the places of scenes, such that names become equally frequent when those of each pool are.

    `names` are the values and the objects of the vocabulary. A scene of `val` or `seen` has values beside the block only, or
    objects beside it only; one of `partial` has values of the block only and some objects of it, or the other way round.
    """

    def __init__(self, holdout: Holdout, names: tuple[Sequence[str], Sequence[str]]):
        self._holdout = holdout
        inside = (holdout.values, holdout.objects)
        absent = {*holdout.absent_values, *holdout.absent_objects}
        free = [tuple(name for name in of if name not in absent) for of in names]
        self._free, self._inside = (free[VALUE], free[OBJECT]), inside
        outside = [tuple(name for name in free[sort] if name not in inside[sort]) for sort in (VALUE, OBJECT)]
        self._outside = (outside[VALUE], outside[OBJECT])
        self._shares = tuple(len(inside[sort]) / max(len(free[sort]), 1) for sort in (VALUE, OBJECT))

    def of(self, split: str, numbers: Sequence[int], stream: Stream) -> list[ScenePools]:
        """Pools for each of the `numbers` of objects; an empty list where pools cannot make names equally frequent."""
        if split == "train":
            return [[self._free] * n for n in numbers]
        block = self._holdout.bindings and not self._holdout.triples and self._holdout.is_block
        if split not in ("val", "seen", "partial", "unseen") or not block:
            return []
        if split == "unseen":
            return [[self._inside] * n for n in numbers]
        if split == "partial":
            return [self._partial(n, stream) for n in numbers]
        return self._familiar(numbers, stream) if sum(self._shares) <= 1 else []

    def _partial(self, n: int, stream: Stream) -> ScenePools:
        """The sides are chosen so often that the bindings beside the block become equally frequent."""
        inside, outside = self._inside, self._outside
        sides = (len(inside[VALUE]) * len(outside[OBJECT]), len(outside[VALUE]) * len(inside[OBJECT]))
        all_of = VALUE if stream.below(sum(sides)) < sides[0] else OBJECT
        k = 1 + stream.below(n - 1)
        return [
            _pools(1 - all_of, (inside if mark else outside)[1 - all_of], inside)
            for mark in stream.shuffled([True] * k + [False] * (n - k))
        ]

    def _familiar(self, numbers: Sequence[int], stream: Stream) -> list[ScenePools]:
        """One sort may be of the block in each scene, at so many places that its names are as frequent as the others."""
        mixed = self._sides(numbers, stream)
        marks: set[tuple[int, int]] = set()
        for place in range(max(numbers, default=0)):
            having = [i for i, n in enumerate(numbers) if n > place]
            for sort in (VALUE, OBJECT):
                rows = [i for i in having if mixed[i] == sort]
                marks |= {(i, place) for i in stream.sample(rows, round(len(having) * self._shares[sort]))}
        inside, outside = self._inside, self._outside
        return [
            [_pools(mixed[i], (inside if (i, place) in marks else outside)[mixed[i]], outside) for place in range(n)]
            for i, n in enumerate(numbers)
        ]

    def _sides(self, numbers: Sequence[int], stream: Stream) -> list[int]:
        """For each scene the sort that may be of the block: of each number of objects as many as the block asks for."""
        of_values = self._shares[VALUE] / sum(self._shares)
        sides = [OBJECT] * len(numbers)
        for n in sorted(set(numbers)):
            rows = [i for i, each in enumerate(numbers) if each == n]
            for i in stream.sample(rows, round(len(rows) * of_values)):
                sides[i] = VALUE
        return sides


def _pools(sort: int, pool: Pool, others: tuple[Pool, Pool]) -> tuple[Pool, Pool]:
    """The pool for one sort, and that of `others` for the other."""
    return (pool, others[OBJECT]) if sort == VALUE else (others[VALUE], pool)
