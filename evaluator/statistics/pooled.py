"""Pools the values of several runs into one, by blocks of held-out combinations and by runs within each block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

PRIOR_FREEDOM = 3
"""Degrees of freedom that each block's interval contributes to the spread of blocks; chosen by simulation."""


@dataclass(frozen=True)
class Spread:
    """The sample standard deviation, minimum and maximum of several values; nan for a single value."""

    sd: float
    least: float
    greatest: float


@dataclass(frozen=True)
class Pooled:
    """A mean of runs with its interval, nan for none.

    over_blocks: the spread of the blocks' means. over_runs: the spread of runs within blocks, moved to the overall
    mean; its standard deviation is pooled over the blocks. level: of the interval. freedom: degrees of freedom of its
    moderated t, 0 for one block.
    """

    value: float
    low: float
    high: float
    over_blocks: Spread
    over_runs: Spread
    level: float
    freedom: int

    def p(self, null: float) -> float:
        """Two-sided p against a mean of `null`: the interval of level 1 − p ends there; nan for one block."""
        if not self.freedom or np.isnan(self.low):
            return np.nan
        reach = self.value - self.low if null <= self.value else self.high - self.value
        if reach == 0:
            return float(null == self.value)
        error = reach / stats.t.ppf((1 + self.level) / 2, self.freedom)
        return float(2 * stats.t.sf(abs(self.value - null) / error, self.freedom))


def pool(
    values: Sequence[float], lows: Sequence[float], highs: Sequence[float], blocks: Sequence[str], level: float
) -> Pooled:
    """Pool the values (r,) of r runs with their intervals, nan for none. For several blocks, the intervals should be
    for values and objects like these (`low_drawn`, `high_drawn`).

    blocks (r,): the block of each run. Blocks have equal weights, and so have the runs of a block.

    Runs of a block share its bindings, so their intervals are averaged. Blocks are independent, so their distances from
    mean to end add up in squares (Zou and Donner 2008, MOVER), and the spread of runs within blocks is added by
    Student's t. Blocks may differ more or less than these intervals predict: each side is scaled by a moderated t
    (Smyth 2004, section 4), whose variance is the weighted mean of the side's expected variance and the variance seen
    between blocks. Near 100% the upper side is far shorter than the lower; a common scale would shorten it further.
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
    ends = [np.bincount(code, weights=end) / size for end in (value - low, high - value)]
    reach = [float(np.hypot(np.sqrt(np.square(end).sum()) / b, of_runs)) for end in ends]
    if b > 1:
        normal = stats.norm.ppf((1 + level) / 2)
        of_training = np.square(sd_runs) * (1 / size).mean() if r > b else 0.0
        expected = [float(np.square(end / normal).mean() + of_training) for end in ends]
        reach = [
            _moderated(variance, sd_blocks**2, b, level) / normal * side
            for variance, side in zip(expected, reach, strict=True)
        ]
    around = mean + residual
    return Pooled(
        mean,
        mean - reach[0],
        mean + reach[1],
        Spread(sd_blocks, float(means.min()), float(means.max())) if b > 1 else _ALONE,
        Spread(sd_runs, float(around.min()), float(around.max())) if r > b else _ALONE,
        level,
        _freedom(b) if b > 1 else 0,
    )


def _moderated(expected: float, seen: float, blocks: int, level: float) -> float:
    """Student's quantile for a moderated variance, in units of the expected standard deviation."""
    more, between = _freedom(blocks), blocks - 1
    ratio = seen / expected if expected > 0 else 1.0
    return float(stats.t.ppf((1 + level) / 2, more) * np.sqrt((more - between + between * ratio) / more))


def _freedom(blocks: int) -> int:
    return PRIOR_FREEDOM * blocks + blocks - 1


_ALONE = Spread(np.nan, np.nan, np.nan)
