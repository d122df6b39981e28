"""Scenes of one object, or of three and more: too many to list, so each is put together from what its split allows."""

from collections.abc import Callable, Collection, Iterator, Sequence

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import UNSEEN_ATOMS, Arrangement, Rule
from generator.plan.balance.dealing import deal
from generator.plan.balance.evenness import OBJECT, VALUE, Evenness
from generator.plan.split_pools import Casts

_TRIES, _EASE = 600, 8
_SWEEPS = 12  # over what is uneven without getting any better
_BLOCK = 2_000


def impossible(split: str, n: int) -> UserError:
    """The error for a split that no scene of n objects can belong to."""
    return UserError(
        f"This holdout leaves no scene of {n} object{'s' * (n > 1)} for the split {split}: try another --block-seed, "
        f"hold out less, or add values or objects."
    )


class Many:
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

        Names are dealt where those of some pools go together, else chosen one by one; what is uneven then is mended in the
        last thousands. What could not be dealt is drawn without a look at the other scenes: they lack what pools cannot have,
        and all places of a scene would make up for that with the same name.
        """
        if casts := Casts(self._holdout, self._names).of(split, numbers, stream):
            dealt = deal(casts, lambda made: self._faults(made, split), stream)
            for n, found in zip(numbers, dealt, strict=True):
                yield found or self._one(split, n, Evenness(self._names, self._like(split)), stream)
            return
        even = Evenness(self._names, self._like(split))
        blocks = max(1, round(len(numbers) / _BLOCK))
        for block in range(blocks):
            made = []
            for n in numbers[len(numbers) * block // blocks : len(numbers) * (block + 1) // blocks]:
                made.append(self._one(split, n, even, stream))
                even.add(made[-1])
            if block == blocks - 1:
                self._mend(split, made, even, stream)
            yield from made

    def _faults(self, made: Arrangement, split: str) -> int:
        """How much keeps an arrangement from a split."""
        found = self._clashes(made)
        if split == "train":
            found += sum(not self._may_train(*binding) for binding in made)
        return found or int(self._split_of(made) != split)

    def _absent(self, name: str) -> bool:
        return name in self._holdout.absent_values or name in self._holdout.absent_objects

    def _one(self, split: str, n: int, even: Evenness, stream: Stream) -> Arrangement:
        for attempt in range(_TRIES):
            made = self._attempt(split, n, even, stream, 1 + attempt // _EASE)
            if made is not None and self._split_of(made) == split:
                return made
        raise impossible(split, n)

    def _mend(self, split: str, made: list[Arrangement], even: Evenness, stream: Stream) -> None:
        """Change one name of a scene after the other until none is more frequent than another by more than one."""
        refused: set[Arrangement] = set()
        patience, least = _SWEEPS, len(made) + 1
        while patience:
            rows = [i for i, arrangement in enumerate(made) if even.crowded(arrangement)]
            if not rows:
                return
            patience = _SWEEPS if len(rows) < least else patience - 1
            least = min(least, len(rows))
            for i in stream.shuffled(rows):
                spots = even.crowded(made[i])  # those that changed before it may have made room
                if spots:
                    even.add(made[i], -1)
                    made[i] = self._changed(split, made[i], spots, even, refused, stream)
                    even.add(made[i])

    def _like(self, split: str) -> tuple[list[object], list[object]]:
        """What must be equal of names that are to be equally frequent: nothing where any may stand for any other, else what
        they are held out with; names that the split has no use for are alike only among themselves."""
        if split in ("train", "val", "seen") and self._holdout.is_block:
            absent = self._absent
            return [absent(name) for name in self._names[VALUE]], [absent(name) for name in self._names[OBJECT]]
        return [self._holdout.value_like(name) for name in self._names[VALUE]], [
            self._holdout.object_like(name) for name in self._names[OBJECT]
        ]

    def _changed(
        self,
        split: str,
        old: Arrangement,
        spots: Sequence[tuple[int, int]],
        even: Evenness,
        refused: set[Arrangement],
        stream: Stream,
    ) -> Arrangement:
        """The arrangement with the name at one of the spots replaced by the least frequent that keeps it in its split.

        Those that would leave it are gathered in `refused`.
        """
        for place, sort in stream.shuffled(spots):
            names = stream.shuffled(self._names[sort])
            costs = even.costs(sort, place, names)
            before = costs[names.index(old[place][sort])]
            for cost, _, name in sorted(zip(costs, range(len(names)), names, strict=True)):
                if cost > before:
                    break
                if name == old[place][sort]:
                    continue
                binding = (name, old[place][1]) if sort == VALUE else (old[place][0], name)
                new = (*old[:place], binding, *old[place + 1 :])
                if new in refused:
                    continue
                if not self._clashes(new) and self._split_of(new) == split:
                    return new
                refused.add(new)
        return old

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
        facts = [
            (i, name, j)
            for i in range(len(arrangement))
            for j in range(i + 1, len(arrangement))
            if (arrangement[i][1], arrangement[j][1]) in self._conflicts
            for name in self._rule.vocabulary.relations
        ] if self._conflicts else []  # fmt: skip
        return self._rule.place(arrangement, facts).split

    def _attempt(self, split: str, n: int, even: Evenness, stream: Stream, ease: int) -> Arrangement | None:
        if split in ("train", UNSEEN_ATOMS):
            return self._free(split, n, even, stream, ease)
        k = {"unseen": n, "partial": 1 + stream.below(n - 1) if n > 1 else 0}.get(split, 0)
        marks = stream.shuffled([True] * k + [False] * (n - k))
        if self._holdout.triples and k:
            return self._related(marks, even, stream, ease)
        first = even.lagging()
        return self._framed(marks, first, even, stream, ease) or self._framed(marks, 1 - first, even, stream, ease)

    def _free(self, split: str, n: int, even: Evenness, stream: Stream, ease: int) -> Arrangement | None:
        """Any bindings that are not held out; for `unseen_atoms` one with an absent atom among any."""
        marked = stream.below(n) if split == UNSEEN_ATOMS else None
        first = even.lagging()
        chosen: list[Binding] = []
        for place in range(n):
            fits = self._is_absent if place == marked else _is_any if split == UNSEEN_ATOMS else self._may_train
            partners = self._partners_of(fits, first)
            names = [name for name, bindings in partners.items() if self._free_of_conflict(bindings, chosen)]
            if not names:
                return None
            name = even.pick(first, place, names, stream, ease)
            free = self._free_of_conflict(partners[name], chosen)
            other = even.pick(1 - first, place, [binding[1 - first] for binding in free], stream, ease)
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
        self, marks: Sequence[bool], first: int, even: Evenness, stream: Stream, ease: int
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
                name for name in self._names[first]
                if name not in absent
                and len(among & held_out_with(name) if mark else among - held_out_with(name)) >= enough
                and (first == VALUE or not self._conflicting(name, _things(chosen)))
            ]  # fmt: skip
            if not options:
                return None
            name = even.pick(first, place, options, stream, ease)
            left = [other for other in left if (other in held_out_with(name)) == mark]
            chosen.append(name)
        others: list[str] = []
        for place in range(len(marks)):
            free = [name for name in left if first == OBJECT or not self._conflicting(name, _things(others))]
            if not free:
                return None
            others.append(even.pick(1 - first, place, free, stream, ease))
        return tuple(zip(chosen, others, strict=True)) if first == VALUE else tuple(zip(others, chosen, strict=True))

    def _related(self, marks: Sequence[bool], even: Evenness, stream: Stream, ease: int) -> Arrangement | None:
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
                things[place] = even.pick(OBJECT, place, options, stream, ease)
        left = [
            value for value in self._names[VALUE]
            if not self._holdout.bindings
            or all(self._holdout.holds_out(value, str(thing)) == mark for thing, mark in zip(things, marks, strict=True))
        ]  # fmt: skip
        if not left:
            return None
        return tuple((even.pick(VALUE, place, left, stream, ease), str(thing)) for place, thing in enumerate(things))

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
