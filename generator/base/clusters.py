"""What items share: the cluster, the scene, the training, and the values, objects and bindings that
a scene shows.

A cluster is a group of scenes with the same values and objects. Outcomes that share any of these
are not independent, so intervals are made from this record (crossed.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

SEPARATOR, OF = ";", ":"
"""Separators of a scene's bindings, and of the value and object of a binding:
`red:cube;blue:ball`."""
FACTORS = ("values", "objects")


def vocabulary_of(shown: Iterable[str]) -> tuple[int, int]:
    """The number of values, and of objects, that scenes name.

    >>> vocabulary_of(["red:cube;blue:cube", "red:ball"])
    (2, 2)
    """
    names = {binding for scene in set(shown) for binding in scene.split(SEPARATOR) if OF in binding}
    pairs = [name.partition(OF) for name in names]
    return len({value for value, _, _ in pairs}), len({category for _, _, category in pairs})


@dataclass(frozen=True)
class Clusters:
    """The cluster, the scene, the training and the bindings of n items, as integer codes."""

    codes: np.ndarray
    """(n,) the cluster."""
    scenes: np.ndarray
    """(n,) the scene. A scene that was asked in several trainings has one code."""
    trainings: np.ndarray
    """(n,) the training whose model answered; all 0 for one run, and for a model that was not
    trained here."""
    shown: np.ndarray
    """(n,) the row of `weights` of each item."""
    weights: np.ndarray
    """(rows, bindings) float64: how much each binding counts in a scene. The squares of a scene's
    weights add up to 1, or to 0 if no bindings are known."""
    factors: np.ndarray
    """(bindings, 2): the value and the object of each binding, as codes; all -1 unless every name
    is `value:object`."""
    vocabulary: tuple[int, int]
    """How many values and how many objects the vocabulary has: that is what "this vocabulary"
    speaks of."""

    @classmethod
    def of(
        cls,
        clusters: Sequence[str] | np.ndarray,
        bindings: Sequence[str] | np.ndarray | None = None,
        scenes: Sequence[str] | np.ndarray | None = None,
        trainings: Sequence[str] | np.ndarray | None = None,
        vocabulary: tuple[int, int] | None = None,
    ) -> "Clusters":
        """Codes from names.

        Args:
            clusters: (n,) the cluster of each item.
            bindings: (n,) the bindings that each item's scene shows, joined by ";". None: clusters
                share no bindings. If all are named `value:object`, values and objects have effects
                too.
            scenes: (n,) None: each item is a scene of its own.
            trainings: (n,) None: one training.
            vocabulary: the number of values and of objects; None: those that the items name.
        """
        n = len(clusters)
        names, shown = np.unique(
            np.full(n, "") if bindings is None else _strings(bindings), return_inverse=True
        )
        of_scene = [name.split(SEPARATOR) if name else [] for name in names.tolist()]
        known = sorted({binding for in_scene in of_scene for binding in in_scene})
        column = {binding: i for i, binding in enumerate(known)}
        weights = np.zeros((len(names), len(column)))
        for row, in_scene in enumerate(of_scene):
            for binding in in_scene:
                weights[row, column[binding]] += 1
        length = np.sqrt(np.square(weights).sum(axis=1, keepdims=True))
        weights = np.divide(weights, length, out=weights, where=length > 0)
        factors = _factors(known)
        named = tuple(len(set(codes.tolist()) - {-1}) for codes in factors.T)
        sizes = tuple(max(pair) for pair in zip(named, vocabulary or (0, 0), strict=True))
        return cls(
            _codes(clusters),
            np.arange(n) if scenes is None else _codes(scenes),
            np.zeros(n, dtype=int) if trainings is None else _codes(trainings),
            shown.reshape(-1),
            weights,
            factors,
            (sizes[0], sizes[1]),
        )

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: np.ndarray) -> "Clusters":
        """The same for a subset of the items, by row numbers or by a mask (n,). The vocabulary
        stays."""
        return replace(
            self,
            codes=self.codes[rows],
            scenes=self.scenes[rows],
            trainings=self.trainings[rows],
            shown=self.shown[rows],
        )

    def images(self) -> "Clusters":
        """The same items with each scene as a cluster and without bindings: for new images of the
        same scenes."""
        return replace(
            self, codes=self.scenes, weights=self.weights[:, :0], factors=self.factors[:0]
        )

    def levels(self) -> dict[str, int]:
        """The number of different values, and of objects, in these items; 0 if names are not
        `value:object`."""
        return {
            name: of_factor.shape[1]
            for name, of_factor in zip(FACTORS, self.main_effects(), strict=True)
        }

    @property
    def bindings_named(self) -> int:
        """How many of the items name a binding."""
        return int(self.weights.any(axis=1)[self.shown].sum())

    def main_effects(self) -> tuple[np.ndarray, np.ndarray]:
        """How much each value (rows, values), and each object (rows, objects), counts in a
        scene."""
        used = self.weights[np.unique(self.shown)].any(axis=0)
        values, objects = (
            self.weights @ (codes[:, None] == np.unique(codes[used & (codes >= 0)]))
            for codes in self.factors.T
        )
        return values, objects


def _factors(bindings: Sequence[str]) -> np.ndarray:
    """The value and the object (bindings, 2) of each name, as codes; all -1 if any name is not
    `value:object`."""
    parts = [name.partition(OF) for name in bindings]
    if not parts or not all(separator for _, separator, _ in parts):
        return np.full((len(parts), len(FACTORS)), -1)
    return np.stack([_codes([part[i] for part in parts]) for i in (0, 2)], axis=1)


def _strings(values: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=object).astype(str)


def _codes(names: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.unique(_strings(names), return_inverse=True)[1].reshape(-1)
