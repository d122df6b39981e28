"""Draws balanced arrangements for the splits of a holdout: the value and category of each object of
a scene.

Which names (values and categories) may stand together depends on the split, so no formula gives
scenes in which all names are equally frequent. The method is a greedy draft that a local search
repairs:

1. Draft. The places of a scene take the names that are least used so far. If the scene is outside
   the split, it changes at random or is drawn again. Scenes of two objects take in turn an
   arrangement of each cluster; a cluster is all arrangements of the same values and categories,
   however they are paired.
2. Even out. Crowded names, used more often than others of their class, give way to rarer ones
   (`generator/plan/balance.py`).
3. Show. Training scenes change until they show every binding that they may
   (`generator/plan/shown_bindings.py`).

A large split is drafted in portions, which bounds the scenes in memory. Counts run on from portion
to portion, so evening out the last one makes the counts of the whole split even.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain, cycle, islice
from operator import itemgetter

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import Arrangement, Rule, cluster_of
from generator.plan.balance import PATIENCE, even_out
from generator.plan.candidates import Candidates
from generator.plan.even_bindings import EvenBindings
from generator.plan.name_classes import name_classes
from generator.plan.name_counts import (
    CLUSTER_COUNTS,
    PLACE_COUNTS,
    LeastUsed,
    NameCounts,
    with_name,
)
from generator.plan.shown_bindings import TooFewScenesError, show_all_bindings

_PORTION = 2_000
"""Scenes in memory at a time, about. Changes to so many can make the counts of all scenes even."""

_MOST_DRAWS = 600
"""Draws of a scene before its split counts as impossible."""
_DRAWS_PER_LEVEL = 8
"""Draws take the names with the lowest count. The least-used names may fit together in no scene of
the split. So after this many failed draws, names with the second-lowest count may be drawn too;
after as many more, those with the third-lowest; and so on."""
_CHECKS_PER_DRAW = 8
"""Arrangements that are checked for each draw: the draw itself, then seven random changes of one
name, each made to the last. They are cheaper than a new draw."""

_MOST_EVEN_CLUSTERS = 300
"""With more clusters than this, clusters, values and objects cannot all be equally frequent."""

_PATIENCE_PER_SCENE = 100
"""Moves for each scene without improvement, after which a small split of a rotation is as even as
it can be. Two to five scenes of three objects hardly ever are; with the full patience, 280 scenes
in sixteen splits took 13 s in place of 1 s, and were no more even."""


def no_scene_error(split: str, n: int) -> UserError:
    """The error when no scene of n objects belongs to a split and can be asked about."""
    condition = " with two objects whose categories occur once" if n > 2 else ""
    return UserError(
        f"This holdout leaves no scene of {n} object{'s' * (n > 1)} for the split "
        f"{split}{condition}: try another --block-seed, a block of more or of fewer objects, or "
        f"add values or objects; --holdout none makes one split for models that were trained "
        f"elsewhere."
    )


class ArrangementSampler:
    """Draws arrangements for the splits of a rule.

    In scenes of two objects, these differ in value and in category; in other scenes both may
    repeat. Within a split all values, and all objects, are equally frequent, overall and at each
    place from left to right. In splits of held-out combinations (partial, unseen), some names
    occur more often than others by necessity; then this holds within each class of names
    (`generator/plan/name_classes.py`). Clusters of two objects are balanced too, as far as the
    balance of values and objects allows.
    """

    def __init__(self, rule: Rule):
        self._holdout = rule.holdout
        self._candidates = Candidates(rule)

    def draw(
        self,
        split: str,
        numbers_of_objects: Sequence[int],
        stream: Stream,
        needed: Set[Binding] = frozenset(),
        bindings: EvenBindings | None = None,
    ) -> Iterator[Arrangement]:
        """Yield the arrangements of a split.

        Args:
            split: the split.
            numbers_of_objects: the number of objects of each arrangement.
            stream: draws everything. It may be used in between by others: portions are drawn as
                they are needed.
            needed: the bindings that training must show. It shows every binding that it may, these
                first, if there is room in the first portion.
            bindings: evens out the counts of bindings too; None leaves them as they come. Splits
                with few clusters keep theirs, which are even already.

        Raises:
            UserError: no scene belongs to the split.
            TooFewScenesError: the training scenes cannot show the needed bindings.
        """
        classes = name_classes(
            self._holdout, self._candidates, split=split, numbers_of_objects=numbers_of_objects
        )
        counts = NameCounts(classes)
        n_pairs = numbers_of_objects.count(2)
        pairs = iter(self._draft_pairs(split, n_pairs, counts=counts, stream=stream))
        n_portions = max(1, round(len(numbers_of_objects) / _PORTION))
        for portion in range(n_portions):
            start = len(numbers_of_objects) * portion // n_portions
            end = len(numbers_of_objects) * (portion + 1) // n_portions
            # 1. Draft.
            scenes: list[Arrangement] = []
            for n in numbers_of_objects[start:end]:
                arrangement = next(pairs) if n == 2 else self._draft(split, n, counts, stream)
                scenes.append(arrangement)
                counts.add(counts.cells_of(arrangement))
            # 2. Even out.
            if portion == n_portions - 1:
                self._even_out_names(split, scenes, counts=counts, stream=stream)
            # 3. Show. Where one portion is all, this comes after evening out, which does not look
            # at bindings and could remove the only scene that shows one.
            if portion == 0 and split == "train":
                show_all_bindings(
                    scenes, counts, candidates=self._candidates, needed=needed, stream=stream
                )
            has_even_clusters = 0 < counts.n_clusters <= _MOST_EVEN_CLUSTERS
            if bindings is not None and not has_even_clusters:
                bindings.even_out(scenes, self._membership(split), stream)
            yield from scenes

    def sufficient_count(self, needed: Set[Binding], numbers_of_objects: Sequence[int]) -> int:
        """A number of training scenes that can show the needed bindings.

        Args:
            needed: the bindings that training must show.
            numbers_of_objects: those of scenes that were too few; more scenes repeat these numbers.

        Returns:
            The first number above len(numbers_of_objects) that was tried with success. Numbers grow
            by a quarter each time, so it need not be the least.

        Raises:
            UserError: all scenes are of two objects, and none can show a binding.
        """
        if set(numbers_of_objects) == {2}:
            # A binding without any training scene would keep the search below from ending.
            showable = set(chain.from_iterable(self._candidates.pairs.get("train", ())))
            never_shown = needed - showable
            if never_shown:
                raise UserError(
                    f"No training scene can show {' '.join(min(never_shown))} without a held-out "
                    f"combination, but evaluation scenes need it as a seen binding; take another "
                    f"--block-seed, or hold out fewer pairs of objects."
                )
        # An object shows one binding: about so many scenes are needed to show each of them once.
        n_if_shown_once = len(needed) // min(numbers_of_objects)
        n = max(len(numbers_of_objects) + 1, n_if_shown_once)
        while True:
            repeated = list(islice(cycle(numbers_of_objects), n))
            try:
                list(self.draw("train", repeated, Stream("enough", n), needed))
            except TooFewScenesError:
                n += max(1, n // 4)
            else:
                return n

    def _draft(self, split: str, n: int, counts: NameCounts, stream: Stream) -> Arrangement:
        """An arrangement of n objects of a split, of names that are little used.

        Raises:
            UserError: no draw is in the split.
        """
        for attempt in range(_MOST_DRAWS):
            least_used = LeastUsed(counts, stream, n_levels=1 + attempt // _DRAWS_PER_LEVEL)
            arrangement = self._candidates.draw(split, n, least_used, stream)
            if arrangement is None:
                continue
            for _ in range(_CHECKS_PER_DRAW):
                if self._candidates.belongs(arrangement, split):
                    return arrangement
                # The change after the last check is discarded. It is made because it draws numbers:
                # without it, plans of the same seed would differ from those made so far.
                arrangement = self._change_any_name(arrangement, stream)
        raise no_scene_error(split, n)

    def _change_any_name(self, arrangement: Arrangement, stream: Stream) -> Arrangement:
        """The arrangement with a random name at a random place."""
        place = stream.below(len(arrangement))
        role = stream.below(2)  # 0: its value, 1: its category
        names = self._candidates.names[role]
        return with_name(arrangement, place, role, names[stream.below(len(names))])

    def _draft_pairs(
        self, split: str, n: int, *, counts: NameCounts, stream: Stream
    ) -> list[Arrangement]:
        """`n` arrangements of two objects, equally many of each cluster. Registers all possible
        pairs of the split in `counts`.

        Raises:
            UserError: the split has no pair.
        """
        if n == 0:
            return []
        pairs = self._candidates.pairs.get(split)
        if not pairs:
            raise no_scene_error(split, 2)
        counts.register_pairs(pairs)
        clusters: dict[str, list[Arrangement]] = {}
        for pair in pairs:
            clusters.setdefault(cluster_of(pair), []).append(pair)
        # Each cluster deals its arrangements in random order, and starts over at the end.
        decks = {name: cycle(stream.shuffled(members)) for name, members in clusters.items()}
        return [next(decks[name]) for name in stream.balanced(list(clusters), n)]

    def _even_out_names(
        self, split: str, scenes: list[Arrangement], *, counts: NameCounts, stream: Stream
    ) -> None:
        """Change arrangements until names, and clusters of two objects, are equally frequent.

        Even names at each place and even clusters may exclude each other, or the search may end in
        a local minimum between them. So passes with all counts alternate with passes in which
        counts by place may be uneven. The last passes give up even clusters.
        """
        least_used = LeastUsed(counts, stream)
        belongs = self._membership(split)

        def best_choice(_row: int, old: Arrangement, crowded: Set[int]) -> Arrangement:
            # The pairs of a split are few enough to compare all. Larger scenes are not: they change
            # one name, or, if no such change fits, they become what a new draw gives.
            if len(old) == 2:
                return counts.cheapest_pair(old, stream)
            crowded_names = counts.crowded_names(old, crowded)
            if not crowded_names:
                return old
            for place, role in stream.shuffled(crowded_names):
                new = _best_change(old, place, role, counts=counts, belongs=belongs, stream=stream)
                if new is not None:
                    return new
            candidate = self._candidates.draw(split, len(old), least_used, stream)
            if not candidate:
                return old
            cost = counts.growth(counts.cells_of(old), counts.cells_of(candidate))
            return candidate if cost <= 0 and belongs(candidate) else old

        for loose in _loose_counts_of_passes(split, counts):
            counts.set_loose(loose)
            even_out(
                scenes,
                counts,
                stream,
                cells_of=lambda _row, arrangement: counts.cells_of(arrangement),
                best_choice=best_choice,
                patience=self._patience(scenes),
            )
            # No excess after a pass with loose places says nothing of the counts at places.
            if not counts.excess() and loose != (PLACE_COUNTS,):
                break

    def _membership(self, split: str) -> Callable[[Arrangement], bool]:
        """A function that says whether an arrangement belongs to a split; it remembers those that
        do not."""
        outside_split: set[Arrangement] = set()

        def belongs(arrangement: Arrangement) -> bool:
            if arrangement in outside_split:
                return False
            is_in_split = self._candidates.belongs(arrangement, split)
            if not is_in_split:
                outside_split.add(arrangement)
            return is_in_split

        return belongs

    def _patience(self, scenes: Sequence[Arrangement]) -> int:
        """The moves without improvement after which a pass over scenes ends."""
        if self._holdout.value_groups and any(len(arrangement) > 2 for arrangement in scenes):
            # A rotation plans the scenes of each turn by itself, in many small splits.
            return min(PATIENCE, _PATIENCE_PER_SCENE * len(scenes))
        return PATIENCE


def _best_change(
    old: Arrangement,
    place: int,
    role: int,
    *,
    counts: NameCounts,
    belongs: Callable[[Arrangement], bool],
    stream: Stream,
) -> Arrangement | None:
    """The change of one name that makes counts most even, among those in the split that make none
    less even; None if there is none. Random among ties."""
    harmless = [(cost, new) for cost, new in counts.changes(old, place, role) if cost <= 0]
    for _, new in sorted(stream.shuffled(harmless), key=itemgetter(0)):
        if belongs(new):
            return new
    return None


def _loose_counts_of_passes(split: str, counts: NameCounts) -> list[tuple[str, ...]]:
    """For each pass over the scenes of a split, the kinds of counts that may be uneven.

    A pass is a search with random moves, so the same pass again may get further.
    """
    passes: list[tuple[str, ...]] = []
    if counts.n_clusters <= _MOST_EVEN_CLUSTERS:
        # val and seen have few clusters, which seldom leave room for even names as well.
        rounds = 2 if split in ("val", "seen") else 4
        passes += [(), (PLACE_COUNTS,)] * rounds
        passes.append(())
    passes += [(CLUSTER_COUNTS,)] * 2
    return passes
