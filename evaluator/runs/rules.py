"""The rules that a run is measured by: which scores count, which of them tie, and the level of
intervals."""

from dataclasses import dataclass

import numpy as np

from evaluator.metrics.comparison import TOLERANCE
from evaluator.runs.folder import Run
from evaluator.statistics.intervals import LEVEL
from generator.base.errors import UserError, did_you_mean

_LEVEL_RANGE = (0.5, 0.999)
"""Lowest and highest level of intervals. Below, an interval misses more often than it holds; above,
the normal approximation has little use."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a run is measured."""

    channel: str
    """Name of the scores that most protocols measure, one of `Run.channels`."""
    image_channel: str
    """Name of the scores that protocols measure which compare images for one text."""
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
        channel: Name of the scores to measure, also of images; None for those that the record
            of the run names, else the first of the model.
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
    """Check a tie tolerance, or take the default.

    Args:
        tolerance: A number from 0; None for TOLERANCE.

    Returns:
        The checked number, or TOLERANCE.

    Raises:
        UserError: It is negative or not finite.

    Example:
        >>> check_tolerance(None), check_tolerance(0)
        (1e-05, 0.0)
    """
    checked = TOLERANCE if tolerance is None else float(tolerance)
    if not 0 <= checked < np.inf:
        raise UserError(
            f"Expected a finite tolerance of 0 or more, got {checked:g}; choose another "
            f"--tolerance."
        )
    return checked


def check_level(level: float | None) -> float:
    """Check a level of intervals, or take the default.

    Args:
        level: A number from 0.5 to 0.999; None for LEVEL.

    Returns:
        The checked number, or LEVEL.

    Raises:
        UserError: It is out of range.

    Example:
        >>> check_level(None), check_level(0.9)
        (0.95, 0.9)
    """
    if level is None:
        return LEVEL
    if not _LEVEL_RANGE[0] <= level <= _LEVEL_RANGE[1]:
        raise UserError(
            f"Expected a level from {_LEVEL_RANGE[0]} to {_LEVEL_RANGE[1]}, got {level:g}; for "
            f"intervals of 90% write --level 0.9."
        )
    return level
