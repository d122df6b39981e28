"""How the items of a run are measured."""

from dataclasses import dataclass

from evaluator.metrics.comparison import TOLERANCE
from evaluator.statistics.intervals import LEVEL


@dataclass(frozen=True, kw_only=True)
class MeasuringRules:
    """What is the same for all items of a run."""

    tolerance: float = TOLERANCE
    """How close scores tie (metrics.comparison.tied)."""
    level: float = LEVEL
    """Level of the intervals, 0..1."""
    intervals: bool = True
    """Whether to compute intervals. A ceiling needs means only."""
    partitioned: bool = False
    """Whether the splits are partitions by familiarity."""
