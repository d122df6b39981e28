"""Counts how often scenes show each value and each object, and picks the least-used ones."""

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from math import lcm
from typing import TypeVar

import numpy as np

from generator.base.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import Arrangement, cluster_of
from generator.plan.balance import CellCounts, Cells

T = TypeVar("T")
VALUE, OBJECT = 0, 1
"""The two roles of names in a binding, which is a pair (value, object)."""
PlaceAndRole = tuple[int, int]
"""Which name of an arrangement: its place from left to right, and VALUE or OBJECT."""

# What is counted.
PLACE_COUNTS = "place"
"""Each name at each place from left to right."""
OVERALL_COUNTS = "all"
"""Each name at all places together."""
CLUSTER_COUNTS = "cluster"
"""Each cluster of two objects."""


class NameCounts(CellCounts):
    """Counts of each value and object, at each place and overall, and of each cluster of two
    objects."""

    def __init__(self, class_of_name: tuple[Mapping[str, Hashable], Mapping[str, Hashable]]):
        """
        Args:
            class_of_name: for each role (values, objects), the class of each name. Names of a class
                should be equally frequent.
        """
        super().__init__()
        self.n_clusters = 0
        """The number of clusters of two objects; 0 before `register_pairs`."""
        self._class_of_name = class_of_name
        # Filled by `name_cells` and `register_pairs`.
        self._name_cells: dict[tuple[int, int], dict[str, Cells]] = {}
        self._cells_of_pair: dict[Arrangement, Cells] = {}

    def register_pairs(self, pairs: Sequence[Arrangement]) -> None:
        """Add all arrangements of two objects that may occur, and the cells that they fill.

        `cheapest_pair` compares all of them at once, so their cells become an array.
        """
        self._pairs = pairs
        clusters = [cluster_of(pair) for pair in pairs]
        # First the cells of all names, then those of all clusters: the numbers of cells follow
        # this order, and with it the order of ties.
        cells_of_names = [self.cells_of(pair) for pair in pairs]
        pair_cells = []
        for cells, cluster in zip(cells_of_names, clusters, strict=True):
            cluster_cell = self.cell((CLUSTER_COUNTS,), cluster)
            pair_cells.append((*cells, cluster_cell))
        self._cells_of_pair = dict(zip(pairs, pair_cells, strict=True))
        self._pair_cells = np.array(pair_cells)
        self.n_clusters = len(set(clusters))

        # Classes have different sizes, so their means are fractions. All counts times the least
        # common multiple of the sizes are whole numbers, and so ties are exact.
        classes = self.classes()
        sizes = [len(cells) for cells in classes]
        self._scale = lcm(*sizes)
        self._scale_of_mean = np.array([self._scale // size for size in sizes])
        # The number of the class of each cell so far. Scenes of more objects may add cells later;
        # no pair fills those.
        self._class_number_of_cell = np.zeros(sum(sizes), dtype=np.int64)
        for class_number, class_cells in enumerate(classes):
            self._class_number_of_cell[class_cells] = class_number

    def set_loose(self, loose: tuple[str, ...]) -> None:
        """Set which counts need not be even: PLACE_COUNTS, CLUSTER_COUNTS, or both."""
        self.loose = loose
        # The order of the cells of a pair: place and overall count of each of four names, cluster.
        counted = (*(PLACE_COUNTS, OVERALL_COUNTS) * 4, CLUSTER_COUNTS)
        is_counted = [counts not in loose for counts in counted]
        self._cell_weights = np.array(is_counted, dtype=np.int64)

    def cheapest_pair(self, old: Arrangement, stream: Stream) -> Arrangement:
        """The best arrangement of two objects to replace `old`, random among ties.

        The cost of an arrangement is the sum over its cells of count - mean count of the class,
        without `old` and without loose classes.
        """
        class_of_cell = self._class_number_of_cell
        old_cells = self.cells_of(old)
        self.add(old_cells, -1)
        counts = np.array(self.filled[: len(class_of_cell)])
        self.add(old_cells)

        # The cost of each cell, in whole numbers (`register_pairs`).
        class_totals = np.bincount(class_of_cell, weights=counts).astype(np.int64)
        scaled_means = class_totals * self._scale_of_mean
        cell_costs = counts * self._scale - scaled_means[class_of_cell]

        # The cost of each arrangement.
        costs = cell_costs[self._pair_cells] @ self._cell_weights
        (cheapest,) = np.nonzero(costs == costs.min())
        chosen = cheapest[stream.below(len(cheapest))]
        return self._pairs[chosen]

    def name_cells(self, role: int, place: int) -> dict[str, Cells]:
        """For each name of a role, its cell at this place and its cell for all places."""
        if (role, place) not in self._name_cells:
            cells: dict[str, Cells] = {}
            for name, name_class in self._class_of_name[role].items():
                place_class = (PLACE_COUNTS, role, place, name_class)
                overall_class = (OVERALL_COUNTS, role, name_class)
                cells[name] = (self.cell(place_class, name), self.cell(overall_class, name))
            self._name_cells[role, place] = cells
        return self._name_cells[role, place]

    def cells_of(self, arrangement: Arrangement) -> Cells:
        """The cells that an arrangement fills."""
        if arrangement in self._cells_of_pair:
            return self._cells_of_pair[arrangement]
        cells: list[int] = []
        for place, binding in enumerate(arrangement):
            for role, name in enumerate(binding):
                cells += self.name_cells(role, place)[name]
        return tuple(cells)

    def uses(self, role: int, place: int, in_scene: Sequence[str]) -> dict[str, int]:
        """Count how often each name of a role is used: at a place, plus at all places.

        The sum serves both balances at once: a name that is rare overall but frequent at this
        place ranks as one that is average in both.

        Args:
            role: VALUE or OBJECT.
            place: the place from left to right.
            in_scene: names that the scene has already, which are not counted yet.

        Returns:
            The uses by name.
        """
        counts = self.filled
        uses = {}
        for name, (at_place, overall) in self.name_cells(role, place).items():
            uses[name] = counts[at_place] + counts[overall]
        for name in in_scene:
            uses[name] += 1
        return uses

    def crowded_names(self, arrangement: Arrangement, crowded: Set[int]) -> list[PlaceAndRole]:
        """The names of an arrangement that fill a cell of `crowded` that is still crowded."""
        names: list[PlaceAndRole] = []
        for place, binding in enumerate(arrangement):
            for role, name in enumerate(binding):
                cells = self.name_cells(role, place)[name]
                # Moves of the same sweep may have emptied the cell since `crowded` was computed.
                if any(cell in crowded and self.is_crowded(cell) for cell in cells):
                    names.append((place, role))
        return names

    def changes(self, old: Arrangement, place: int, role: int) -> Iterator[tuple[int, Arrangement]]:
        """Yield every way to change a name of an arrangement, with its cost (`growth`).

        First come replacements by another name of the same class, which change the overall counts.
        Then come exchanges with the name at another place. These change only the counts at two
        places, and they usually stay in the split where no replacement does.

        Args:
            old: the arrangement.
            place: the place of the name.
            role: VALUE or OBJECT; with the place, it says which name.
        """
        name = old[place][role]
        cells_here = self.name_cells(role, place)
        class_of_name = self._class_of_name[role]
        for new_name, new_cells in cells_here.items():
            if new_name != name and class_of_name[new_name] == class_of_name[name]:
                cost = self.growth(cells_here[name], new_cells)
                yield cost, with_name(old, place, role, new_name)
        for other_place, binding in enumerate(old):
            other_name = binding[role]
            if other_name == name:
                continue
            # An exchange leaves the overall counts as they are, so only those at places cost.
            cells_there = self.name_cells(role, other_place)
            here, _ = cells_here[name]
            here_after, _ = cells_here[other_name]
            there, _ = cells_there[other_name]
            there_after, _ = cells_there[name]
            cost = self.growth((here, there), (here_after, there_after))
            exchanged = with_name(old, place, role, other_name)
            exchanged = with_name(exchanged, other_place, role, name)
            yield cost, exchanged


class LeastUsed:
    """Picks a random name or binding among the least used."""

    def __init__(self, counts: NameCounts, stream: Stream, n_levels: int = 1):
        """
        Args:
            counts: how often names are used.
            stream: decides among equally good ones.
            n_levels: how many of the lowest counts are good enough. More than 1 gives up some
                evenness for variety, after draws with 1 have failed.
        """
        self._counts = counts
        self._stream = stream
        self._n_levels = n_levels

    def name(self, role: int, place: int, options: Sequence[str], in_scene: Sequence[str]) -> str:
        """Pick a name.

        Args:
            role: VALUE or OBJECT.
            place: the place that it is for.
            options: the names to choose from.
            in_scene: the names of this role that the scene has already.
        """
        uses = self._counts.uses(role, place, in_scene)
        return self._pick(options, [uses[name] for name in options])

    def binding(
        self, place: int, options: Sequence[Binding], in_scene: Sequence[Binding]
    ) -> Binding:
        """Pick a binding.

        Args:
            place: the place that it is for.
            options: the bindings to choose from.
            in_scene: the bindings that the scene has already.
        """
        value_uses = self._counts.uses(VALUE, place, [binding[VALUE] for binding in in_scene])
        object_uses = self._counts.uses(OBJECT, place, [binding[OBJECT] for binding in in_scene])
        uses = [value_uses[value] + object_uses[category] for value, category in options]
        return self._pick(options, uses)

    def _pick(self, options: Sequence[T], uses: Sequence[int]) -> T:
        """One of the options, by how often each is used."""
        most = min(uses)
        # Most draws take the first level, for which nothing has to be sorted.
        if self._n_levels > 1:
            lowest_levels = sorted(set(uses))[: self._n_levels]
            most = lowest_levels[-1]
        good = []
        for option, n_uses in zip(options, uses, strict=True):
            if n_uses <= most:
                good.append(option)
        return good[self._stream.below(len(good))]


def with_name(arrangement: Arrangement, place: int, role: int, name: str) -> Arrangement:
    """The arrangement with another value or object at a place.

    >>> with_name((("red", "cube"), ("blue", "cone")), 1, VALUE, "green")
    (('red', 'cube'), ('green', 'cone'))
    """
    value, category = arrangement[place]
    binding = (name, category) if role == VALUE else (value, name)
    return (*arrangement[:place], binding, *arrangement[place + 1 :])
