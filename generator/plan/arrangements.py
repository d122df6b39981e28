"""Draws balanced arrangements for the splits of a holdout: the value and category of each object of
a scene."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from itertools import chain, cycle, islice, product
from operator import itemgetter

from scipy.optimize import linprog

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.own_frames import other_triples
from generator.holdout.holdout import Binding
from generator.holdout.membership import Arrangement, Rule, cluster_of
from generator.plan.balance import PATIENCE, even_out
from generator.plan.candidates import Candidates
from generator.plan.even_bindings import EvenBindings
from generator.plan.name_counts import (
    CLUSTER_COUNTS,
    OBJECT,
    PLACE_COUNTS,
    VALUE,
    LeastUsed,
    NameCounts,
    with_name,
)

# Scenes in memory at a time. Changes to the last block alone can make the counts of all even.
_BLOCK = 2_000

# Draws of a scene before its split counts as impossible. After each 8 failures one more of the
# lowest counts is good enough: the least-used names may fit together in no scene of the split.
_TRIES, _TRIES_PER_LEVEL = 600, 8

# Random changes of one name that are tried on a draw outside the split: cheaper than a new draw.
_VARIANTS = 8

# Exchanges of two scenes that are tried, to show one more binding.
_EXCHANGES = 600

# With more clusters, these cannot be equally frequent together with values and objects.
_MOST_EVEN_CLUSTERS = 300

# Moves for each scene without improvement, after which a small split of a rotation is as even as it
# can be. Two to five scenes of three objects hardly ever are; with the full patience, 280 scenes in
# sixteen splits took 13 s in place of 1 s, and were no more even.
_PATIENCE_PER_SCENE = 100

# The least frequency of a cluster, relative to the mean, with which names count as balanceable.
_LEAST_CLUSTER_SHARE = 0.1


def no_scene_error(split: str, n: int) -> UserError:
    """The error when no scene of n objects belongs to a split and can be asked about."""
    condition = " with two objects whose categories occur once" if n > 2 else ""
    return UserError(
        f"This holdout leaves no scene of {n} object{'s' * (n > 1)} for the split "
        f"{split}{condition}: try another --block-seed, a block of more or of fewer objects, or "
        f"add values or objects; --holdout none makes one split for models that were trained "
        f"elsewhere."
    )


class TooFewScenesError(Exception):
    """Training scenes are too few to show the bindings that evaluation scenes need."""


class ArrangementSampler:
    """Draws arrangements for the splits of a rule.

    In scenes of two objects, these differ in value and in category; in other scenes both may
    repeat. Within a split all values, and all objects, are equally frequent, overall and at each
    place from left to right. If the split itself favours some names (partial, unseen), this holds
    among names that are held out with the same. Clusters of two objects are balanced too, as far as
    the balance of values and objects allows.
    """

    def __init__(self, rule: Rule):
        self._rule = rule
        self._holdout = rule.holdout
        self._candidates = Candidates(rule)

    def draw(
        self,
        split: str,
        object_counts: Sequence[int],
        stream: Stream,
        needed: Set[Binding] = frozenset(),
        bindings: EvenBindings | None = None,
    ) -> Iterator[Arrangement]:
        """Yield the arrangements of a split.

        Each is first drawn from the least-used names. The last block of scenes (about 2,000) then
        changes names until the counts of all scenes are even. In `train`, the first block also
        shows every binding that training may show, `needed` ones first, if there is room.

        Args:
            split: the split.
            object_counts: the number of objects of each arrangement.
            stream: draws everything. It may be used in between by others: blocks are drawn as they
                are needed.
            needed: the bindings that training must show.
            bindings: evens out the counts of bindings too; None leaves them as they come. Splits
                with few clusters keep theirs, which are even already.

        Raises:
            UserError: no scene belongs to the split.
            TooFewScenesError: the training scenes cannot show the needed bindings.
        """
        counts = NameCounts(self._name_classes(split, object_counts))
        n_pairs = sum(n == 2 for n in object_counts)
        pairs = iter(self._balanced_pairs(split, n_pairs, counts, stream))
        n_blocks = max(1, round(len(object_counts) / _BLOCK))
        for block in range(n_blocks):
            start = len(object_counts) * block // n_blocks
            end = len(object_counts) * (block + 1) // n_blocks
            scenes: list[Arrangement] = []
            for n in object_counts[start:end]:
                arrangement = next(pairs) if n == 2 else self._draw_one(split, n, counts, stream)
                scenes.append(arrangement)
                counts.add(counts.cells_of(arrangement))
            if block == n_blocks - 1:
                self._even_out(split, scenes, counts, stream)
            if block == 0 and split == "train":
                self._show_all_bindings(scenes, counts, needed, stream)
            has_even_clusters = 0 < counts.n_clusters <= _MOST_EVEN_CLUSTERS
            if bindings is not None and not has_even_clusters:
                bindings.even_out(scenes, self._membership(split), stream)
            yield from scenes

    def sufficient_count(self, needed: Set[Binding], object_counts: Sequence[int]) -> int:
        """A number of training scenes that can show the needed bindings.

        Args:
            needed: the bindings that training must show.
            object_counts: the numbers of objects of scenes that were too few; more scenes repeat
                these.

        Returns:
            The first number above len(object_counts) that was tried with success. Numbers grow by a
            quarter each time, so it need not be the least.

        Raises:
            UserError: all scenes are of two objects, and none can show a binding.
        """
        if set(object_counts) == {2}:
            showable = set(chain.from_iterable(self._candidates.pairs.get("train", ())))
            never_shown = needed - showable
            if never_shown:
                raise UserError(
                    f"No training scene can show {' '.join(min(never_shown))} without a held-out "
                    f"combination, but evaluation scenes need it as a seen binding; take another "
                    f"--block-seed, or hold out fewer pairs of objects."
                )
        n = max(len(object_counts) + 1, len(needed) // min(object_counts))
        while True:
            repeated = list(islice(cycle(object_counts), n))
            try:
                list(self.draw("train", repeated, Stream("enough", n), needed))
            except TooFewScenesError:
                n += max(1, n // 4)
            else:
                return n

    def _draw_one(self, split: str, n: int, counts: NameCounts, stream: Stream) -> Arrangement:
        """Draw an arrangement of n objects of a split. Raises UserError if all tries fail."""
        names = self._candidates.names
        for attempt in range(_TRIES):
            least_used = LeastUsed(counts, stream, n_levels=1 + attempt // _TRIES_PER_LEVEL)
            arrangement = self._candidates.draw(split, n, least_used, stream)
            if arrangement is None:
                continue
            for _ in range(_VARIANTS):
                if self._candidates.belongs(arrangement, split):
                    return arrangement
                place, role = stream.below(n), stream.below(2)
                name = names[role][stream.below(len(names[role]))]
                arrangement = with_name(arrangement, place, role, name)
        raise no_scene_error(split, n)

    def _balanced_pairs(
        self, split: str, n: int, counts: NameCounts, stream: Stream
    ) -> list[Arrangement]:
        """`n` arrangements of two objects, equally many of each cluster. Registers all possible
        pairs of the split in `counts`."""
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

    def _even_out(
        self, split: str, scenes: list[Arrangement], counts: NameCounts, stream: Stream
    ) -> None:
        """Change arrangements until names, and clusters of two objects, are equally frequent.

        A scene of two objects takes the best of all pairs of its split. Another scene changes names
        in crowded cells, or is drawn again. Even names at each place and even clusters may exclude
        each other, or the search may end in a local minimum between them. So passes with all counts
        alternate with passes in which counts by place may be uneven; at last the clusters may be.
        """
        least_used = LeastUsed(counts, stream)
        fits = self._membership(split)

        def best_choice(_row: int, old: Arrangement, crowded: Set[int]) -> Arrangement:
            if len(old) == 2:
                return counts.cheapest_pair(old, stream)
            spots = counts.crowded_spots(old, crowded)
            for place, role in stream.shuffled(spots):
                changes = [
                    (cost, new) for cost, new in counts.changes(old, place, role) if cost <= 0
                ]
                for _, new in sorted(stream.shuffled(changes), key=itemgetter(0)):
                    if fits(new):
                        return new
            if not spots:
                return old
            # No change of one name fits: another scene.
            candidate = self._candidates.draw(split, len(old), least_used, stream)
            if not candidate:
                return old
            cost = counts.growth(counts.cells_of(old), counts.cells_of(candidate))
            return candidate if cost <= 0 and fits(candidate) else old

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
            if not counts.excess() and loose != (PLACE_COUNTS,):
                break

    def _membership(self, split: str) -> Callable[[Arrangement], bool]:
        """A function that says whether an arrangement belongs to a split; it remembers those that
        do not."""
        outside_split: set[Arrangement] = set()

        def fits(arrangement: Arrangement) -> bool:
            if arrangement not in outside_split and not self._candidates.belongs(
                arrangement, split
            ):
                outside_split.add(arrangement)
            return arrangement not in outside_split

        return fits

    def _patience(self, scenes: Sequence[Arrangement]) -> int:
        """The moves without improvement after which a pass over scenes ends."""
        if self._holdout.value_groups and any(len(arrangement) > 2 for arrangement in scenes):
            # A rotation plans the scenes of each turn by itself, in many small splits.
            return min(PATIENCE, _PATIENCE_PER_SCENE * len(scenes))
        return PATIENCE

    def _show_all_bindings(
        self, scenes: list[Arrangement], counts: NameCounts, needed: Set[Binding], stream: Stream
    ) -> None:
        """Change training scenes until they show all bindings that training may show, needed ones
        first. Raises TooFewScenesError if they then lack a needed binding."""
        times_shown = Counter(binding for arrangement in scenes for binding in arrangement)
        missing = set(self._candidates.bindings["train"]) - set(times_shown)
        for binding in sorted(missing, key=lambda binding: (binding not in needed, binding)):
            changes = self._changes_that_show(binding, scenes, times_shown, needed, stream)
            for row, new in changes.items():
                times_shown.subtract(scenes[row])
                times_shown.update(new)
                counts.add(counts.cells_of(scenes[row]), -1)
                counts.add(counts.cells_of(new))
                scenes[row] = new
        if any(times_shown[binding] == 0 for binding in needed):
            raise TooFewScenesError

    def _changes_that_show(
        self,
        binding: Binding,
        scenes: list[Arrangement],
        times_shown: Counter[Binding],
        needed: Set[Binding],
        stream: Stream,
    ) -> dict[int, Arrangement]:
        """Find one or two scenes that can show a binding, while all others stay shown.

        1. Two scenes exchange an object: one that has the value gets the object. This keeps the
           counts of values and objects, and also those at each place if both have it at one place.
        2. If no exchange works and the binding is needed, it replaces another binding.
        Only bindings that are shown elsewhere too may go, or, for a needed binding, also those that
        are not needed.

        Returns:
            The new arrangements by row; empty if there are none.
        """
        value, category = binding
        spots = []
        for row, arrangement in enumerate(scenes):
            for place, present in enumerate(arrangement):
                is_dispensable = binding in needed and present not in needed
                if times_shown[present] > 1 or is_dispensable:
                    spots.append((row, place, present))

        # 1. Exchanges, those at one place first.
        with_value = stream.shuffled([spot for spot in spots if spot[2][VALUE] == value])
        with_object = stream.shuffled([spot for spot in spots if spot[2][OBJECT] == category])
        exchanges = sorted(
            product(with_value, with_object),
            key=lambda exchange: exchange[0][1] != exchange[1][1],
        )
        for (row, place, (_, old_object)), (other_row, other_place, _) in exchanges[:_EXCHANGES]:
            if row == other_row:
                continue
            changes = {
                row: with_name(scenes[row], place, OBJECT, category),
                other_row: with_name(scenes[other_row], other_place, OBJECT, old_object),
            }
            if all(self._is_training_scene(new) for new in changes.values()):
                return changes

        # 2. Replacements.
        if binding in needed:
            for row, place, _ in stream.shuffled(spots):
                new = (*scenes[row][:place], binding, *scenes[row][place + 1 :])
                if self._is_training_scene(new):
                    return {row: new}
        return {}

    def _is_training_scene(self, arrangement: Arrangement) -> bool:
        """Whether an arrangement belongs to `train`. Two objects have to differ in both roles."""
        if len(arrangement) == 2:
            (value, category), (other_value, other_category) = arrangement
            if value == other_value or category == other_category:
                return False
        return self._candidates.belongs(arrangement, "train")

    def _name_classes(
        self, split: str, object_counts: Sequence[int]
    ) -> tuple[dict[str, Hashable], dict[str, Hashable]]:
        """The class of each value and of each object; names of a class should be equally frequent
        in the split.

        In `train`, `val` and `seen` all names but the absent ones form one class, if scenes without
        held-out bindings can be that even: the block's shares of all values and of all objects add
        up to at most 1, and clusters allow it (for `val` and `seen` of two objects, which have
        few). Otherwise a class holds the names that are held out with the same names.
        """
        holdout = self._holdout
        values, objects = self._candidates.names
        if holdout.treats_names_alike and split == "train":
            return dict.fromkeys(values), dict.fromkeys(objects)

        block_shares = len(holdout.values) / len(values) + len(holdout.objects) / len(objects)
        can_be_even = split in ("train", "val", "seen") and holdout.is_block and block_shares <= 1
        if can_be_even and split != "train" and set(object_counts) == {2}:
            can_be_even = self._clusters_can_be_even(split)
        if can_be_even:
            return (
                {value: value in holdout.absent_values for value in values},
                {category: category in holdout.absent_objects for category in objects},
            )

        related = other_triples(holdout.triples)
        class_of_object: dict[str, Hashable] = {}
        for category in objects:
            relations = frozenset(
                (relation, other) for subject, relation, other in related if subject == category
            )
            own_directions = holdout.own_frames.get(category, ())
            class_of_object[category] = (holdout.object_like(category), relations, own_directions)
        return {value: holdout.value_like(value) for value in values}, class_of_object

    def _clusters_can_be_even(self, split: str) -> bool:
        """Whether some frequencies of a split's clusters of two objects make all its values, and
        all its objects, equally frequent.

        This is a linear program without an objective: find a frequency f(c) of at least 0.1 for
        each cluster, with mean 1, so that for every name the sum of f(c) over the clusters with
        this name is 2 / (number of names of its role) of the sum over all clusters.
        """
        names_of_cluster = {
            cluster_of(pair): set(chain.from_iterable(pair))
            for pair in self._candidates.pairs.get(split, ())
        }
        n_clusters = len(names_of_cluster)
        if n_clusters == 0:
            return False
        coefficients = []
        for role_names in self._candidates.names:
            present = [name for name in role_names if name not in self._candidates.absent_names]
            share = 2 / len(present)
            for name in present:
                coefficients.append(
                    [(name in names) - share for names in names_of_cluster.values()]
                )
        solution = linprog(
            [0] * n_clusters,
            A_eq=[*coefficients, [1] * n_clusters],
            b_eq=[*[0] * len(coefficients), n_clusters],
            bounds=(_LEAST_CLUSTER_SHARE, None),
        )
        return bool(solution.success)


def _loose_counts_of_passes(split: str, counts: NameCounts) -> list[tuple[str, ...]]:
    """For each pass over the scenes of a split, the kinds of counts that may be uneven."""
    passes: list[tuple[str, ...]] = []
    if counts.n_clusters <= _MOST_EVEN_CLUSTERS:
        # val and seen have few clusters, which seldom leave room for even names as well.
        rounds = 2 if split in ("val", "seen") else 4
        passes += [(), (PLACE_COUNTS,)] * rounds
        passes.append(())
    passes += [(CLUSTER_COUNTS,)] * 2
    return passes
