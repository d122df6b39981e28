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


def looks(total: int) -> tuple[int, ...]:
    """The numbers of samples after which the test may stop: 16, 24, 32, 48, … and the total.

    >>> looks(200)
    (16, 24, 32, 48, 64, 96, 128, 192, 200)
    """
    found = [
        n << k
        for k in range(total.bit_length())
        for n in (FIRST_LOOK, FIRST_LOOK * 3 // 2)
        if n << k < total
    ]
    return (*sorted(found), total)


def z_score(differences: np.ndarray, total: int) -> np.ndarray:
    """The mean difference in standard errors, converted from Student's t to a standard normal
    deviate, float64 (…).

    differences: (…, n) errors of one text minus errors of another, at n ≥ 2 of `total` samples,
        ordered by noise level.
    If all differences are equal, the result is infinite, or 0 if they are 0.
    """
    from scipy import stats

    n = differences.shape[-1]
    mean = differences.mean(-1)
    variance = (np.diff(differences, axis=-1) ** 2).mean(-1) / 2
    error = np.sqrt(variance / n * (1 - n / total))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    freedom = 2 * (n - 1) ** 2 / (3 * n - 4)  # of this variance estimate, for normal differences
    return np.sign(t) * stats.norm.isf(stats.t.sf(np.abs(t), freedom))


@lru_cache
def critical_value(error: float, total: int) -> float:
    """The value that `z_score` exceeds at any look before the last with probability `error`, if
    there is no difference.

    >>> round(critical_value(0.05, 1024), 2)
    2.46
    """
    from scipy.optimize import brentq

    times = [n / (1 - n / total) for n in looks(total)[:-1]]
    return float(brentq(lambda critical: _passing(critical, times) - error, 0, 10, xtol=1e-3))


def _passing(critical: float, times: list[float], points: int = 201) -> float:
    """Probability that a Brownian motion exceeds critical·√time at any of the times (Armitage et
    al. 1969)."""
    from scipy.special import ndtr

    passed, before, mass, places = 0.0, 0.0, np.ones(1), np.zeros(1)
    for time in times:
        step, bound = np.sqrt(time - before), critical * np.sqrt(time)
        passed += float(mass @ ndtr((places - bound) / step))
        # the mass below the bound, in equal cells, placed at their centres
        edges = np.linspace(-7 * np.sqrt(time), bound, points)
        mass = np.diff(ndtr((edges[:, None] - places) / step), axis=0) @ mass
        before, places = time, (edges[1:] + edges[:-1]) / 2
    return passed


@dataclass(frozen=True)
class Schedule:
    """The numbers of samples after which texts of a contest drop out, and which texts drop out.

    After stage k each remaining text has had `stages[k]` samples, and the `keep[k]` best texts go
    on. With
    `confidence` instead of `keep`, a text goes on until `z_score` decides that another text is
    better.
    """

    stages: tuple[int, ...]
    keep: tuple[int, ...] = ()
    confidence: float | None = None

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
        return (
            staged_order(self.stages) if self.confidence is None else nested_order(self.total, seed)
        )

    def beaten(self, errors: np.ndarray, stage: int) -> np.ndarray:
        """Which texts of a contest drop out, bool (texts,), given their errors (texts, n) ordered
        by noise level.

        The text of the smallest mean error (the first of several) never drops out.
        """
        best = int(errors.mean(1).argmin())
        if self.stages[stage] == self.total:
            beaten = np.ones(len(errors), dtype=bool)
        elif self.confidence is None:
            beaten = np.argsort(np.argsort(errors.mean(1), kind="stable")) >= self.keep[stage]
        else:
            critical = critical_value((1 - self.confidence) / (len(errors) - 1), self.total)
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
        steps = (f"{n} samples keep {kept}" for n, kept in zip(self.stages, self.keep, strict=True))
        return " → ".join(steps)


@dataclass(frozen=True)
class Settings:
    """All settings of a score besides the model."""

    preset: str
    schedule: Schedule
    loss: Loss = "l2"
    fit: Fit = "whole"
    seed: int = 0


FIXED = 64
EXHAUSTIVE = 1024
CONFIDENCE = 0.97
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
    loss: Loss
    seed: Annotated[int, Field(ge=0)]
    samples: Annotated[int, Field(ge=1)]
    confidence: Annotated[float, Field(ge=0.5, lt=1)]


def settings_of(**options: Unpack[Options]) -> Settings:
    """The settings of a preset, changed by the other options.

    >>> settings_of(preset="li2023", loss="huber").loss
    'huber'

    Raises UserError for an option that the preset does not have.
    """
    preset = PRESETS[options.get("preset", "fixed")]
    schedule, samples, confidence = (
        preset.schedule,
        options.get("samples"),
        options.get("confidence"),
    )
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
