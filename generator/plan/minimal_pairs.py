"""Minimal pairs in a plan: scenes of the evaluation splits, each followed by its twin."""

from collections import Counter
from itertools import combinations

from generator.base.streams import Stream
from generator.holdout.membership import Arrangement, Rule
from generator.plan.packed import Plan
from generator.scene.exchange import Exchange, swapped
from generator.scene.layouts import facts
from generator.scene.planned import Planned, scene_id

EXCHANGES = ("attribute", "relation")


def with_twins(plan: Plan, rule: Rule, seed: int) -> Plan:
    """The plan in which each scene of an evaluation split that can have a twin is followed by it, the next number.

    In half of a split's pairs two objects exchange their values of the tested kind, in the other half their places.
    The two are the only ones of their categories, so that a caption can say which is meant; in `partial` one of them
    has a held-out binding, and neither carries another or rests on one. A twin belongs to the split of its scene, and
    shows as many held-out bindings. Scenes that train have none: their twins could show a held-out binding.
    """
    pairs = _Pairs(rule)
    made: Counter[tuple[str, int]] = Counter()
    rows: list[bytes] = []
    for number, (planned, row) in enumerate(zip(plan, plan.rows, strict=True)):
        split = pairs.split_of(planned)
        able = {} if split in (None, "train") else pairs.exchanges(planned)
        if split is None or not able:
            rows.append(row)
            continue
        kind = min(able, key=lambda each: made[split, each])
        made[split, kind] += 1
        options = able[kind]
        chosen = options[Stream("twin", seed, scene_id(number)).below(len(options))]
        rows += plan.codec.paired(row, chosen)
    return Plan(plan.codec, rows)


class _Pairs:
    """Which exchanges give a scene a twin."""

    def __init__(self, rule: Rule):
        self._rule = rule

    def split_of(self, planned: Planned) -> str | None:
        shown = facts(planned, self._rule.vocabulary) if self._rule.holdout.triples else ()
        return self._rule.place(self._arrangement(planned), shown).split

    def exchanges(self, planned: Planned) -> dict[int, list[Exchange]]:
        """By kind (place in EXCHANGES), those that a caption can tell of and that leave the scene in its split."""
        found = {n: self._options(planned, n) for n in range(len(EXCHANGES))}
        return {n: options for n, options in found.items() if options}

    def _options(self, planned: Planned, kind: int) -> list[Exchange]:
        categories = [category for category, _ in planned.objects]
        lone = [i for i, category in enumerate(categories) if categories.count(category) == 1]
        tested = self._rule.holdout.kind if EXCHANGES[kind] == "attribute" else None
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
        shown = facts(planned, self._rule.vocabulary) if self._rule.holdout.triples else ()
        own, twins = self._rule.place(before, shown), self._rule.place(after, shown)
        held_out = sum(self._rule.holdout.holds_out(*before[i]) for i in (exchange.first, exchange.second))
        return (
            own.split == twins.split
            and len(own.held_out) == len(twins.held_out)
            and own.triples == twins.triples
            and (own.split != "partial" or held_out == 1 or not own.held_out)
        )

    def _arrangement(self, planned: Planned) -> Arrangement:
        return tuple((attributes[self._rule.holdout.kind], category) for category, attributes in planned.objects)
