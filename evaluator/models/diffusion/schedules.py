"""Schedules: how many samples each text of a contest gets. Presets: named settings of a score."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal, Unpack

import numpy as np
from pydantic import Field
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from evaluator.models.diffusion.noising import nested_order, staged_order
from generator.base.errors import UserError

Loss = Literal["l2", "l1", "huber"]
Fit = Literal["whole", "crop"]


FIRST_LOOK = 16
"""Samples before the first look, at which the variance has about 10 degrees of freedom."""


def looks(total: int) -> tuple[int, ...]:
    """The numbers of samples after which the test may stop: 16, 24, 32, 48, … and the total.

    >>> looks(200)
    (16, 24, 32, 48, 64, 96, 128, 192, 200)
    """
    # Two looks for each doubling: later looks are rarer, since each more sample tells less.
    counts = []
    for doublings in range(total.bit_length()):
        for first in (FIRST_LOOK, FIRST_LOOK * 3 // 2):
            counts.append(first << doublings)
    return (*sorted(count for count in counts if count < total), total)


def z_score(differences: np.ndarray, total: int) -> np.ndarray:
    """The mean difference in standard errors, converted from Student's t to a standard normal
    deviate.

    Differences change smoothly with the noise level, and samples are evenly spaced over it. So the
    variance is that of successive differences (von Neumann 1941), which the smooth change hardly
    enters.

    Args:
        differences: Errors of one text minus errors of another, (…, n), at n ≥ 2 of `total`
            samples, ordered by noise level.
        total: The number of all samples; the mean over all of them has no error.

    Returns:
        float64 (…). If all differences are equal, infinite, or 0 if they are 0.
    """
    from scipy import stats

    n = differences.shape[-1]
    mean = differences.mean(-1)
    variance = (np.diff(differences, axis=-1) ** 2).mean(-1) / 2
    finite_population = 1 - n / total
    error = np.sqrt(variance / n * finite_population)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    # The degrees of freedom of this variance estimate, for normal differences.
    freedom = 2 * (n - 1) ** 2 / (3 * n - 4)
    # By the upper tail, which keeps its digits where the distribution function is nearly 1.
    p = stats.t.sf(np.abs(t), freedom)
    return np.sign(t) * stats.norm.isf(p)


@lru_cache
def critical_value(error: float, total: int) -> float:
    """The value that `z_score` exceeds at any look before the last with probability `error`, if
    there is no difference.

    The mean of n of `total` samples, as n grows, moves like a Brownian motion at the time
    n / (1 − n / total); so the looks are times, and the critical value is a boundary of it.

    Args:
        error: The probability.
        total: The number of all samples.

    >>> round(critical_value(0.05, 1024), 2)
    2.46
    """
    from scipy.optimize import brentq

    times = [n / (1 - n / total) for n in looks(total)[:-1]]
    # 10 standard errors are never exceeded, and 0 nearly always.
    return float(
        brentq(lambda critical: _crossing_probability(critical, times) - error, 0, 10, xtol=1e-3)
    )


def _crossing_probability(critical: float, times: list[float], points: int = 201) -> float:
    """Probability that a Brownian motion exceeds critical·√time at any of the times (Armitage et
    al. 1969)."""
    from scipy.special import ndtr

    # The distribution of the motion below the boundary, as masses at places. At each time, what
    # crosses the boundary is counted and leaves.
    crossed = 0.0
    previous_time = 0.0
    masses = np.ones(1)
    places = np.zeros(1)
    for time in times:
        step_deviation = np.sqrt(time - previous_time)
        bound = critical * np.sqrt(time)
        crossed += float(masses @ ndtr((places - bound) / step_deviation))

        # What stays below is put in equal cells, each at its centre; 7 deviations hold all of it.
        edges = np.linspace(-7 * np.sqrt(time), bound, points)
        below_edge = ndtr((edges[:, None] - places) / step_deviation)
        masses = np.diff(below_edge, axis=0) @ masses
        places = (edges[1:] + edges[:-1]) / 2
        previous_time = time
    return crossed


@dataclass(frozen=True)
class Schedule:
    """The numbers of samples after which texts of a contest drop out, and which texts drop out."""

    stages: tuple[int, ...]
    """After stage k each remaining text has had stages[k] samples."""
    keep: tuple[int, ...] = ()
    """After stage k the keep[k] best texts go on; () for a schedule with `confidence`."""
    confidence: float | None = None
    """A text goes on until `z_score` decides with this confidence, 0.5..1, that another text is
    better. None for a schedule with `keep`."""

    @property
    def total(self) -> int:
        """The number of samples, the maximum for a text."""
        return self.stages[-1]

    @property
    def early(self) -> bool:
        """Whether a text can drop out before it has had all samples, depending on its rivals."""
        return len(self.stages) > 1

    def order(self, seed: int) -> np.ndarray:
        """The order in which samples are taken, int64 (total,). Every stage covers the whole range
        of noise levels."""
        if self.confidence is None:
            return staged_order(self.stages)
        return nested_order(self.total, seed)

    def beaten(self, errors: np.ndarray, stage: int) -> np.ndarray:
        """Which texts of a contest drop out.

        The text of the smallest mean error (the first of several) never drops out.

        Args:
            errors: The errors of the texts, (texts, n), ordered by noise level.
            stage: The index of the stage that ends.

        Returns:
            bool (texts,).
        """
        means = errors.mean(1)
        best = int(means.argmin())
        if self.stages[stage] == self.total:
            beaten = np.ones(len(errors), dtype=bool)
        elif self.confidence is None:
            rank = np.argsort(np.argsort(means, kind="stable"))
            beaten = rank >= self.keep[stage]
        else:
            # Bonferroni: the best text may err against each of its rivals.
            error_of_rival = (1 - self.confidence) / (len(errors) - 1)
            critical = critical_value(error_of_rival, self.total)
            beaten = z_score(errors - errors[best], self.total) > critical
        beaten[best] = False
        return beaten

    def __str__(self) -> str:
        if self.confidence is not None:
            return (
                f"{self.stages[0]} to {self.total:,} samples, until decided with "
                f"{self.confidence:.0%} confidence"
            )
        if not self.early:
            return f"{self.total:,} samples"
        stages = zip(self.stages, self.keep, strict=True)
        return " → ".join(f"{samples} samples keep {texts}" for samples, texts in stages)


@dataclass(frozen=True)
class Settings:
    """All settings of a score besides the model."""

    preset: str
    """The name of the preset that the settings began with."""
    schedule: Schedule
    """How many samples each text gets."""
    loss: Loss = "l2"
    """The error of a prediction: mean squared, mean absolute, or Huber's."""
    fit: Fit = "whole"
    """How an image is fitted to the network (evaluator.models.diffusion.scorer.fit_image)."""
    seed: int = 0
    """The seed of noise and of a random order of samples."""


FIXED = 64
"""Samples of each text, of the default preset."""
EXHAUSTIVE = 1024
"""Samples of each text, of the presets that may take them all."""
CONFIDENCE = 0.97
"""`Schedule.confidence` of the sequential preset."""
PRESETS = {
    preset.preset: preset
    for preset in (
        Settings("fixed", Schedule((FIXED,), (1,))),
        Settings("exhaustive", Schedule((EXHAUSTIVE,), (1,))),
        Settings("sequential", Schedule(looks(EXHAUSTIVE), confidence=CONFIDENCE)),
        Settings("li2023", Schedule((50, 500), (5, 1)), fit="crop"),
        Settings("pearson2025", Schedule((75, 200), (5, 1)), loss="l1", fit="crop"),
    )
}


class Options(TypedDict, total=False):
    """Arguments of a diffusion model: a preset, and settings that override it."""

    preset: Literal["fixed", "exhaustive", "sequential", "li2023", "pearson2025"]
    """A key of PRESETS."""
    loss: Loss
    """As `Settings.loss`."""
    seed: Annotated[int, Field(ge=0)]
    """As `Settings.seed`."""
    samples: Annotated[int, Field(ge=1)]
    """Samples of each text, or the most for preset=sequential."""
    confidence: Annotated[float, Field(ge=0.5, lt=1)]
    """As `Schedule.confidence`, for preset=sequential."""


def settings_of(**options: Unpack[Options]) -> Settings:
    """The settings of a preset, changed by the other options.

    Raises:
        UserError: The preset does not have an option.

    >>> settings_of(preset="li2023", loss="huber").loss
    'huber'
    """
    preset = PRESETS[options.get("preset", "fixed")]
    schedule = preset.schedule
    samples = options.get("samples")
    confidence = options.get("confidence")
    if schedule.confidence is None:
        if confidence is not None:
            raise UserError(
                f"Only preset=sequential has a confidence: leave confidence={confidence} out."
            )
        if samples is not None and schedule.early:
            raise UserError(
                f"The stages of {preset.preset} are as published: leave samples={samples} out, or "
                f"use preset=fixed."
            )
        stages = schedule.stages if samples is None else (samples,)
    else:
        stages = looks(samples or schedule.total)
        schedule = replace(schedule, confidence=confidence or schedule.confidence)
    return replace(
        preset,
        schedule=replace(schedule, stages=stages),
        loss=options.get("loss", preset.loss),
        seed=options.get("seed", preset.seed),
    )
