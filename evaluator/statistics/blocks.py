"""A mean over blocks from one value for each run: Student's t over blocks.

For numbers that are no mean over items (coefficients of a regression, means over categories); means
over items are analysed item by item (runs.py). It takes blocks as independent draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Spread:
    """The sample standard deviation, minimum and maximum of several values; nan for a single
    value."""

    sd: float
    least: float
    greatest: float


@dataclass(frozen=True)
class BlockMean:
    """A mean over blocks of the mean over the runs of each block."""

    value: float
    low: float
    high: float
    """The interval; nan for one block, and for blocks that all agree."""
    error: float
    """The standard error; nan for one block."""
    freedom: int
    """Degrees of freedom: the number of blocks less one."""
    over_blocks: Spread
    """Of the blocks' means."""
    over_runs: Spread
    """Of runs within blocks, moved to the overall mean; its standard deviation is pooled over the
    blocks."""

    def p(self, null: float) -> float:
        """Two-sided p against a mean of `null`; nan for one block."""
        if not self.error > 0:
            return np.nan
        return float(2 * stats.t.sf(abs(self.value - null) / self.error, self.freedom))


ALONE = Spread(np.nan, np.nan, np.nan)


def block_mean(values: Sequence[float], blocks: Sequence[str], level: float) -> BlockMean:
    """The mean over blocks of values (r,) of r runs, with the interval of `level` (0..1).

    blocks: (r,) the block of each run. Blocks count equally, and so do the runs of a block.

    >>> mean = block_mean([1.0, 3.0, 4.0], ["a", "a", "b"], 0.95)
    >>> mean.value, mean.freedom
    (3.0, 1)
    """
    value = np.asarray(values, dtype=float)
    code = np.unique(np.asarray(blocks, dtype=str), return_inverse=True)[1].reshape(-1)
    size = np.bincount(code)
    n_blocks, n_runs = len(size), len(value)
    means = np.bincount(code, weights=value) / size
    mean = float(means.mean())
    residual = value - means[code]
    over_blocks, over_runs = ALONE, ALONE
    error = reach = np.nan
    if n_blocks > 1:
        sd = float(means.std(ddof=1))
        over_blocks = Spread(sd, float(means.min()), float(means.max()))
        error = sd / n_blocks**0.5
        # Blocks that all agree, as where every answer is right, do not say how far others may
        # differ.
        if sd > 0:
            reach = float(stats.t.ppf((1 + level) / 2, n_blocks - 1)) * error
    if n_runs > n_blocks:
        sd_runs = float(np.sqrt(np.square(residual).sum() / (n_runs - n_blocks)))
        around = mean + residual
        over_runs = Spread(sd_runs, float(around.min()), float(around.max()))
    return BlockMean(mean, mean - reach, mean + reach, error, n_blocks - 1, over_blocks, over_runs)
