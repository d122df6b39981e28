"""Scenes of one object, or of three and more: too many to list, so each is put together from what its split allows."""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

from generator.base.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import UNSEEN_ATOMS, Arrangement, Rule
from generator.plan.balance.dealing import deal
from generator.plan.balance.names import OBJECT, VALUE, NameCounts, replace_names
from generator.plan.content import no_scene
from generator.plan.split_pools import SplitPools

_TRIES, _EASE = 600, 8
_BLOCK = 2_000


class ManyObjectScenes:
    """Draws arrangements of any number of objects for the splits of a rule, evenly.

    An evaluation split needs every pairing of a scene's values with its objects to show as much of what is held out. So
    either each object is held out with all values of the scene or with none, or each value is with all its objects or
    with none: objects are chosen first and then values that fit them, or the other way round, whichever lags behind.
    `conflicts` are pairs of categories that show a held-out relation however they stand.
    """

    def __init__(self, rule: Rule, conflicts: Collection[tuple[str, str]]):
        self._rule, self._holdout, self._conflicts = rule, rule.holdout, conflicts
        self._names = (rule.vocabulary.values(rule.holdout.kind), list(rule.vocabulary.objects))
        self._fitting: dict[tuple[str, int], dict[str, list[Binding]]] = {}
        self._partners = sorted({(subject, thing) for subject, _, thing in self._holdout.triples})

    def draw(self, split: str, numbers: Sequence[int], stream: Stream) -> Iterator[Arrangement]:
        """An arrangement for each of the `numbers` of objects. Raises UserError when there is none.

        Splits with pools are dealt. Scenes that the dealer cannot repair are drawn independently; steering them by the
        counts would repeat one under-used name at every place. Scenes of other splits are drawn one by one, each of
        under-used names; the last thousands then replace names until all are even.
        """
        if pools := SplitPools(self._holdout, self._names).of(split, numbers, stream):
            dealt = deal(pools, lambda made: self._faults(made, split), stream)
            for n, found in zip(numbers, dealt, strict=True):
                yield found or self._one(split, n, NameCounts(self._classes(split)), stream)
            return
        names = NameCounts(self._classes(split))
        blocks = max(1, round(len(numbers) / _BLOCK))
        for block in range(blocks):
            made = []
            for n in numbers[len(numbers) * block // blocks : len(numbers) * (block + 1) // blocks]:
                made.append(self._one(split, n, names, stream))
                names.counts.add(names.option(made[-1]))
            if block == blocks - 1:
                made = replace_names(made, names, lambda new: not self._faults(new, split), stream)
            yield from made

    def _faults(self, made: Arrangement, split: str) -> int:
        """How much keeps an arrangement from a split."""
        found = self._clashes(made)
        if split == "train":
            found += sum(not self._may_train(*binding) for binding in made)
        return found or int(self._split_of(made) != split)

    def _absent(self, name: str) -> bool:
        return name in self._holdout.absent_values or name in self._holdout.absent_objects

    def _one(self, split: str, n: int, counts: NameCounts, stream: Stream) -> Arrangement:
        for attempt in range(_TRIES):
            made = self._attempt(split, n, counts, stream, 1 + attempt // _EASE)
            if made is not None and self._split_of(made) == split:
                return made
        raise no_scene(split, n)

    def _classes(self, split: str) -> tuple[dict[str, Hashable], dict[str, Hashable]]:
        """The class of each value and object: names of a class shall be equally frequent in the split.

        A class are all names but the absent ones, or in splits that favour some the names that are held out with the same.
        """
        fine = split in ("train", "val", "seen") and self._holdout.is_block
        class_of_value, class_of_object = (
            (self._absent, self._absent) if fine else (self._holdout.value_like, self._holdout.object_like)
        )
        values, objects = self._names
        return {name: class_of_value(name) for name in values}, {name: class_of_object(name) for name in objects}

    def _clashes(self, arrangement: Arrangement) -> int:
        """Pairs of objects that show a held-out relation however they stand."""
        if not self._conflicts:
            return 0
        return sum(
            (first, second) in self._conflicts
            for i, (_, first) in enumerate(arrangement)
            for _, second in arrangement[i + 1 :]
        )

    def _split_of(self, arrangement: Arrangement) -> str | None:
        """The split of an arrangement in which no more relations are held out than must be."""
        facts = (
            [
                (i, name, j)
                for i in range(len(arrangement))
                for j in range(i + 1, len(arrangement))
                if (arrangement[i][1], arrangement[j][1]) in self._conflicts
                for name in self._rule.vocabulary.pair_relations
            ]
            if self._conflicts
            else []
        )
        return self._rule.place(arrangement, facts).split

    def _attempt(self, split: str, n: int, counts: NameCounts, stream: Stream, ease: int) -> Arrangement | None:
        if split in ("train", UNSEEN_ATOMS):
            return self._free(split, n, counts, stream, ease)
        k = {"unseen": n, "partial": 1 + stream.below(n - 1) if n > 1 else 0}.get(split, 0)
        marks = stream.shuffled([True] * k + [False] * (n - k))
        if self._holdout.triples and k:
            return self._related(marks, counts, stream, ease)
        first = counts.behind()
        return self._framed(marks, first, counts, stream, ease) or self._framed(marks, 1 - first, counts, stream, ease)

    def _free(self, split: str, n: int, counts: NameCounts, stream: Stream, ease: int) -> Arrangement | None:
        """Any bindings that are not held out; for `unseen_atoms` one with an absent atom among any."""
        marked = stream.below(n) if split == UNSEEN_ATOMS else None
        first = counts.behind()
        chosen: list[Binding] = []
        for place in range(n):
            fits = self._is_absent if place == marked else _is_any if split == UNSEEN_ATOMS else self._may_train
            partners = self._partners_of(fits, first)
            names = [name for name, bindings in partners.items() if self._free_of_conflict(bindings, chosen)]
            if not names:
                return None
            name = counts.pick(first, place, names, stream, ease)
            free = self._free_of_conflict(partners[name], chosen)
            other = counts.pick(1 - first, place, [binding[1 - first] for binding in free], stream, ease)
            chosen.append((name, other) if first == VALUE else (other, name))
        return tuple(chosen)

    def _free_of_conflict(self, bindings: Sequence[Binding], chosen: Sequence[Binding]) -> Sequence[Binding]:
        if not self._conflicts:
            return bindings
        return [binding for binding in bindings if not self._conflicting(binding[1], chosen)]

    def _partners_of(self, fits: Callable[[str, str], bool], sort: int) -> dict[str, list[Binding]]:
        """The bindings that fit, by their value (or object)."""
        key = (fits.__name__, sort)
        if key not in self._fitting:
            found: dict[str, list[Binding]] = {name: [] for name in self._names[sort]}
            for binding in ((value, thing) for value in self._names[VALUE] for thing in self._names[OBJECT]):
                if fits(*binding):
                    found[binding[sort]].append(binding)
            self._fitting[key] = {name: bindings for name, bindings in found.items() if bindings}
        return self._fitting[key]

    def _is_absent(self, value: str, thing: str) -> bool:
        return self._holdout.absent(value, thing)

    def _may_train(self, value: str, thing: str) -> bool:
        return not self._holdout.holds_out(value, thing) and not self._holdout.absent(value, thing)

    def _conflicting(self, thing: str, chosen: Sequence[Binding]) -> bool:
        return any((other, thing) in self._conflicts for _, other in chosen)

    def _framed(
        self, marks: Sequence[bool], first: int, counts: NameCounts, stream: Stream, ease: int
    ) -> Arrangement | None:
        """Names of the `first` sort, with names of the other that are held out with the marked ones and seen with the rest."""
        absent = {*self._holdout.absent_values, *self._holdout.absent_objects}
        left = [name for name in self._names[1 - first] if name not in absent]
        chosen: list[str] = []
        held_out_with = self._holdout.objects_with if first == VALUE else self._holdout.values_with
        enough = min(2, len(self._names[1 - first]))
        for place, mark in enumerate(marks):
            among = frozenset(left)
            options = [
                name
                for name in self._names[first]
                if name not in absent
                and len(among & held_out_with(name) if mark else among - held_out_with(name)) >= enough
                and (first == VALUE or not self._conflicting(name, _things(chosen)))
            ]
            if not options:
                return None
            name = counts.pick(first, place, options, stream, ease)
            left = [other for other in left if (other in held_out_with(name)) == mark]
            chosen.append(name)
        others: list[str] = []
        for place in range(len(marks)):
            free = [name for name in left if first == OBJECT or not self._conflicting(name, _things(others))]
            if not free:
                return None
            others.append(counts.pick(1 - first, place, free, stream, ease))
        return tuple(zip(chosen, others, strict=True)) if first == VALUE else tuple(zip(others, chosen, strict=True))

    def _related(self, marks: Sequence[bool], counts: NameCounts, stream: Stream, ease: int) -> Arrangement | None:
        """Marked objects in pairs that stand in a held-out relation, the others in none; values as bindings demand."""
        n = len(marks)
        if sum(marks) < 2:
            marks = stream.shuffled([True] * 2 + [False] * (n - 2))
        things = self._paired([place for place, mark in enumerate(marks) if mark], n, stream)
        for place in range(n):
            if things[place] is None:
                options = [
                    name
                    for name in self._names[OBJECT]
                    if not self._conflicting(name, _things([t for t in things if t]))
                ]
                if not options:
                    return None
                things[place] = counts.pick(OBJECT, place, options, stream, ease)
        left = [
            value
            for value in self._names[VALUE]
            if not self._holdout.bindings
            or all(
                self._holdout.holds_out(value, str(thing)) == mark for thing, mark in zip(things, marks, strict=True)
            )
        ]
        if not left:
            return None
        return tuple((counts.pick(VALUE, place, left, stream, ease), str(thing)) for place, thing in enumerate(things))

    def _paired(self, marked: Sequence[int], n: int, stream: Stream) -> list[str | None]:
        """Categories at the marked places, every one of them with a partner of a held-out triple."""
        places = stream.shuffled(marked)
        things: list[str | None] = [None] * n
        for i in range(0, len(places) - 1, 2):
            first, second = sorted(places[i : i + 2])
            things[first], things[second] = self._partners[stream.below(len(self._partners))]
        if len(places) % 2:
            partners = [b for a, b in self._partners if a in things]
            things[places[-1]] = partners[stream.below(len(partners))]
        return things


def _is_any(value: str, thing: str) -> bool:
    return True


def _things(names: Sequence[str]) -> list[Binding]:
    return [("", name) for name in names]
