"""Draws balanced arrangements for the splits of a holdout: the value and category of each object of
a scene."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, combinations, cycle, islice, product
from math import lcm
from operator import itemgetter
from typing import TypeVar

import numpy as np
from scipy.optimize import linprog

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import (
    ASYMMETRIC,
    UNSEEN_ATOMS,
    Arrangement,
    Fact,
    Rule,
    arrangements,
    asymmetric,
    cluster_of,
    held_out_facts,
)
from generator.plan.balance import Cells, Counts, even_out
from generator.scene.layouts import draw_layout, facts

T = TypeVar("T")
VALUE, OBJECT = 0, 1
"""The roles in a binding: (value, object)."""
_BLOCK = 2_000  # scenes in memory at a time; changes to the last ones make all counts even
_TRIES, _EASE, _VARIANTS = 600, 8, 8
_MOST_CLUSTERS = (
    300  # with more, clusters cannot be equally frequent together with values and objects
)
_TRIALS = 40


def no_scene(split: str, n: int) -> UserError:
    """The error when no scene of n objects belongs to a split and can be asked about."""
    asked = " with two objects whose categories occur once" * (n > 2)
    return UserError(
        f"This holdout leaves no scene of {n} object{'s' * (n > 1)} for the split {split}{asked}: "
        f"try another --block-seed, a block of more or of fewer objects, or add values or "
        f"objects; --holdout none makes one split for models that were trained elsewhere."
    )


class UnshownError(Exception):
    """Training scenes are too few to show the bindings that evaluation scenes need."""


class Arrangements:
    """Draws arrangements for the splits of a rule.

    In scenes of two objects, these differ in value and in category; in other scenes both may
    repeat. Within a split all values, and all objects, are equally frequent, overall and at each
    place from left to right. If the split itself favours some names (partial, unseen), this holds
    among names that are held out with the same. Clusters of two objects are balanced too, as far as
    the balance of values and objects allows.
    """

    def __init__(self, rule: Rule):
        self._rule, self._holdout, self._vocabulary = rule, rule.holdout, rule.vocabulary
        self._names = (rule.vocabulary.values(rule.holdout.kind), list(rule.vocabulary.objects))
        self._kept_of: dict[tuple[int, frozenset[str], bool], dict[str, frozenset[str]]] = {}

    def draw(
        self, split: str, numbers: Sequence[int], stream: Stream, needed: Set[Binding] = frozenset()
    ) -> Iterator[Arrangement]:
        """Yield an arrangement for each number of objects in `numbers`. Raises UserError when there
        is none.

        Each takes the least-used names; the last scenes (about 2,000) then change names until
        counts are even. If there is room, the first 2,000 scenes of `train` show every binding that
        training may show, `needed` bindings first; raises UnshownError if they cannot show the
        needed bindings.
        """
        counts = _NameCounts(self._classes(split, numbers))
        pairs = iter(self._balanced_pairs(split, sum(n == 2 for n in numbers), counts, stream))
        blocks = max(1, round(len(numbers) / _BLOCK))
        for block in range(blocks):
            made = []
            for n in numbers[len(numbers) * block // blocks : len(numbers) * (block + 1) // blocks]:
                made.append(next(pairs) if n == 2 else self._one(split, n, counts, stream))
                counts.add(counts.all_cells(made[-1]))
            if block == blocks - 1:
                self._even_out(split, made, counts, stream)
            if block == 0 and split == "train" and not self._show_all(made, counts, needed, stream):
                raise UnshownError
            yield from made

    def enough(self, needed: Set[Binding], numbers: Sequence[int]) -> int:
        """A number of training scenes, above len(numbers), that can show the needed bindings.

        The scenes repeat `numbers` of objects. Raises UserError if all are of two objects and none
        can show a binding.
        """
        if {*numbers} == {2} and (
            never := needed - {*chain.from_iterable(self._pairs.get("train", ()))}
        ):
            raise UserError(
                f"No training scene can show {' '.join(min(never))} without a held-out "
                f"combination, but evaluation scenes need it as a seen binding; take another "
                f"--block-seed, or hold out fewer pairs of objects."
            )
        n = max(len(numbers) + 1, len(needed) // min(numbers))
        while True:
            try:
                for _ in self.draw(
                    "train", [*islice(cycle(numbers), n)], Stream("enough", n), needed
                ):
                    pass
                return n
            except UnshownError:
                n += max(1, n // 4)

    def _show_all(
        self, made: list[Arrangement], counts: "_NameCounts", needed: Set[Binding], stream: Stream
    ) -> bool:
        """Change arrangements of `train` until they show all bindings that training may show.

        Returns whether they show the needed bindings. Two scenes exchange an object, which keeps
        the counts of values and objects. If that cannot show a needed binding, it replaces one that
        is shown elsewhere or is not needed.
        """
        shown = Counter(binding for arrangement in made for binding in arrangement)
        missing = sorted(
            set(self._bindings["train"]) - set(shown), key=lambda each: (each not in needed, each)
        )
        for binding in missing:
            if changes := self._showing(binding, made, shown, needed, stream):
                for row, new in changes.items():
                    shown.subtract(made[row])
                    shown.update(new)
                    counts.add(counts.all_cells(made[row]), -1)
                    counts.add(counts.all_cells(new))
                    made[row] = new
        return all(shown[binding] > 0 for binding in needed)

    def _showing(
        self,
        binding: Binding,
        made: list[Arrangement],
        shown: Counter[Binding],
        needed: Set[Binding],
        stream: Stream,
    ) -> dict[int, Arrangement] | None:
        """One or two new arrangements, by row, that show a binding; None if the search fails.

        All other shown bindings stay shown; a needed binding may displace bindings that are not
        needed."""
        value, thing = binding
        spots = [
            (row, place, other)
            for row, arrangement in enumerate(made)
            for place, other in enumerate(arrangement)
            if shown[other] > 1 or (binding in needed and other not in needed)
        ]
        ours = stream.shuffled([spot for spot in spots if spot[2][VALUE] == value])
        theirs = stream.shuffled([spot for spot in spots if spot[2][OBJECT] == thing])
        at_one_place = sorted(product(ours, theirs), key=lambda pair: pair[0][1] != pair[1][1])
        for (row, place, (_, old)), (other, there, _) in at_one_place[:_TRIES]:
            if row != other:
                changes = {
                    row: _renamed(made[row], place, OBJECT, thing),
                    other: _renamed(made[other], there, OBJECT, old),
                }
                if all(self._trains(new) for new in changes.values()):
                    return changes
        for row, place, _ in stream.shuffled(spots) if binding in needed else ():
            new = (*made[row][:place], binding, *made[row][place + 1 :])
            if self._trains(new):
                return {row: new}
        return None

    def _trains(self, made: Arrangement) -> bool:
        """Whether an arrangement belongs to `train`. Two objects have to differ in value and in
        category."""
        alike = len(made) == 2 and any(one == other for one, other in zip(*made, strict=True))
        return not alike and self._belongs(made, "train")

    def _balanced_pairs(
        self, split: str, n: int, counts: "_NameCounts", stream: Stream
    ) -> list[Arrangement]:
        """`n` arrangements of two objects with balanced clusters. Registers the clusters in
        `counts`."""
        if n == 0:
            return []
        found = self._pairs.get(split)
        if not found:
            raise no_scene(split, 2)
        counts.know_pairs(found)
        clusters: dict[str, list[Arrangement]] = {}
        for each in found:
            clusters.setdefault(cluster_of(each), []).append(each)
        decks = {name: cycle(stream.shuffled(members)) for name, members in clusters.items()}
        return [next(decks[name]) for name in stream.balanced(list(clusters), n)]

    def _even_out(
        self, split: str, made: list[Arrangement], counts: "_NameCounts", stream: Stream
    ) -> None:
        """Change arrangements until names, and clusters of two objects, are equally frequent."""
        refused: set[Arrangement] = set()

        def best(_: int, old: Arrangement, crowded: Set[int]) -> Arrangement:
            if len(old) == 2:
                return counts.best_pair(old, stream)
            spots = counts.crowded_spots(old, crowded)
            for spot in stream.shuffled(spots):
                changes = [change for change in counts.changes(old, *spot) if change[0] <= 0]
                for _, new in sorted(stream.shuffled(changes), key=itemgetter(0)):
                    if fits(new):
                        return new
            if spots and (drawn := self._attempt(split, len(old), pick, stream)):
                cost = counts.growth(counts.all_cells(old), counts.all_cells(drawn))
                return drawn if cost <= 0 and fits(drawn) else old
            return old

        def fits(new: Arrangement) -> bool:
            if new not in refused and not self._belongs(new, split):
                refused.add(new)
            return new not in refused

        pick = _Pick(counts, stream)
        # val and seen seldom have room for even clusters; in between, places may be uneven, to
        # leave local minima
        tries = 0 if counts.n_clusters > _MOST_CLUSTERS else 2 if split in ("val", "seen") else 4
        for loose in (*[(), ("place",)] * tries, *[()] * (tries > 0), *[("cluster",)] * 2):
            counts.let_loose(loose)
            even_out(made, counts, lambda _, each: counts.all_cells(each), best, stream)
            if not counts.excess() and loose != ("place",):
                break

    def _belongs(self, made: Arrangement, split: str) -> bool:
        """Whether an arrangement belongs to a split, counting only the held-out relations that
        every layout shows.

        Except in `train` and `unseen_atoms`, it also has to be askable.
        """
        shown = [
            (i, name, j)
            for i, j in (combinations(range(len(made)), 2) if self.conflicts else ())
            if (made[i][OBJECT], made[j][OBJECT]) in self.conflicts
            for name in self._vocabulary.pair_relations
        ]
        if self._rule.place(made, shown).split != split:
            return False
        return split in ("train", UNSEEN_ATOMS) or self._askable(made, split)

    def _askable(self, made: Arrangement, split: str) -> bool:
        """Whether a caption can tell two objects apart: from the others by category, from each
        other by value.

        In `partial` just one of them is held out, if bindings are; in asymmetric splits the two are
        `asymmetric`."""
        numbers = Counter(category for _, category in made)
        unique = [binding for binding in made if numbers[binding[OBJECT]] == 1]
        mixed = split == "partial" and self._holdout.bindings
        return any(
            one[VALUE] != other[VALUE]
            and (not mixed or self._holdout.holds_out(*one) != self._holdout.holds_out(*other))
            and (split not in ASYMMETRIC or asymmetric(one, other, self._holdout))
            for one, other in combinations(unique, 2)
        )

    def _classes(
        self, split: str, numbers: Sequence[int]
    ) -> tuple[dict[str, Hashable], dict[str, Hashable]]:
        """The class of each value and of each object: names of a class should be equally frequent
        in the split.

        In `train`, `val` and `seen` all names but the absent ones form one class, if scenes without
        held-out bindings can be that even: the block's shares of all values and of all objects add
        up to at most 1, and clusters allow it (for `val` and `seen` of two objects, which have
        few). Otherwise, a class holds the names that are held out with the same names.
        """
        holdout, (values, objects) = self._holdout, self._names
        if holdout.treats_names_alike and split == "train":
            return dict.fromkeys(values), dict.fromkeys(objects)
        in_block = len(holdout.values) / len(values) + len(holdout.objects) / len(objects)
        even = split in ("train", "val", "seen") and holdout.is_block and in_block <= 1
        if even and (split == "train" or {*numbers} != {2} or self._can_be_even(split)):
            return {name: name in holdout.absent_values for name in values}, {
                name: name in holdout.absent_objects for name in objects
            }
        related = {
            name: frozenset((r, o) for s, r, o in holdout.triples if s == name) for name in objects
        }
        return {name: holdout.value_like(name) for name in values}, {
            name: (holdout.object_like(name), related[name]) for name in objects
        }

    def _can_be_even(self, split: str) -> bool:
        """Whether some frequencies of a split's clusters of two objects make all its values, and
        all its objects, equally frequent. Each cluster has to occur at least a tenth as often as
        the mean."""
        shown = {
            cluster_of(each): {*chain.from_iterable(each)} for each in self._pairs.get(split, ())
        }
        absent = {*self._holdout.absent_values, *self._holdout.absent_objects}
        shares = [
            [(name in names) - 2 / len(among) for names in shown.values()]
            for among in ([name for name in role if name not in absent] for role in self._names)
            for name in among
        ]
        if not shown:
            return False
        limits = {
            "A_eq": [*shares, [1] * len(shown)],
            "b_eq": [*[0] * len(shares), len(shown)],
            "bounds": (0.1, None),
        }
        return bool(linprog([0] * len(shown), **limits).success)

    def _one(self, split: str, n: int, counts: "_NameCounts", stream: Stream) -> Arrangement:
        for attempt in range(_TRIES):
            pick = _Pick(counts, stream, 1 + attempt // _EASE)
            made = self._attempt(split, n, pick, stream)
            for _ in range(_VARIANTS):
                if made is None:
                    break
                if self._belongs(made, split):
                    return made
                place, role = stream.below(n), stream.below(2)
                made = _renamed(
                    made, place, role, self._names[role][stream.below(len(self._names[role]))]
                )
        raise no_scene(split, n)

    def _attempt(self, split: str, n: int, pick: "_Pick", stream: Stream) -> Arrangement | None:
        """An arrangement that may be in the split; None if the draw fails."""
        if split in ("train", UNSEEN_ATOMS, *ASYMMETRIC):
            return self._free(split, n, pick, stream)
        if split == "val" and self._holdout.value_groups:
            return self._in_one_group(n, pick, stream)
        k = {"unseen": n, "partial": 1 + stream.below(n - 1) if n > 1 else 0}.get(split, 0)
        marks = stream.shuffled([True] * k + [False] * (n - k))
        if self._holdout.triples and k:
            return self._related(marks, pick, stream)
        places = stream.shuffled(range(n))
        lone = (
            places[:2]
            if split != "partial"
            else [next(p for p in places if marks[p] == mark) for mark in (True, False)]
        )
        first = stream.below(2)
        return self._framed(marks, first, pick, lone) or self._framed(marks, 1 - first, pick, lone)

    def _free(self, split: str, n: int, pick: "_Pick", stream: Stream) -> Arrangement | None:
        """An arrangement of bindings that are not held out. For `unseen_atoms` one binding has an
        absent atom and the others are any; for `asymmetric_unseen` one is held out."""
        of_marked = {UNSEEN_ATOMS: "absent", ASYMMETRIC[1]: "held out"}.get(split)
        marked = stream.below(n) if of_marked else None
        chosen: list[Binding] = []
        for place in range(n):
            options = self._bindings[of_marked if of_marked and place == marked else split]
            if self.conflicts:
                free = self._unclashing(self._names[OBJECT], [thing for _, thing in chosen])
                options = [binding for binding in options if binding[OBJECT] in free]
            if not options:
                return None
            chosen.append(pick.binding(place, options, chosen))
        return tuple(chosen)

    def _in_one_group(self, n: int, pick: "_Pick", stream: Stream) -> Arrangement | None:
        """An arrangement whose values, or whose objects, are of one group of a rotation, and with
        nothing held out.

        Random names of many objects hardly ever are of one group.
        """
        role = stream.below(2)
        groups = (self._holdout.value_groups, self._holdout.object_groups)[role]
        group = groups[stream.below(len(groups))]
        options = [binding for binding in self._bindings["train"] if binding[role] in group]
        chosen: list[Binding] = []
        for place in range(n):
            chosen.append(pick.binding(place, options, chosen))
        return tuple(chosen)

    @cached_property
    def _bindings(self) -> dict[str, list[Binding]]:
        """Bindings that training may show (train), that it never shows (absent, held out), and all
        (unseen_atoms)."""
        every = list(product(*self._names))
        absent = [binding for binding in every if self._holdout.absent(*binding)]
        shown = [
            binding
            for binding in every
            if binding not in absent and not self._holdout.holds_out(*binding)
        ]
        uneven = dict.fromkeys(ASYMMETRIC, shown)
        held_out = list(self._holdout.bindings)
        return {
            "train": shown,
            "absent": absent,
            "held out": held_out,
            UNSEEN_ATOMS: every,
            **uneven,
        }

    def _framed(
        self, marks: Sequence[bool], first: int, pick: "_Pick", lone: Sequence[int]
    ) -> Arrangement | None:
        """Draw names of the role `first`, then of the other role: held out with the marked ones,
        not with the rest.

        The objects at the two `lone` places differ in value and are the only ones of their
        categories.
        """
        absent = {*self._holdout.absent_values, *self._holdout.absent_objects}
        left = frozenset(self._names[1 - first]) - absent
        places = sorted(range(len(marks)), key=lambda place: place in lone)
        names: tuple[dict[int, str], dict[int, str]] = ({}, {})
        for role in (first, 1 - first):
            chosen = names[role]
            for place in places:
                kept = self._kept(first, left, marks[place]) if role == first else {}
                options = (
                    list(kept)
                    if role == first
                    else [name for name in self._names[role] if name in left]
                )
                beside = list(chosen.values())
                if role == OBJECT:
                    options = list(self._unclashing(options, beside))
                    if beside and place not in lone and len({*beside}) + len(lone) >= len(options):
                        options = [
                            name for name in options if name in beside
                        ]  # keep two for the lone places
                if place in lone:
                    taken = (
                        beside
                        if role == OBJECT
                        else [chosen[other] for other in lone if other in chosen]
                    )
                    options = [name for name in options if name not in taken]
                if not options:
                    return None
                chosen[place] = pick.name(role, place, options, beside)
                left = kept[chosen[place]] if role == first else left
        return tuple((names[VALUE][place], names[OBJECT][place]) for place in range(len(marks)))

    def _kept(self, role: int, left: frozenset[str], mark: bool) -> dict[str, frozenset[str]]:
        """For each name of a role, the names of the other role in `left` that are held out with it
        (`mark`) or not.

        Omits names with fewer than two of them (or with none, if the other role has one name).
        """
        if (role, left, mark) not in self._kept_of:
            held_out_with = (self._holdout.objects_with, self._holdout.values_with)[role]
            absent = {*self._holdout.absent_values, *self._holdout.absent_objects}
            kept = {
                name: left & held_out_with(name) if mark else left - held_out_with(name)
                for name in self._names[role]
                if name not in absent
            }
            enough = min(2, len(self._names[1 - role]))
            self._kept_of[role, left, mark] = {
                name: rest for name, rest in kept.items() if len(rest) >= enough
            }
        return self._kept_of[role, left, mark]

    def _related(self, marks: Sequence[bool], pick: "_Pick", stream: Stream) -> Arrangement | None:
        """An arrangement where marked objects form pairs with a held-out relation and the others
        have none.

        If bindings are held out too, just the bindings of marked objects are. None if this is
        impossible."""
        n = len(marks)
        if sum(marks) < 2:
            marks = stream.shuffled([True] * 2 + [False] * (n - 2))
        things = self._paired([place for place, mark in enumerate(marks) if mark], stream)
        for place in range(n):
            if place not in things:
                options = self._unclashing(self._names[OBJECT], list(things.values()))
                if not options:
                    return None
                things[place] = pick.name(OBJECT, place, options, list(things.values()))
        left = [
            value
            for value in self._names[VALUE]
            if not self._holdout.bindings
            or all(
                self._holdout.holds_out(value, things[place]) == mark
                for place, mark in enumerate(marks)
            )
        ]
        values: list[str] = []
        for place in range(n if left else 0):
            values.append(pick.name(VALUE, place, left, values))
        return tuple((value, things[place]) for place, value in enumerate(values)) or None

    def _paired(self, marked: Sequence[int], stream: Stream) -> dict[int, str]:
        """A category for each marked place; each has a partner among them in a held-out triple."""
        pairs = sorted({(subject, thing) for subject, _, thing in self._holdout.triples})
        places, things = stream.shuffled(marked), {}
        for one, other in zip(places[::2], places[1::2], strict=False):
            first, second = sorted((one, other))
            things[first], things[second] = pairs[stream.below(len(pairs))]
        if len(places) % 2:
            partners = [thing for subject, thing in pairs if subject in things.values()]
            things[places[-1]] = partners[stream.below(len(partners))]
        return things

    def _unclashing(self, names: Sequence[str], others: Sequence[str]) -> Sequence[str]:
        """The categories that form no pair of `conflicts` with any of the others."""
        if not self.conflicts:
            return names
        return [
            name for name in names if not any((other, name) in self.conflicts for other in others)
        ]

    @cached_property
    def conflicts(self) -> frozenset[tuple[str, str]]:
        """Pairs of categories (left, right) that show a held-out triple in every layout."""
        return frozenset(pair for pair, shown in self._shown_by_two.items() if all(shown))

    @cached_property
    def _pairs(self) -> dict[str, list[Arrangement]]:
        """Arrangements of two objects by split; if layouts decide, under every split that some
        layout gives."""
        found: dict[str, list[Arrangement]] = {}
        for arrangement in arrangements(self._vocabulary, self._holdout.kind):
            (_, one), (_, other) = arrangement
            shown = self._shown_by_two.get((one, other), [()])
            for split in dict.fromkeys(self._rule.place(arrangement, each).split for each in shown):
                if split is not None:
                    found.setdefault(split, []).append(arrangement)
        return found

    @cached_property
    def _shown_by_two(self) -> dict[tuple[str, str], list[tuple[Fact, ...]]]:
        """For two categories (left, right) of a held-out triple, the held-out relations of each
        random layout."""
        stream = Stream("layouts", self._holdout.block_seed)
        found = {}
        for one, other in sorted(
            {(a, b) for s, _, o in self._holdout.triples for a, b in ((s, o), (o, s))}
        ):
            layouts = [draw_layout((one, other), stream, self._vocabulary) for _ in range(_TRIALS)]
            held_out = [
                tuple(
                    held_out_facts(
                        (("", one), ("", other)), facts(layout, self._vocabulary), self._holdout
                    )
                )
                for layout in layouts
            ]
            found[one, other] = list(dict.fromkeys(held_out))
        return found


class _NameCounts(Counts):
    """Counts of each value and object, overall and at each place, and of each cluster of two
    objects.

    `classes`: for each role, the class of each name; names of a class should be equally frequent.
    """

    def __init__(self, classes: tuple[Mapping[str, Hashable], Mapping[str, Hashable]]):
        super().__init__()
        self._classes_of = classes
        self._cells_of: dict[tuple[int, int], dict[str, Cells]] = {}
        self._cells_of_pair: dict[Arrangement, Cells] = {}
        self.n_clusters = 0

    def know_pairs(self, pairs: Sequence[Arrangement]) -> None:
        """Register all arrangements of two objects that may occur, and their clusters."""
        self._pairs, clusters = pairs, [cluster_of(each) for each in pairs]
        names = [self.all_cells(each) for each in pairs]
        cells = [
            (*each, self.cell(("cluster",), cluster))
            for each, cluster in zip(names, clusters, strict=True)
        ]
        self._cells_of_pair = dict(zip(pairs, cells, strict=True))
        self.n_clusters, self._pair_cells = len(set(clusters)), np.array(cells)
        classes = self.classes()
        self._numbers = np.array(
            [number for _, number in sorted((c, n) for n, of in enumerate(classes) for c in of)]
        )
        self._unit = lcm(*map(len, classes))
        self._shares = np.array([self._unit // len(of) for of in classes])

    def let_loose(self, loose: tuple[str, ...]) -> None:
        """Set which counts need not be even: `cluster`, or `place` for names at each place."""
        self.loose = loose
        self._weights = np.array(
            [int(each not in loose) for each in (*("place", "all") * 4, "cluster")]
        )

    def best_pair(self, old: Arrangement, stream: Stream) -> Arrangement:
        """The cheapest arrangement of two objects to replace `old`, random among ties.

        A cell costs its count minus the mean of its class, scaled to whole numbers so that ties are
        exact.
        """
        cells = self.all_cells(old)
        self.add(cells, -1)
        filled = np.array(self.filled[: len(self._numbers)])
        self.add(cells)
        totals = np.bincount(self._numbers, filled).astype(np.int64)
        costs = (filled * self._unit - (totals * self._shares)[self._numbers])[
            self._pair_cells
        ] @ self._weights
        (best,) = (costs == costs.min()).nonzero()
        return self._pairs[best[stream.below(len(best))]]

    def cells(self, role: int, place: int) -> dict[str, Cells]:
        """For each name of a role, its cell at this place and its cell for all places."""
        if (role, place) not in self._cells_of:
            self._cells_of[role, place] = {
                name: (
                    self.cell(("place", role, place, among), name),
                    self.cell(("all", role, among), name),
                )
                for name, among in self._classes_of[role].items()
            }
        return self._cells_of[role, place]

    def all_cells(self, made: Arrangement) -> Cells:
        """The cells that an arrangement fills."""
        if made in self._cells_of_pair:
            return self._cells_of_pair[made]
        names = (
            self.cells(role, place)[name]
            for place, binding in enumerate(made)
            for role, name in enumerate(binding)
        )
        return tuple(chain.from_iterable(names))

    def uses(self, role: int, place: int, beside: Sequence[str]) -> dict[str, int]:
        """For each name of a role, its count at a place plus its overall count; `beside` holds
        uncounted uses."""
        filled, cells = self.filled, self.cells(role, place)
        used = {
            name: filled[here] + filled[everywhere] for name, (here, everywhere) in cells.items()
        }
        for name in beside:
            used[name] += 1
        return used

    def crowded_spots(self, made: Arrangement, crowded: Set[int]) -> list[tuple[int, int]]:
        """The (place, role) pairs where an arrangement fills a cell of `crowded` that is still
        crowded."""
        return [
            (place, role)
            for place, binding in enumerate(made)
            for role, name in enumerate(binding)
            if any(
                cell in crowded and self.is_crowded(cell) for cell in self.cells(role, place)[name]
            )
        ]

    def changes(self, old: Arrangement, place: int, role: int) -> Iterator[tuple[int, Arrangement]]:
        """Yield (cost, arrangement) for each replacement of the name at a place, and each exchange
        with another place.

        A replacement changes the overall counts. An exchange changes only the counts at two places,
        and usually fits where no replacement does.
        """
        here, cells, classes = old[place][role], self.cells(role, place), self._classes_of[role]
        for name, fills in cells.items():
            if name != here and classes[name] == classes[here]:
                yield self.growth(cells[here], fills), _renamed(old, place, role, name)
        for other, binding in enumerate(old):
            if (there := binding[role]) != here:
                theirs = self.cells(role, other)
                empties, fills = (
                    cells[here][:1] + theirs[there][:1],
                    cells[there][:1] + theirs[here][:1],
                )
                new = _renamed(_renamed(old, place, role, there), other, role, here)
                yield self.growth(empties, fills), new


class _Pick:
    """Draws a random name or binding among the least used; `ease` is the number of lowest counts
    that are allowed. `beside`: the names or bindings that the scene has already."""

    def __init__(self, counts: _NameCounts, stream: Stream, ease: int = 1):
        self._counts, self._stream, self._ease = counts, stream, ease

    def name(self, role: int, place: int, names: Sequence[str], beside: Sequence[str]) -> str:
        uses = self._counts.uses(role, place, beside)
        return self._least(names, [uses[name] for name in names])

    def binding(
        self, place: int, bindings: Sequence[Binding], beside: Sequence[Binding]
    ) -> Binding:
        values, objects = (
            self._counts.uses(role, place, [each[role] for each in beside])
            for role in (VALUE, OBJECT)
        )
        return self._least(bindings, [values[value] + objects[thing] for value, thing in bindings])

    def _least(self, options: Sequence[T], costs: Sequence[int]) -> T:
        most = min(costs) if self._ease == 1 else sorted(set(costs))[: self._ease][-1]
        best = [option for option, cost in zip(options, costs, strict=True) if cost <= most]
        return best[self._stream.below(len(best))]


def _renamed(arrangement: Arrangement, place: int, role: int, name: str) -> Arrangement:
    """The arrangement with another value or object at a place."""
    binding = (name, arrangement[place][1]) if role == VALUE else (arrangement[place][0], name)
    return (*arrangement[:place], binding, *arrangement[place + 1 :])
