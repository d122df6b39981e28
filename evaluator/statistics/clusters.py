"""Which items share what: clusters of scenes with the same values and objects, and the bindings that scenes show."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SEPARATOR = ";"


@dataclass(frozen=True)
class Clusters:
    """The cluster, the scene and the bindings of n items, as numbers.

    codes (n,): the cluster. scenes (n,): the scene. shown (n,): the row of `weights` of each item. weights (rows,
    bindings) float64: how much each binding counts in a scene; the squares of a scene's weights add up to 1, or to 0
    where no bindings are known.
    """

    codes: np.ndarray
    scenes: np.ndarray
    shown: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls,
        clusters: Sequence[str] | np.ndarray,
        bindings: Sequence[str] | np.ndarray | None = None,
        scenes: Sequence[str] | np.ndarray | None = None,
    ) -> "Clusters":
        """From names (n,) of clusters, of scenes, and of the bindings that each item's scene shows, joined by ";".

        Without scenes each item is a scene of its own; without bindings clusters share nothing.
        """
        n = len(clusters)
        names, shown = np.unique(np.full(n, "") if bindings is None else _strings(bindings), return_inverse=True)
        each = [name.split(SEPARATOR) if name else [] for name in names.tolist()]
        column = {binding: i for i, binding in enumerate(sorted({binding for found in each for binding in found}))}
        weights = np.zeros((len(names), len(column)))
        for row, found in enumerate(each):
            for binding in found:
                weights[row, column[binding]] += 1
        length = np.sqrt(np.square(weights).sum(axis=1, keepdims=True))
        weights = np.divide(weights, length, out=weights, where=length > 0)
        scene = np.arange(n) if scenes is None else _codes(scenes)
        return cls(_codes(clusters), scene, shown.reshape(-1), weights)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: np.ndarray) -> "Clusters":
        """Of some of the items, by row numbers or by a mask (n,)."""
        return Clusters(self.codes[rows], self.scenes[rows], self.shown[rows], self.weights)


def _strings(values: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=object).astype(str)


def _codes(names: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.unique(_strings(names), return_inverse=True)[1].reshape(-1)
