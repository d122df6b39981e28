"""Names of which some are the same, as the distinct ones and a place among them for each."""

from collections.abc import Sequence

import numpy as np


class Distinct:
    """The distinct ones of n names, in the order in which they come first.

    names: the m distinct ones. first: where each comes first, int64 (m,). place: of each of the n names among them, int64 (n,).
    """

    def __init__(self, names: Sequence[str]):
        place: dict[str, int] = {}
        self.place = np.array([place.setdefault(name, len(place)) for name in names], np.int64)
        self.first = np.unique(self.place, return_index=True)[1]
        self.names = list(place)

    def __len__(self) -> int:
        return len(self.names)

    def of(self, rows: np.ndarray) -> list[str]:
        """The names of some of the distinct ones."""
        return [self.names[row] for row in rows]
