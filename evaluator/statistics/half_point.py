"""The half point of a ladder: the magnitude at which accuracy is half between 100% and chance.

1. Accuracy by step is made monotone: the non-increasing curve with the least squared distance,
   weighted by items (isotonic regression; Barlow et al. 1972, the min-max formula). No shape of the
   psychometric function is assumed, and no lapse rate.
2. Between the two steps around half, the curve is a straight line over the scale of the factor:
   the logarithm for factors that are halved from step to step, else the magnitude itself.
3. The interval is a percentile bootstrap over ladders. All steps of a ladder show one scene, so
   they are drawn together.
"""

from dataclasses import dataclass

import numpy as np

_DRAWS = 2000
"""Draws of the bootstrap over ladders."""
_SEED = 0
"""The same items always give the same interval."""


@dataclass(frozen=True)
class HalfPoint:
    """Where a curve crosses half, as a place on the scale; -inf before the first step, inf after
    the last one."""

    value: float
    """The crossing of the curve."""
    low: float
    """Lower end of its interval; nan for fewer than two ladders."""
    high: float
    """Upper end of it."""


def half_point(
    right: np.ndarray, total: np.ndarray, places: np.ndarray, *, half: float, level: float
) -> HalfPoint:
    """Estimate where accuracy falls to half.

    Args:
        right: float (ladders, steps): the right items of each ladder at each step, from the easiest
            step to the hardest.
        total: float (ladders, steps): its items; every step has some.
        places: float (steps,): the place of each step on the scale of the factor, increasing.
        half: The accuracy in the middle between 100% and chance, 0..1.
        level: Level of the interval, 0..1.

    Returns:
        The half point and its interval.

    Example:
        >>> right, total = np.array([[2.0, 2.0, 1.0]]), np.full((1, 3), 2.0)
        >>> half_point(right, total, np.arange(3.0), half=0.75, level=0.95).value
        1.5
    """
    right_of_all = right.sum(axis=0)[None]
    total_of_all = total.sum(axis=0)[None]
    value = crossings(right_of_all, total_of_all, places=places, half=half)[0]
    n = len(right)
    # A resample of one ladder is that ladder, so its interval would be a point.
    if n < 2:
        return HalfPoint(float(value), np.nan, np.nan)

    # How often each draw has each ladder; so all curves are one product of matrices.
    rng = np.random.default_rng(_SEED)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=_DRAWS).astype(float)
    resampled = crossings(weights @ right, weights @ total, places=places, half=half)
    tail = (1 - level) / 2
    # Without interpolation, since the ends may be infinite.
    low, high = np.quantile(resampled, [tail, 1 - tail], method="inverted_cdf")
    return HalfPoint(float(value), float(low), float(high))


def crossings(
    right: np.ndarray, total: np.ndarray, *, places: np.ndarray, half: float
) -> np.ndarray:
    """Find where monotone curves cross half.

    Args:
        right: float (curves, steps): the right items at each step.
        total: float (curves, steps): the items at each step; a step without items is left to its
            neighbours.
        places: float (steps,): increasing.
        half: As of `half_point`.

    Returns:
        float (curves,): the places; -inf for curves that begin below half, inf for curves that
        never fall below it.
    """
    curves = non_increasing(right, total)
    n_curves, n_steps = curves.shape
    is_below = curves < half
    crosses = is_below.any(axis=1)

    # The last step at or above half, and the first step below it.
    after = np.where(crosses, is_below.argmax(axis=1), n_steps - 1)
    before = np.maximum(after - 1, 0)
    rows = np.arange(n_curves)
    value_before = curves[rows, before]
    value_after = curves[rows, after]

    # A straight line between the two.
    drop = value_before - value_after
    share = np.divide(value_before - half, drop, out=np.zeros(n_curves), where=drop > 0)
    places_at_half = places[before] + share * (places[after] - places[before])

    begins_below = is_below[:, 0]
    places_at_half = np.where(begins_below, -np.inf, places_at_half)
    return np.where(crosses, places_at_half, np.inf)


def non_increasing(right: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Fit non-increasing curves to shares, by weighted least squares.

    Step k of the fit is the least, over all first steps up to k, of the greatest, over all last
    steps from k, share of these steps together.

    Args:
        right: float (curves, steps): the right items.
        total: float (curves, steps): all items, the weights.

    Returns:
        float (curves, steps): the shares of the fit.

    Example:
        >>> non_increasing(np.array([[4.0, 1.0, 3.0]]), np.full((1, 3), 4.0)).tolist()
        [[1.0, 0.5, 0.5]]
    """
    steps = right.shape[1]
    right_before = np.pad(np.cumsum(right, axis=1), ((0, 0), (1, 0)))
    total_before = np.pad(np.cumsum(total, axis=1), ((0, 0), (1, 0)))
    fitted = np.full(right.shape, np.inf)
    for first in range(steps):
        # The items of all steps from `first` to each later one.
        n_right = right_before[:, first + 1 :] - right_before[:, [first]]
        n_total = total_before[:, first + 1 :] - total_before[:, [first]]
        # Steps without items must not be the greatest.
        no_share = np.full(n_right.shape, -np.inf)
        shares = np.divide(n_right, n_total, out=no_share, where=n_total > 0)
        # greatest[:, k]: over all last steps from first + k on.
        greatest = np.maximum.accumulate(shares[:, ::-1], axis=1)[:, ::-1]
        fitted[:, first:] = np.minimum(fitted[:, first:], greatest)
    return fitted
