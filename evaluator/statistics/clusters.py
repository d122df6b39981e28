"""The dependence of items: clusters of scenes with the same values and objects, and the bindings that scenes show; and
cluster-robust least squares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SEPARATOR, OF = ";", ":"
"""Separators of a scene's bindings, and of the value and object of a binding: `red:cube;blue:ball`."""
ENOUGH = 6
"""The least number of values, or objects, whose effects are random: drawn from others like them. Effects of fewer are
fixed ("held")."""
FACTORS = ("values", "objects")
ALL_LIKE_THESE = "other combinations, values and objects like these"
NOT_OF_BINDINGS = "groups like these; the bindings are not known"


@dataclass(frozen=True)
class Clusters:
    """The cluster, the scene and the bindings of n items, as integer codes.

    codes (n,): the cluster. scenes (n,): the scene. shown (n,): the row of `weights` of each item. weights (rows,
    bindings) float64: how much each binding counts in a scene; the squares of a scene's weights add up to 1, or to 0 if
    no bindings are known. factors (bindings, 2): the value and the object of each binding, as codes; all −1 unless
    every name is `value:object`.
    """

    codes: np.ndarray
    scenes: np.ndarray
    shown: np.ndarray
    weights: np.ndarray
    factors: np.ndarray

    @classmethod
    def of(
        cls,
        clusters: Sequence[str] | np.ndarray,
        bindings: Sequence[str] | np.ndarray | None = None,
        scenes: Sequence[str] | np.ndarray | None = None,
    ) -> "Clusters":
        """From names (n,) of clusters, of scenes, and of the bindings that each item's scene shows, joined by ";".

        If all bindings are named `value:object`, values and objects have effects too. By default each item is a
        separate scene, and clusters share no bindings.
        """
        n = len(clusters)
        names, shown = np.unique(np.full(n, "") if bindings is None else _strings(bindings), return_inverse=True)
        each = [name.split(SEPARATOR) if name else [] for name in names.tolist()]
        known = sorted({binding for found in each for binding in found})
        column = {binding: i for i, binding in enumerate(known)}
        weights = np.zeros((len(names), len(column)))
        for row, found in enumerate(each):
            for binding in found:
                weights[row, column[binding]] += 1
        length = np.sqrt(np.square(weights).sum(axis=1, keepdims=True))
        weights = np.divide(weights, length, out=weights, where=length > 0)
        scene = np.arange(n) if scenes is None else _codes(scenes)
        return cls(_codes(clusters), scene, shown.reshape(-1), weights, _factors(known))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: np.ndarray) -> "Clusters":
        """The same for a subset of the items, by row numbers or by a mask (n,)."""
        return Clusters(self.codes[rows], self.scenes[rows], self.shown[rows], self.weights, self.factors)

    def images(self) -> "Clusters":
        """The same items with each scene as a cluster and without bindings: for new images of the same scenes."""
        return Clusters(self.scenes, self.scenes, self.shown, self.weights[:, :0], self.factors[:0])

    def levels(self) -> dict[str, int]:
        """The number of different values, and of objects, in these items; 0 if names are not `value:object`."""
        return {name: of_factor.shape[1] for name, of_factor in zip(FACTORS, self._factors(), strict=True)}

    def main_effects(self, enough: int = ENOUGH) -> tuple[np.ndarray, np.ndarray]:
        """How much each value and each object counts in a scene: random effects (rows, k), then held effects (rows, m).
        The effects of a factor are random if it has at least `enough` levels in these items."""
        drawn, held = [np.zeros((len(self.weights), 0))], [np.zeros((len(self.weights), 0))]
        for of_factor in self._factors():
            (drawn if of_factor.shape[1] >= enough else held).append(of_factor)
        return np.column_stack(drawn), np.column_stack(held)

    def speaks_of(self) -> str:
        """The population that an interval of these items is about, in words."""
        unnamed = int((~self.weights.any(axis=1))[self.shown].sum())
        if unnamed == len(self):
            return NOT_OF_BINDINGS
        levels = self.levels()
        held = [f"{n} {name}" for name, n in levels.items() if n < ENOUGH]
        said = f"other combinations of these {' and '.join(held)} only" if held else ALL_LIKE_THESE
        if not all(levels.values()):
            said = "other combinations of the same values and objects only"
        return f"{said}; {unnamed:,} of {len(self):,} items name none" if unnamed else said

    def _factors(self) -> list[np.ndarray]:
        """How much each value, and each object, counts in a scene (rows, levels)."""
        used = self.weights[np.unique(self.shown)].any(axis=0)
        return [self.weights @ (codes[:, None] == np.unique(codes[used & (codes >= 0)])) for codes in self.factors.T]


def _factors(bindings: Sequence[str]) -> np.ndarray:
    """The value and the object (bindings, 2) of each name, as codes; all −1 if any name is not `value:object`."""
    parts = [name.partition(OF) for name in bindings]
    if not parts or not all(separator for _, separator, _ in parts):
        return np.full((len(parts), len(FACTORS)), -1)
    return np.stack([_codes([part[i] for part in parts]) for i in (0, 2)], axis=1)


def _strings(values: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=object).astype(str)


def _codes(names: Sequence[str] | np.ndarray) -> np.ndarray:
    return np.unique(_strings(names), return_inverse=True)[1].reshape(-1)


def clustered_least_squares(y: np.ndarray, x: np.ndarray, clusters: np.ndarray) -> Any:
    """Ordinary least squares of y (n,) on x (n, k), whose columns include the constant, with cluster-robust errors.

    Returns statsmodels' RegressionResults. The covariance is the sandwich of Liang and Zeger (1986) times
    G/(G−1) · (n−1)/(n−k) for G clusters (CR1); t has G − 1 degrees of freedom. Raises ValueError with the reason if the
    data determine no fit.
    """
    names, codes = np.unique(clusters, return_inverse=True)
    if min(len(names), len(y)) <= x.shape[1]:  # with fewer clusters than coefficients errors can be 0
        raise ValueError("too few items")
    if np.ptp(y) == 0:
        raise ValueError("all outcomes are equal")
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise ValueError("the counts depend on one another linearly")
    from statsmodels.regression.linear_model import OLS

    fit = OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    if fit.ssr <= 1e-16 * np.square(y).sum():
        raise ValueError("the counts explain the outcomes exactly")
    return fit
