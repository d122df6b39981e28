"""A mean over blocks from one value for each run: Student's t over blocks.

For numbers that are not means over items (coefficients of a regression, means over categories);
means over items are analysed item by item (runs.py). It takes blocks as independent draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Spread:
    """How far several values spread; nan for a single value."""

    sd: float
    """The sample standard deviation."""
    least: float
    """The smallest value."""
    greatest: float
    """The largest value."""


@dataclass(frozen=True)
class BlockMean:
    """A mean over blocks of the mean over the runs of each block."""

    value: float
    """The mean."""
    low: float
    """Lower end of the interval; nan for one block, and for blocks that all agree."""
    high: float
    """Its upper end."""
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
        """Two-sided p.

        Args:
            null: the mean under the null hypothesis.

        Returns:
            p in 0..1; nan for one block, and for blocks that all agree.

        Example:
            >>> round(block_mean([1.0, 3.0], ["a", "b"], 0.95).p(0.0), 3)
            0.295
        """
        if not self.error > 0:
            return np.nan
        t = abs(self.value - null) / self.error
        return float(2 * stats.t.sf(t, self.freedom))


NO_SPREAD = Spread(np.nan, np.nan, np.nan)
"""The spread of a single value."""


def block_mean(values: Sequence[float], blocks: Sequence[str], level: float) -> BlockMean:
    """The mean over blocks of the values of runs. Blocks count equally, and so do the runs of a
    block.

    Args:
        values: (r,) of the runs.
        blocks: (r,) the block of each run.
        level: of the interval, in 0..1.

    Returns:
        The mean, with its interval and spreads.

    Example:
        >>> mean = block_mean([1.0, 3.0, 4.0], ["a", "a", "b"], 0.95)
        >>> mean.value, mean.freedom
        (3.0, 1)
    """
    value = np.asarray(values, dtype=float)
    block = np.unique(np.asarray(blocks, dtype=str), return_inverse=True)[1].reshape(-1)
    runs_of_block = np.bincount(block)
    n_blocks = len(runs_of_block)
    n_runs = len(value)
    means = np.bincount(block, weights=value) / runs_of_block
    mean = float(means.mean())

    # The spread of the means of blocks, and the interval that follows from it.
    over_blocks = NO_SPREAD
    error = np.nan
    reach = np.nan
    if n_blocks > 1:
        sd = float(means.std(ddof=1))
        over_blocks = Spread(sd, float(means.min()), float(means.max()))
        error = sd / n_blocks**0.5
        # Blocks that all agree, as where every answer is right, do not say how far others may
        # differ.
        if sd > 0:
            reach = float(stats.t.ppf((1 + level) / 2, n_blocks - 1)) * error

    # The spread of runs within their blocks.
    over_runs = NO_SPREAD
    if n_runs > n_blocks:
        residual = value - means[block]
        # A degree of freedom is lost with the mean of each block.
        variance = np.square(residual).sum() / (n_runs - n_blocks)
        sd_runs = float(np.sqrt(variance))
        around_mean = mean + residual
        over_runs = Spread(sd_runs, float(around_mean.min()), float(around_mean.max()))
    return BlockMean(mean, mean - reach, mean + reach, error, n_blocks - 1, over_blocks, over_runs)
