"""What items share: the cluster, the scene, the training, and the values, objects and bindings that
a scene shows.

A cluster is a group of scenes with the same values and objects. Outcomes that share any of these
are not independent, so intervals are made from this record (crossed.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

SEPARATOR = ";"
"""Separates the bindings of a scene: `red:cube;blue:ball`."""
OF = ":"
"""Separates the value and the object of a binding."""
FACTORS = ("values", "objects")
"""What bindings join, in the order of their names."""


def vocabulary_size(bindings_of_scenes: Iterable[str]) -> tuple[int, int]:
    """Count the values and the objects that scenes name.

    Args:
        bindings_of_scenes: The bindings of each scene, joined by ";".

    Returns:
        The number of values, and of objects.

    Example:
        >>> vocabulary_size(["red:cube;blue:cube", "red:ball"])
        (2, 2)
    """
    values: set[str] = set()
    categories: set[str] = set()
    for bindings in set(bindings_of_scenes):
        for binding in bindings.split(SEPARATOR):
            value, separator, category = binding.partition(OF)
            if separator:
                values.add(value)
                categories.add(category)
    return len(values), len(categories)


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
    weight_rows: np.ndarray
    """(n,) the row of `weights` of each item."""
    weights: np.ndarray
    """(rows, bindings) float64: how much each binding counts in a scene. The squares of a scene's
    weights add up to 1, or to 0 if no bindings are known."""
    factors: np.ndarray
    """(bindings, 2): the value and the object of each binding, as codes; all -1 unless every name
    is `value:object`."""
    vocabulary: tuple[int, int]
    """How many values and how many objects the vocabulary has: the meaning of "this vocabulary"."""

    @classmethod
    def from_names(
        cls,
        clusters: Sequence[str] | np.ndarray,
        bindings: Sequence[str] | np.ndarray | None = None,
        scenes: Sequence[str] | np.ndarray | None = None,
        trainings: Sequence[str] | np.ndarray | None = None,
        vocabulary: tuple[int, int] | None = None,
    ) -> "Clusters":
        """Make the record from names.

        Args:
            clusters: (n,) the cluster of each item.
            bindings: (n,) the bindings that each item's scene shows, joined by ";". None: clusters
                share no bindings. If all are named `value:object`, values and objects have effects
                too.
            scenes: (n,) the scene of each item. None: each item is a scene of its own.
            trainings: (n,) the training of each item's model. None: one training.
            vocabulary: The number of values and of objects; None: those that the items name.

        Returns:
            The codes of the items.

        Example:
            >>> bindings = ["red:cube;blue:ball", "", "red:cube"]
            >>> Clusters.from_names(["a", "a", "b"], bindings).vocabulary
            (2, 2)
        """
        n = len(clusters)
        # Weights are kept once for scenes with the same bindings, which most items share.
        names = np.full(n, "") if bindings is None else _strings(bindings)
        distinct_names, weight_rows = np.unique(names, return_inverse=True)
        weights, known_bindings = _binding_weights(distinct_names.tolist())
        factors = _factors(known_bindings)
        n_values, n_objects = (_count_codes(codes) for codes in factors.T)
        least_values, least_objects = vocabulary or (0, 0)
        return cls(
            codes=_codes(clusters),
            scenes=np.arange(n) if scenes is None else _codes(scenes),
            trainings=np.zeros(n, dtype=int) if trainings is None else _codes(trainings),
            weight_rows=weight_rows.reshape(-1),
            weights=weights,
            factors=factors,
            vocabulary=(max(n_values, least_values), max(n_objects, least_objects)),
        )

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: np.ndarray) -> "Clusters":
        """Select some of the items.

        Args:
            rows: Row numbers, or a mask (n,).

        Returns:
            The same record for these items. The vocabulary stays.
        """
        return replace(
            self,
            codes=self.codes[rows],
            scenes=self.scenes[rows],
            trainings=self.trainings[rows],
            weight_rows=self.weight_rows[rows],
        )

    def images(self) -> "Clusters":
        """Take each scene as a cluster, without bindings: for new images of the same scenes.

        Returns:
            A record of the same items.
        """
        return replace(
            self, codes=self.scenes, weights=self.weights[:, :0], factors=self.factors[:0]
        )

    def levels(self) -> dict[str, int]:
        """Count the values and the objects in these items.

        Returns:
            The numbers by name of FACTORS; 0 if names are not `value:object`.
        """
        values, objects = self.main_effects()
        return {"values": values.shape[1], "objects": objects.shape[1]}

    @property
    def bindings_named(self) -> int:
        """How many of the items name a binding."""
        return int(self.weights.any(axis=1)[self.weight_rows].sum())

    def main_effects(self) -> tuple[np.ndarray, np.ndarray]:
        """Compute how much each value and each object counts in a scene.

        Returns:
            For each row of `weights`, the values (rows, values) and the objects (rows, objects)
            that these items show.
        """
        is_used = self.weights[np.unique(self.weight_rows)].any(axis=0)
        effects = []
        for codes in self.factors.T:
            levels = np.unique(codes[is_used & (codes >= 0)])
            effects.append(self.weights @ (codes[:, None] == levels))
        values, objects = effects
        return values, objects


def _binding_weights(scenes: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """How much each binding counts in each scene (scenes, bindings), and the names of the bindings,
    sorted. A row has length 1, so that scenes with more objects do not vary more."""
    bindings_of_scene = [scene.split(SEPARATOR) if scene else [] for scene in scenes]
    known = sorted({binding for bindings in bindings_of_scene for binding in bindings})
    column = {binding: i for i, binding in enumerate(known)}
    weights = np.zeros((len(scenes), len(column)))
    for row, bindings in enumerate(bindings_of_scene):
        for binding in bindings:
            weights[row, column[binding]] += 1
    # A scene without bindings keeps its row of zeros.
    length = np.sqrt(np.square(weights).sum(axis=1, keepdims=True))
    return np.divide(weights, length, out=weights, where=length > 0), known


def _factors(bindings: Sequence[str]) -> np.ndarray:
    """The value and the object (bindings, 2) of each name, as codes; all -1 if any name is not
    `value:object`."""
    parts = [name.partition(OF) for name in bindings]
    if not parts or not all(separator for _, separator, _ in parts):
        return np.full((len(parts), len(FACTORS)), -1)
    values = _codes([value for value, _, _ in parts])
    objects = _codes([category for _, _, category in parts])
    return np.stack([values, objects], axis=1)


def _count_codes(codes: np.ndarray) -> int:
    """The number of distinct codes; -1 stands for no name."""
    return len(set(codes.tolist()) - {-1})


def _strings(values: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=object).astype(str)


def _codes(names: Sequence[str] | np.ndarray) -> np.ndarray:
    """The place of each name among the distinct names, in alphabetical order."""
    _, codes = np.unique(_strings(names), return_inverse=True)
    return codes.reshape(-1)
