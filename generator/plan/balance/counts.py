"""Counts of what choices use, and how uneven they are."""

from array import array
from collections.abc import Collection, Hashable

Option = tuple[int, ...]
"""The cells that an option fills, by number."""


class Counts:
    """How often each cell is filled. The cells of a class should be filled equally often, up to one.

    A cell stands for a name that is counted, such as "red" in the class ("value", "left"). Classes in `loose` are counted, but
    need not be even. Public: `filled`, the count of each cell; `class_of`, the class of each cell; `classes`, the cells of
    each class.
    """

    def __init__(self, loose: Collection[Hashable] = ()) -> None:
        self.filled = array("q")
        self.class_of: list[Hashable] = []
        self.classes: dict[Hashable, list[int]] = {}
        self.loose = frozenset(loose)
        self._cells: dict[tuple[Hashable, Hashable], int] = {}

    def cell(self, among: Hashable, name: Hashable) -> int:
        """The number of the cell of a name in the class `among`; both are added when they are new."""
        number = self._cells.setdefault((among, name), len(self.filled))
        if number == len(self.filled):
            self.filled.append(0)
            self.class_of.append(among)
            self.classes.setdefault(among, []).append(number)
        return number

    def add(self, option: Option, n: int = 1) -> None:
        """Fill the cells of an option, or with n = -1 empty them again."""
        for cell in option:
            self.filled[cell] += n

    def cost(self, option: Option) -> int:
        """Half of what the squares of all counts grow by when the option is added, less a constant."""
        return sum(map(self.filled.__getitem__, option))

    def crowded(self) -> set[int]:
        """The cells that are filled more often than the least filled one of their class by more than one."""
        return {cell for cell, excess in self._excesses() if excess > 0}

    def excess(self) -> int:
        """How far the counts are from even up to one: the sum of what cells exceed the least filled of their class plus one by."""
        return sum(excess for _, excess in self._excesses() if excess > 0)

    def _excesses(self) -> list[tuple[int, int]]:
        """Each cell that should be even, and by how much it exceeds the least filled one of its class plus one."""
        found = []
        for among, cells in self.classes.items():
            if among not in self.loose:
                most = min([self.filled[cell] for cell in cells]) + 1
                found += [(cell, self.filled[cell] - most) for cell in cells]
        return found
