"""One value from several runs: blocks of held-out combinations, and runs of each block, told apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

FEWEST_BLOCKS = 3
"""From so many blocks on their own spread counts for the interval: that of two says next to nothing."""


@dataclass(frozen=True)
class Spread:
    """The standard deviation (sample), the least and the greatest of several values; nan for one alone."""

    sd: float
    least: float
    greatest: float


@dataclass(frozen=True)
class Pooled:
    """A mean of runs with its interval, nan where there is none.

    over_blocks: the spread of the blocks' means. over_runs: that of runs within blocks, each around the mean of all; its
    standard deviation is pooled over the blocks.
    """

    value: float
    low: float
    high: float
    blocks: int
    runs: int
    over_blocks: Spread
    over_runs: Spread


def pool(
    values: Sequence[float], lows: Sequence[float], highs: Sequence[float], blocks: Sequence[str], level: float
) -> Pooled:
    """Pool the values (r,) of r runs with their intervals, which speak of bindings like these, nan where there is none.

    blocks (r,): the block of each run. Every block counts alike, and every run of a block.

    The runs of a block share its bindings, so their intervals are averaged; blocks are independent, so the distances of the
    ends add up in squares (Zou and Donner 2008, MOVER). The spread of runs within blocks adds to them by Student's t. From three
    blocks on, the interval is never narrower than Student's t over the blocks' means.
    """
    value, low, high = (np.asarray(each, dtype=float) for each in (values, lows, highs))
    code = np.unique(np.asarray(blocks, dtype=str), return_inverse=True)[1].reshape(-1)
    size = np.bincount(code)
    b, r = len(size), len(value)
    means = np.bincount(code, weights=value) / size
    mean = float(means.mean())
    residual = value - means[code]
    sd_runs = float(np.sqrt(np.square(residual).sum() / (r - b))) if r > b else np.nan
    of_runs = stats.t.ppf((1 + level) / 2, r - b) * sd_runs * np.sqrt((1 / size).sum()) / b if r > b else 0.0
    sd_blocks = float(means.std(ddof=1)) if b > 1 else np.nan
    of_blocks = stats.t.ppf((1 + level) / 2, b - 1) * sd_blocks / np.sqrt(b) if b >= FEWEST_BLOCKS else np.nan
    reach = []
    for end in (value - low, high - value):
        of_bindings = np.sqrt(np.square(np.bincount(code, weights=end) / size).sum()) / b
        reach.append(float(np.fmax(np.hypot(of_bindings, of_runs), of_blocks)))
    around = mean + residual
    return Pooled(
        mean, mean - reach[0], mean + reach[1], b, r,
        Spread(sd_blocks, float(means.min()), float(means.max())) if b > 1 else _ALONE,
        Spread(sd_runs, float(around.min()), float(around.max())) if r > b else _ALONE,
    )  # fmt: skip


_ALONE = Spread(np.nan, np.nan, np.nan)
