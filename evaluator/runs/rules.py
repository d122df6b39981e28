"""The rules that a run is measured by: which scores count, which of them tie, and the level of
intervals."""

from dataclasses import dataclass

import numpy as np

from evaluator.metrics.comparison import TOLERANCE
from evaluator.runs.folder import Run
from evaluator.statistics.intervals import LEVEL
from generator.base.errors import UserError, did_you_mean

_LEVELS = (0.5, 0.999)
"""Levels of intervals that are allowed. Beyond them the normal approximation has little use."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a run is measured."""

    channel: str
    """The scores of most protocols."""
    image_channel: str
    """The scores of protocols that compare images."""
    tolerance: float
    """Scores a and b tie where |a - b| <= tolerance * max(1, |a|, |b|); 0 or more."""
    level: float
    """Level of the intervals, 0.5..0.999."""


def choose_rules(
    run: Run,
    *,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Rules:
    """The rules for a run.

    Args:
        run: A finished run.
        channel: The scores to measure; None for those that the run names.
        tolerance: How close scores tie; None for that of the run, else TOLERANCE.
        level: Level of the intervals; None for that of the run, else LEVEL.

    Returns:
        The rules.

    Raises:
        UserError: The run does not have the channel, or a number is out of range.
    """
    if channel is not None and channel not in run.channels:
        raise UserError(
            f"The run has no channel '{channel}': {did_you_mean(channel, run.channels)}"
        )
    record = run.record
    main_channel = str(channel or record.get("channel") or run.channels[0])
    image_channel = str(channel or record.get("image_channel") or main_channel)
    if tolerance is None:
        tolerance = record.get("tie_tolerance")
    if level is None:
        level = record.get("level")
    return Rules(
        channel=main_channel,
        image_channel=image_channel,
        tolerance=check_tolerance(tolerance),
        level=check_level(level),
    )


def check_tolerance(tolerance: float | None) -> float:
    """Check a tie tolerance.

    Args:
        tolerance: A number from 0; None for TOLERANCE.

    Returns:
        The tolerance.

    Raises:
        UserError: It is negative or not finite.

    Example:
        >>> check_tolerance(None), check_tolerance(0)
        (1e-05, 0.0)
    """
    checked = TOLERANCE if tolerance is None else float(tolerance)
    if not 0 <= checked < np.inf:
        raise UserError(
            f"Expected a tolerance from 0 up, got {checked:g}; choose another --tolerance."
        )
    return checked


def check_level(level: float | None) -> float:
    """Check a level of intervals.

    Args:
        level: A number from 0.5 to 0.999; None for LEVEL.

    Returns:
        The level.

    Raises:
        UserError: It is out of range.

    Example:
        >>> check_level(None), check_level(0.9)
        (0.95, 0.9)
    """
    if level is None:
        return LEVEL
    if not _LEVELS[0] <= level <= _LEVELS[1]:
        raise UserError(
            f"Expected a level from {_LEVELS[0]} to {_LEVELS[1]}, got {level:g}; for intervals of "
            f"90% write --level 0.9."
        )
    return level
