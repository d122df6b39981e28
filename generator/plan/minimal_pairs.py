"""Minimal pairs in a plan: scenes of the evaluation splits, each followed by its twin."""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from generator.dataset.streams import Stream
from generator.holdout.membership import Arrangement, Rule
from generator.plan.record import Planned
from generator.scene.exchange import Exchange, swapped
from generator.scene.layouts import facts

EXCHANGES = ("attribute", "relation")


class WithTwins(Sequence[Planned]):
    """A plan in which each scene of an evaluation split that can have a twin is followed by it, the next number.

    In half of a split's pairs two objects exchange their values of the tested kind, in the other half their places.
    The two are the only ones of their categories, so that a caption can say which is meant; in `partial` one of them
    has a held-out binding, and neither carries another or rests on one. A twin belongs to the split of its scene, and
    shows as many held-out bindings. Scenes that train have none: their twins could show a held-out binding.

    A scene is made when it is asked for; beyond the plan itself 5 bytes are kept for each pair.
    """

    def __init__(self, plan: Sequence[Planned], splits: Rule, seed: int):
        self._plan, self._splits, self._seed = plan, splits, seed
        self._twinned, self._kinds = array("I"), bytearray()
        made: Counter[tuple[str, int]] = Counter()
        for index, planned in enumerate(plan):
            split = self._split_of(planned)
            able = [n for n in range(len(EXCHANGES)) if split not in (None, "train") and self._options(planned, n)]
            if split is not None and able:
                kind = min(able, key=lambda n: made[split, n])
                made[split, kind] += 1
                self._twinned.append(index)
                self._kinds.append(kind)

    def __len__(self) -> int:
        return len(self._plan) + len(self._twinned)

    def __iter__(self) -> Iterator[Planned]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Planned:  # type: ignore[override]  # no slices: they would hold many scenes
        if not 0 <= number < len(self):
            raise IndexError(number)
        before = bisect_right(range(len(self._twinned)), number, key=lambda pair: self._twinned[pair] + pair + 1)
        index, pair = number - before, bisect_left(self._twinned, number - before)
        is_twin = before > 0 and self._twinned[before - 1] + before == number
        if is_twin:
            index, pair = self._twinned[before - 1], before - 1
        planned = replace(self._plan[index], scene_id=f"{number:06d}")
        if pair == len(self._twinned) or self._twinned[pair] != index:
            return planned
        options = self._options(planned, self._kinds[pair])
        chosen = options[Stream("twin", self._seed, f"{index:06d}").below(len(options))]
        return replace(planned, exchange=chosen, twin_of=f"{number - 1:06d}" if is_twin else None)

    def _split_of(self, planned: Planned) -> str | None:
        shown = facts(planned, self._splits.vocabulary) if self._splits.holdout.triples else ()
        return self._splits.place(self._arrangement(planned), shown).split

    def _options(self, planned: Planned, kind: int) -> list[Exchange]:
        """The exchanges of a kind of which a caption can tell, and that leave the scene in its split."""
        categories = [category for category, _ in planned.objects]
        lone = [i for i, category in enumerate(categories) if categories.count(category) == 1]
        tested = self._splits.holdout.kind if EXCHANGES[kind] == "attribute" else None
        stacked = {i for pair in enumerate(planned.rests_on) if pair[1] is not None for i in pair}
        exchanges = (Exchange(tested, i, j) for i, j in combinations(lone, 2) if not stacked & {i, j})
        return [exchange for exchange in exchanges if self._suits(planned, exchange)]

    def _suits(self, planned: Planned, exchange: Exchange) -> bool:
        before = self._arrangement(planned)
        values, categories = [value for value, _ in before], [category for _, category in before]
        if exchange.kind is None:
            after = tuple(zip(swapped(values, exchange), swapped(categories, exchange), strict=True))
        else:
            after = tuple(zip(swapped(values, exchange), categories, strict=True))
            if before == after:
                return False
        shown = facts(planned, self._splits.vocabulary) if self._splits.holdout.triples else ()
        own, twins = self._splits.place(before, shown), self._splits.place(after, shown)
        held_out = sum(self._splits.holdout.holds_out(*before[i]) for i in (exchange.first, exchange.second))
        return (
            own.split == twins.split
            and len(own.held_out) == len(twins.held_out)
            and own.triples == twins.triples
            and (own.split != "partial" or held_out == 1 or not own.held_out)
        )

    def _arrangement(self, planned: Planned) -> Arrangement:
        return tuple((attributes[self._splits.holdout.kind], category) for category, attributes in planned.objects)
