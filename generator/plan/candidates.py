"""Draws arrangements that may belong to a split, and decides whether they do.

An evaluation scene must be symmetric: however its values are paired with its objects, equally many
of its bindings are held out (holdout/membership.py). Independent random names hardly ever make such
a scene, so each split has its own way to draw one.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, product

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
    held_out_facts,
)
from generator.plan.name_counts import OBJECT, VALUE, LeastUsed
from generator.scene.layouts import certain_relations, draw_layout

# Random layouts of two categories of a held-out triple, to learn which held-out relations they can
# show. A layout with a probability of 1/6 is missed once in 1,500 such samples.
_SAMPLE_LAYOUTS = 40

# Bindings that no split is named after, beside the splits in `Candidates.bindings`.
_ABSENT, _HELD_OUT = "absent", "held out"

_Partners = dict[str, frozenset[str]]
"""For each name of a role, names of the other role that it may be paired with."""


class Candidates:
    """Draws candidates for the scenes of a rule's splits."""

    def __init__(self, rule: Rule):
        self._rule = rule
        self._holdout = rule.holdout
        self._vocabulary = rule.vocabulary
        self.names = (rule.vocabulary.values(rule.holdout.kind), list(rule.vocabulary.objects))
        """All names of each role: values of the tested kind, and objects."""
        self.absent_names = frozenset(rule.holdout.absent_values + rule.holdout.absent_objects)
        """Values and objects that training never shows."""
        # Results of `_partners` by its arguments: scenes of a split ask the same again and again.
        self._partners_of: dict[tuple[int, frozenset[str], bool], _Partners] = {}

    def draw(self, split: str, n: int, least_used: LeastUsed, stream: Stream) -> Arrangement | None:
        """Draw an arrangement of n objects that is likely to be in a split; None if it fails."""
        if split in ("train", UNSEEN_ATOMS, *ASYMMETRIC):
            return self._draw_bindings(split, n, least_used, stream)
        if split == "val" and self._holdout.value_groups:
            return self._draw_in_one_group(n, least_used, stream)

        is_held_out = _draw_held_out_places(split, n, stream)
        if self._holdout.triples and any(is_held_out):
            return self._draw_related(is_held_out, least_used, stream)

        # A caption names two objects, which must be the only ones of their categories. In
        # `partial` one of the two is held out.
        places = stream.shuffled(range(n))
        lone_places = places[:2]
        if split == "partial":
            first_held_out = next(place for place in places if is_held_out[place])
            first_other = next(place for place in places if not is_held_out[place])
            lone_places = [first_held_out, first_other]

        # If the role that is drawn first leaves no name for the other, the other begins.
        first_role = stream.below(2)
        for role in (first_role, 1 - first_role):
            arrangement = self._draw_symmetric(
                is_held_out, role, lone_places=lone_places, least_used=least_used
            )
            if arrangement:
                return arrangement
        return None

    def belongs(self, arrangement: Arrangement, split: str) -> bool:
        """Whether an arrangement belongs to a split, and a caption can ask about it.

        Only the held-out relations that every layout shows are counted; a layout is drawn later.
        Scenes of `train` and `unseen_atoms` need no caption that tells two objects apart.
        """
        relations: list[Fact] = []
        if self.conflicts:
            for i, j in combinations(range(len(arrangement)), 2):
                categories = (arrangement[i][OBJECT], arrangement[j][OBJECT])
                # Whichever of these the layout will show, a held-out one relates the two. The split
                # depends on no more.
                if categories in self.conflicts:
                    relations += [(i, name, j) for name in self._vocabulary.pair_relations]
        if self._rule.place(arrangement, relations).split != split:
            return False
        return split in ("train", UNSEEN_ATOMS) or self._can_be_asked(arrangement, split)

    def _can_be_asked(self, arrangement: Arrangement, split: str) -> bool:
        """Whether a caption can tell two objects apart: from the others by category, from each
        other by value.

        In `partial` exactly one of the two is held out, if bindings are held out. In asymmetric
        splits the two are `asymmetric`.
        """
        category_counts = Counter(category for _, category in arrangement)
        lone = [binding for binding in arrangement if category_counts[binding[OBJECT]] == 1]
        one_is_held_out = split == "partial" and bool(self._holdout.bindings)
        for first, second in combinations(lone, 2):
            if first[VALUE] == second[VALUE]:
                continue
            first_is_held_out = self._holdout.holds_out(*first)
            second_is_held_out = self._holdout.holds_out(*second)
            if one_is_held_out and first_is_held_out == second_is_held_out:
                continue
            if split in ASYMMETRIC and not asymmetric(first, second, self._holdout):
                continue
            return True
        return False

    def _draw_bindings(
        self, split: str, n: int, least_used: LeastUsed, stream: Stream
    ) -> Arrangement | None:
        """Draw one binding after another, for splits whose scenes need not be symmetric.

        None is held out, except in `asymmetric_unseen`, where one is. In `unseen_atoms` one has a
        name that is absent from training, and the others are any.
        """
        sources = [split] * n
        special_source = {UNSEEN_ATOMS: _ABSENT, ASYMMETRIC[1]: _HELD_OUT}.get(split)
        if special_source:
            sources[stream.below(n)] = special_source
        chosen: list[Binding] = []
        for place, source in enumerate(sources):
            options = self.bindings[source]
            if self.conflicts:
                in_scene = [category for _, category in chosen]
                possible = self._without_conflict(self.names[OBJECT], in_scene)
                options = [binding for binding in options if binding[OBJECT] in possible]
            if not options:
                return None
            chosen.append(least_used.binding(place, options, chosen))
        return tuple(chosen)

    def _draw_in_one_group(self, n: int, least_used: LeastUsed, stream: Stream) -> Arrangement:
        """Draw bindings whose values, or whose objects, are of one group of a rotation, and none of
        which is held out.

        Validation needs this; random names of many objects hardly ever are of one group.
        """
        role = stream.below(2)
        groups = self._holdout.value_groups if role == VALUE else self._holdout.object_groups
        group = groups[stream.below(len(groups))]
        options = [binding for binding in self.bindings["train"] if binding[role] in group]
        chosen: list[Binding] = []
        for place in range(n):
            chosen.append(least_used.binding(place, options, chosen))
        return tuple(chosen)

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """The bindings that scenes of a split may show, where they need not be symmetric; and those
        with an absent name, and those held out."""
        every_binding = list(product(*self.names))
        absent = [binding for binding in every_binding if self._holdout.absent(*binding)]
        trained = [
            binding
            for binding in every_binding
            if binding not in absent and not self._holdout.holds_out(*binding)
        ]
        return {
            "train": trained,
            _ABSENT: absent,
            _HELD_OUT: list(self._holdout.bindings),
            UNSEEN_ATOMS: every_binding,
            **dict.fromkeys(ASYMMETRIC, trained),
        }

    def _draw_symmetric(
        self,
        is_held_out: Sequence[bool],
        first_role: int,
        *,
        lone_places: Sequence[int],
        least_used: LeastUsed,
    ) -> Arrangement | None:
        """Draw a symmetric arrangement.

        It is symmetric if each name of one role is held out with all names of the other role in the
        scene, or with none:
        1. Draw the names of the first role. After each, keep only those partners (names of the
           other role) that are held out with it, where its place is to be held out, or not held
           out with it, where it is not.
        2. Draw the names of the other role among the partners left.

        Args:
            is_held_out: for each place, whether its binding is to be held out.
            first_role: VALUE or OBJECT.
            lone_places: two places whose objects differ in value and are the only ones of their
                categories.
            least_used: picks names.

        Returns:
            The arrangement, or None if no name is left for a place.
        """
        n = len(is_held_out)
        other_role = 1 - first_role
        # The lone places come last: their names are then drawn among those that the others left.
        places = sorted(range(n), key=lambda place: place in lone_places)
        names: tuple[dict[int, str], dict[int, str]] = ({}, {})

        # 1. The first role.
        partners = frozenset(self.names[other_role]) - self.absent_names
        for place in places:
            partners_of = self._partners(first_role, partners, is_held_out[place])
            in_scene = names[first_role]
            options = self._options(first_role, place, list(partners_of), in_scene, lone_places)
            if not options:
                return None
            name = least_used.name(first_role, place, options, list(in_scene.values()))
            names[first_role][place] = name
            partners = partners_of[name]

        # 2. The other role.
        for place in places:
            left = [name for name in self.names[other_role] if name in partners]
            in_scene = names[other_role]
            options = self._options(other_role, place, left, in_scene, lone_places)
            if not options:
                return None
            name = least_used.name(other_role, place, options, list(in_scene.values()))
            names[other_role][place] = name
        values, objects = names
        return tuple((values[place], objects[place]) for place in range(n))

    def _options(
        self,
        role: int,
        place: int,
        names: list[str],
        in_scene: dict[int, str],
        lone_places: Sequence[int],
    ) -> list[str]:
        """The names of a role that a place may have, beside the names of this role in the scene.

        A lone place needs a category that no other place has, and a value that the other lone place
        does not have.
        """
        used = list(in_scene.values())
        if role == OBJECT:
            names = list(self._without_conflict(names, used))
            # Two categories must be left for the lone places; then repeat one of those in use.
            is_scarce = len(set(used)) + len(lone_places) >= len(names)
            if used and place not in lone_places and is_scarce:
                names = [name for name in names if name in used]
        if place in lone_places:
            taken = used
            if role == VALUE:
                taken = [in_scene[other] for other in lone_places if other in in_scene]
            names = [name for name in names if name not in taken]
        return names

    def _partners(self, role: int, partners: frozenset[str], is_held_out: bool) -> _Partners:
        """For each name of a role, those of its `partners` that are held out with it, or are not.

        Names with fewer than two such partners are left out, since two objects of a scene differ in
        both roles; with none, if the other role has a single name.
        """
        key = (role, partners, is_held_out)
        if key in self._partners_of:
            return self._partners_of[key]
        held_out_with = self._holdout.objects_with if role == VALUE else self._holdout.values_with
        n_names_of_other_role = len(self.names[1 - role])
        least = min(2, n_names_of_other_role)
        partners_of = {}
        for name in self.names[role]:
            if name in self.absent_names:
                continue
            held_out = held_out_with(name)
            suitable = partners & held_out if is_held_out else partners - held_out
            if len(suitable) >= least:
                partners_of[name] = suitable
        self._partners_of[key] = partners_of
        return partners_of

    def _draw_related(
        self, is_held_out: Sequence[bool], least_used: LeastUsed, stream: Stream
    ) -> Arrangement | None:
        """Draw an arrangement whose marked objects form pairs of held-out triples, and whose others
        are in none.

        If bindings are held out too, exactly the bindings of the marked objects are. The values are
        then those that are held out with all marked objects and with none of the others.
        """
        n = len(is_held_out)
        if sum(is_held_out) < 2:
            # A relation takes two objects.
            is_held_out = stream.shuffled([True] * 2 + [False] * (n - 2))

        # Categories, those of the marked objects first.
        marked_places = [place for place, is_marked in enumerate(is_held_out) if is_marked]
        categories = self._draw_categories_in_triples(marked_places, stream)
        for place in range(n):
            if place in categories:
                continue
            in_scene = list(categories.values())
            options = self._without_conflict(self.names[OBJECT], in_scene)
            if not options:
                return None
            categories[place] = least_used.name(OBJECT, place, options, in_scene)

        # Values.
        values = []
        for value in self.names[VALUE]:
            fits = all(
                self._holdout.holds_out(value, categories[place]) == is_marked
                for place, is_marked in enumerate(is_held_out)
            )
            if fits or not self._holdout.bindings:
                values.append(value)
        if not values:
            return None
        chosen_values: list[str] = []
        for place in range(n):
            chosen_values.append(least_used.name(VALUE, place, values, chosen_values))
        return tuple((value, categories[place]) for place, value in enumerate(chosen_values))

    def _draw_categories_in_triples(
        self, marked_places: Sequence[int], stream: Stream
    ) -> dict[int, str]:
        """A category for each marked place, so that each has a partner in a held-out triple."""
        # Sorted, because the order of a set is not fixed.
        category_pairs = sorted({(subject, other) for subject, _, other in self._holdout.triples})
        places = stream.shuffled(marked_places)
        categories: dict[int, str] = {}
        for place, other_place in zip(places[::2], places[1::2], strict=False):
            left, right = sorted((place, other_place))
            categories[left], categories[right] = category_pairs[stream.below(len(category_pairs))]
        # The last of an odd number joins a pair.
        if len(places) % 2:
            in_scene = categories.values()
            partners = [other for subject, other in category_pairs if subject in in_scene]
            categories[places[-1]] = partners[stream.below(len(partners))]
        return categories

    def _without_conflict(
        self, categories: Sequence[str], in_scene: Sequence[str]
    ) -> Sequence[str]:
        """The categories that form no pair of `conflicts` with those already in the scene."""
        if not self.conflicts:
            return categories
        return [
            category
            for category in categories
            if not any((other, category) in self.conflicts for other in in_scene)
        ]

    @cached_property
    def conflicts(self) -> frozenset[tuple[str, str]]:
        """Pairs of categories (left, right) that show a held-out triple in every layout."""
        return frozenset(
            pair for pair, relations in self._relations_of_layouts.items() if all(relations)
        )

    @cached_property
    def pairs(self) -> dict[str, list[Arrangement]]:
        """All arrangements of two objects that differ in both roles, by split. If it depends on the
        layout, an arrangement is under every split that some layout gives it."""
        pairs_of_split: dict[str, list[Arrangement]] = {}
        for arrangement in arrangements(self._vocabulary, self._holdout.kind):
            (_, left), (_, right) = arrangement
            relations_of_layouts = self._relations_of_layouts.get((left, right), [()])
            splits = dict.fromkeys(
                self._rule.place(arrangement, relations).split for relations in relations_of_layouts
            )
            for split in splits:
                if split is not None:
                    pairs_of_split.setdefault(split, []).append(arrangement)
        return pairs_of_split

    @cached_property
    def _relations_of_layouts(self) -> dict[tuple[str, str], list[tuple[Fact, ...]]]:
        """For two categories (left, right) of a held-out triple, the distinct sets of held-out
        relations that random layouts show."""
        # A stream of its own: what layouts show must not depend on what was drawn before.
        stream = Stream("layouts", self._holdout.block_seed)
        category_pairs = set()
        for subject, _, other in self._holdout.triples:
            category_pairs |= {(subject, other), (other, subject)}
        relations_of_layouts = {}
        for left, right in sorted(category_pairs):
            # Triples name no values.
            arrangement = (("", left), ("", right))
            held_out = []
            for _ in range(_SAMPLE_LAYOUTS):
                layout = draw_layout(
                    (left, right), stream, self._vocabulary, self._holdout.planned_frames
                )
                relations = certain_relations(layout, self._vocabulary)
                shown_facts = held_out_facts(arrangement, relations, self._holdout)
                held_out.append(tuple(shown_facts))
            relations_of_layouts[left, right] = list(dict.fromkeys(held_out))
        return relations_of_layouts


def _draw_held_out_places(split: str, n: int, stream: Stream) -> list[bool]:
    """For each of n places, whether its binding is to be held out: at all of them in `unseen`, at
    one or more but not all in `partial`, at none in other splits."""
    # The number for `partial` is drawn in every split, so that plans of a seed stay as they were.
    n_in_partial = 1 + stream.below(n - 1) if n > 1 else 0
    n_held_out = 0
    if split == "unseen":
        n_held_out = n
    elif split == "partial":
        n_held_out = n_in_partial
    return stream.shuffled([True] * n_held_out + [False] * (n - n_held_out))
