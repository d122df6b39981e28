"""Scenes of two objects: which of all the possible arrangements a split shows, and how often."""

from collections.abc import Iterator
from functools import cached_property
from itertools import product

from generator.base.streams import Stream
from generator.holdout.membership import Arrangement, Fact, Rule, arrangements, cluster_of, held_out_facts
from generator.plan.balance.counts import Counts, Option
from generator.plan.balance.options import choose, choose_shared
from generator.plan.content import no_scene
from generator.scene.layouts import draw_layout, facts

_MOST_GROUPS = 300  # of more no choice of scenes makes all equally frequent beside values and objects
_TRIALS = 40


class TwoObjectScenes:
    """Draws arrangements of two objects, which differ in value and in category, for the splits of a rule, evenly."""

    def __init__(self, rule: Rule):
        self._rule, self._vocabulary, self._holdout = rule, rule.vocabulary, rule.holdout

    def draw(self, split: str, n: int, stream: Stream) -> list[Arrangement]:
        """`n` arrangements of a split. Raises UserError when it has none."""
        if n == 0:
            return []
        found = self._pairs.get(split)
        if not found:
            raise no_scene(split, 2)
        groups: dict[str, list[Arrangement]] = {}
        for arrangement in found:
            groups.setdefault(cluster_of(arrangement), []).append(arrangement)
        tried: list[tuple[int, list[Arrangement]]] = []
        for loose in ((), ("group",)) if len(groups) <= _MOST_GROUPS else (("group",),):
            for attempt in self._attempts(list(groups.values()), split, n, loose, stream):
                if not attempt[0]:
                    return attempt[1]
                tried.append(attempt)
        return min(tried)[1]

    def _attempts(
        self, groups: list[list[Arrangement]], split: str, n: int, loose: tuple[str, ...], stream: Stream
    ) -> Iterator[tuple[int, list[Arrangement]]]:
        """Arrangements and how uneven they are: a group each and then one of its arrangements, then both chosen at once.

        The first is two far smaller searches, and finds what the second may miss.
        """
        counts, by_place = Counts(loose), Counts(("arrangement",))
        chosen = choose_shared([self._overall(counts, group[0], split) for group in groups], n, counts, stream)
        options = [[self._at_places(by_place, each, split) for each in group] for group in groups]
        picks = choose([options[group] for group in chosen], by_place, stream)
        yield counts.excess() + by_place.excess(), [groups[i][k] for i, k in zip(chosen, picks, strict=True)]
        both, found = Counts((*loose, "arrangement")), [each for group in groups for each in group]
        cells = [self._overall(both, each, split) + self._at_places(both, each, split) for each in found]
        picks = choose_shared(cells, n, both, stream)
        yield both.excess(), [found[pick] for pick in picks]

    def _overall(self, counts: Counts, arrangement: Arrangement, split: str) -> Option:
        """The cells of the values, objects and group of an arrangement."""
        names = [counts.cell(among, name) for _, among, name in self._names(arrangement, split)]
        return (*names, counts.cell("group", cluster_of(arrangement)))

    def _at_places(self, counts: Counts, arrangement: Arrangement, split: str) -> Option:
        """The cells of the values and objects at each place, and that of the arrangement."""
        names = [counts.cell((place, among), name) for place, among, name in self._names(arrangement, split)]
        return (*names, counts.cell("arrangement", arrangement))

    def _names(self, arrangement: Arrangement, split: str) -> Iterator[tuple[int, tuple[object, ...], str]]:
        """Place, class and name of each value and object. Names of a class shall be equally frequent.

        Splits that favour some of what is held out are even among names that are held out with the same.
        """
        coarse = split not in ("train", "val", "seen") or not self._holdout.is_block
        for place, (value, thing) in enumerate(arrangement):
            yield place, ("value", self._holdout.value_like(value) if coarse else ()), value
            yield place, ("object", self._holdout.object_like(thing) if coarse else ()), thing

    @cached_property
    def _pairs(self) -> dict[str, list[Arrangement]]:
        """The arrangements of two objects by split; where layouts decide, by every split that some layout gives."""
        found: dict[str, list[Arrangement]] = {}
        layouts = self._two_layouts
        for arrangement in arrangements(self._vocabulary, self._holdout.kind):
            options = layouts[arrangement[0][1], arrangement[1][1]] if layouts else [()]
            splits = dict.fromkeys(self._rule.place(arrangement, shown).split for shown in options)
            for split in splits:
                if split is not None:
                    found.setdefault(split, []).append(arrangement)
        return found

    @cached_property
    def _two_layouts(self) -> dict[tuple[str, str], list[tuple[Fact, ...]]]:
        """What held-out relations two objects can show, by their categories, left one first; empty where none are held out."""
        if not self._holdout.triples:
            return {}
        stream = Stream("layouts", self._holdout.block_seed)
        return {(a, b): self._shown_by(a, b, stream) for a, b in product(self._vocabulary.objects, repeat=2)}

    def _shown_by(self, first: str, second: str, stream: Stream) -> list[tuple[Fact, ...]]:
        found: dict[tuple[Fact, ...], None] = {}
        if not any({first, second} == {subject, thing} for subject, _, thing in self._holdout.triples):
            return [()]
        for _ in range(_TRIALS):
            shown = facts(draw_layout((first, second), stream, self._vocabulary), self._vocabulary)
            held = held_out_facts((("", first), ("", second)), shown, self._holdout)
            found[tuple(held)] = None
        return list(found)

    @cached_property
    def conflicts(self) -> frozenset[tuple[str, str]]:
        """Pairs of categories that show a held-out triple in every layout, left one first."""
        return frozenset(pair for pair, layouts in self._two_layouts.items() if all(layouts))
