"""Schedules: how many samples a text gets before it is said which of a contest's texts fits best; and the presets."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from evaluator.models.diffusion.samples import nested_order, staged_order
from evaluator.models.diffusion.stopping import advantage, critical_value, looks
from generator.dataset.errors import UserError, did_you_mean

Loss = Literal["l2", "l1", "huber"]
LOSSES: tuple[Loss, ...] = ("l2", "l1", "huber")


@dataclass(frozen=True)
class Schedule:
    """Numbers of samples after which texts of a contest may drop out, and which do.

    At stage k all texts that are left have had `stages[k]` samples, and the `keep[k]` best go on; after the last,
    nothing does. With a `confidence` instead, those go on of which it is not yet decided that another one is better.
    """

    stages: tuple[int, ...]
    keep: tuple[int, ...] = ()
    confidence: float | None = None

    @property
    def total(self) -> int:
        """The samples that there are, and the most that a text gets."""
        return self.stages[-1]

    @property
    def early(self) -> bool:
        """Whether a text can get fewer than the total, as its rivals have it."""
        return len(self.stages) > 1

    def order(self, seed: int) -> np.ndarray:
        """The order in which samples are taken, int64 (total,): any stage covers the whole range of noise."""
        return staged_order(self.stages) if self.confidence is None else nested_order(self.total, seed)

    def beaten(self, errors: np.ndarray, stage: int) -> np.ndarray:
        """Which texts of a contest drop out, bool (texts,), by their errors (texts, n) in the order of noise levels.

        The best, the first of smallest mean error, never does.
        """
        best = int(errors.mean(1).argmin())
        if self.stages[stage] == self.total:
            beaten = np.ones(len(errors), dtype=bool)
        elif self.confidence is None:
            beaten = np.argsort(np.argsort(errors.mean(1), kind="stable")) >= self.keep[stage]
        else:
            critical = critical_value((1 - self.confidence) / max(1, len(errors) - 1), self.total)
            beaten = advantage(errors - errors[best], self.total) > critical
        beaten[best] = False
        return beaten

    def __str__(self) -> str:
        if self.confidence is not None:
            return f"{self.stages[0]} to {self.total:,} samples, until decided with {self.confidence:.0%} confidence"
        if not self.early:
            return f"{self.total:,} samples"
        steps = (f"{n} samples keep {kept}" for n, kept in zip(self.stages, self.keep, strict=True))
        return " → ".join(steps)


@dataclass(frozen=True)
class Preset:
    """All that decides a score besides the model."""

    name: str
    schedule: Schedule
    loss: Loss = "l2"
    fit: Literal["whole", "crop"] = "whole"
    seed: int = 0
    changed: tuple[str, ...] = field(default=(), compare=False)


FIXED = 64
EXHAUSTIVE = 1024
CONFIDENCE = 0.97
DEFAULT = "fixed"
PRESETS = {
    preset.name: preset
    for preset in (
        Preset("fixed", Schedule((FIXED,), (1,))),
        Preset("exhaustive", Schedule((EXHAUSTIVE,), (1,))),
        Preset("sequential", Schedule(looks(EXHAUSTIVE), confidence=CONFIDENCE)),
        Preset("li2023", Schedule((50, 500), (5, 1)), fit="crop"),
        Preset("pearson2025", Schedule((75, 200), (5, 1)), loss="l1", fit="crop"),
    )
}
_OPTIONS = ("loss", "seed", "samples", "confidence")


def parse_preset(text: str) -> Preset:
    """The preset of that name, with options after commas: `sequential,confidence=0.99,loss=l1`.

    >>> parse_preset("li2023,loss=huber").loss
    'huber'

    Raises UserError for an unknown preset or option, and for a value that cannot be.
    """
    name, *options = text.split(",")
    if name not in PRESETS:
        raise UserError(f"Unknown preset '{name}' of diffusion models: {did_you_mean(name, list(PRESETS))}")
    preset = PRESETS[name]
    for option in options:
        key, equals, value = option.partition("=")
        if key not in _OPTIONS or not equals:
            raise UserError(
                f"Unknown option '{option}' of the preset '{name}': {did_you_mean(key, [f'{o}=…' for o in _OPTIONS])}"
            )
        preset = _changed(preset, key, value)
    return preset


def _changed(preset: Preset, key: str, value: str) -> Preset:
    preset = replace(preset, changed=(*preset.changed, f"{key}={value}"))
    schedule = preset.schedule
    if key == "loss":
        if value not in LOSSES:
            raise UserError(f"Unknown loss '{value}': {did_you_mean(value, list(LOSSES))}")
        return replace(preset, loss=value)
    if key == "seed":
        return replace(preset, seed=_whole_number(key, value, 0))
    if key == "samples":
        if schedule.keep and schedule.early:
            raise UserError(f"The stages of '{preset.name}' are as published: leave samples={value} out, or use fixed.")
        total = _whole_number(key, value, 1)
        stages = (total,) if schedule.confidence is None else looks(total)
        return replace(preset, schedule=replace(schedule, stages=stages))
    if schedule.confidence is None:
        raise UserError(f"Only the preset 'sequential' has a confidence: leave confidence={value} out.")
    try:
        confidence = float(value)
    except ValueError:
        confidence = 0.0
    if not 0.5 <= confidence < 1:
        raise UserError(f"Expected confidence to be a number from 0.5 to less than 1, got '{value}'.")
    return replace(preset, schedule=replace(schedule, confidence=confidence))


def _whole_number(key: str, value: str, least: int) -> int:
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise UserError(f"Expected {key} to be a whole number from {least}, got '{value}'.")
    return int(value)
