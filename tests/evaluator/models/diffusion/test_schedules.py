"""Schedules, presets, and the error rates of the sequential test."""

import numpy as np
import pytest

from evaluator.models.diffusion.noising import levels
from evaluator.models.diffusion.schedules import (
    EXHAUSTIVE,
    PRESETS,
    Schedule,
    critical_value,
    looks,
    settings_of,
    z_score,
)
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.models.diffusion.test_noising import TIMESTEPS, timesteps_of


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("seed", [0, 1])
def test_every_stage_covers_the_whole_range(name: str, seed: int) -> None:
    """At any stage there is a sample in each of as many equal parts of the range (one more or less
    for stages between)."""
    schedule = PRESETS[name].schedule
    order = schedule.order(seed)
    assert sorted(order) == list(range(schedule.total))
    for n in schedule.stages:
        parts = 2 ** int(np.log2(n)) if schedule.confidence else n
        filled = np.bincount(
            (levels(schedule.total)[order[:n]] * parts).astype(int), minlength=parts
        )
        assert filled.min() >= 1
        taken = np.sort(timesteps_of(schedule.total)[order[:n]])
        assert taken[0] <= TIMESTEPS / parts
        assert taken[-1] >= TIMESTEPS - 1 - TIMESTEPS / parts
        assert abs(taken.mean() - (TIMESTEPS - 1) / 2) <= TIMESTEPS / parts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "preset=li2032",
            "input should be 'fixed', 'exhaustive', 'sequential', 'li2023' or 'pearson2025'.",
        ),
        ("los=l1", "did you mean 'loss'?"),
        ("samples=0", "greater than or equal to 1"),
        ("seed=-1", "greater than or equal to 0"),
        ("preset=li2023,samples=9", "as published"),
        ("confidence=0.9", "Only preset=sequential"),
        ("preset=sequential,confidence=1", "less than 1"),
        ("preset=sequential,confidence=0.4", "greater than or equal to 0.5"),
    ],
)
def test_wrong_options_are_refused_before_a_model_is_looked_for(options: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        load_model(f"diffusion:nowhere,{options}", "cpu")
    assert message in raised.value.message
    assert raised.value.message.endswith((".", "?"))


def test_critical_values_agree_with_simulated_brownian_motion() -> None:
    """The integral against 200,000 random walks over the same times."""
    rng = np.random.default_rng(0)
    times = np.array([n / (1 - n / EXHAUSTIVE) for n in looks(EXHAUSTIVE)[:-1]])
    steps = rng.normal(size=(200_000, len(times))) * np.sqrt(np.diff(times, prepend=0))
    highest = (steps.cumsum(1) / np.sqrt(times)).max(1)
    for error in (0.1, 0.05, 0.01):
        assert (highest > critical_value(error, EXHAUSTIVE)).mean() == pytest.approx(error, rel=0.1)


def differences(
    rng: np.random.Generator,
    items: int,
    effect: float,
    smooth: float,
    length: float,
    uneven: bool = False,
) -> np.ndarray:
    """Paired differences (items, 1,024) with a mean of `effect` standard deviations over all
    samples.

    Their variance is to a share `smooth` a process that is correlated over `length` timesteps
    (exponentially), as differences are that follow from the noise level; the rest is new at each
    sample, as the noise is. `uneven`: both are largest at middle levels, by up to ten times.
    """
    correlation = np.exp(-1 / length)
    walk = rng.normal(size=(EXHAUSTIVE, items))
    for i in range(1, EXHAUSTIVE):
        walk[i] = correlation * walk[i - 1] + np.sqrt(1 - correlation**2) * walk[i]
    differences = np.sqrt(smooth) * walk.T + np.sqrt(1 - smooth) * rng.normal(
        size=(items, EXHAUSTIVE)
    )
    if uneven:
        differences *= 0.1 + np.exp(-((levels(EXHAUSTIVE) - 0.4) ** 2) / 0.02)
    differences = (differences - differences.mean(1, keepdims=True)) / differences.std(
        1, keepdims=True
    )
    return differences + effect


def sequential(differences: np.ndarray, schedule: Schedule) -> tuple[float, float]:
    """The share of items that the sequential schedule decides as all samples do, and the share of
    evaluations it takes."""
    critical = critical_value(1 - schedule.confidence, schedule.total)
    right, samples = 0, 0
    for block, part in enumerate(np.array_split(differences, 8)):
        order = schedule.order(block)
        undecided = np.ones(len(part), dtype=bool)
        for n in schedule.stages:
            seen = part[:, np.sort(order[:n])]
            apart = (
                z_score(seen, schedule.total)
                if n < schedule.total
                else np.sign(seen.mean(1)) * np.inf
            )
            decided = undecided & (np.abs(apart) > critical)
            samples += n * int(decided.sum())
            right += int((decided & (apart > 0)).sum())
            undecided &= ~decided
    return right / len(differences), samples / differences.size


# the share of the variance that is smooth, over how many samples; for each effect: agreement in %,
# share of evaluations
REACHED = {
    (0.0, 1): {0.05: (98, 0.77), 0.1: (99, 0.45), 0.2: (99, 0.2)},
    (0.5, 50): {0.05: (99, 0.65), 0.1: (99, 0.33), 0.2: (99, 0.13)},
    (0.9, 50): {0.05: (99, 0.41), 0.1: (99, 0.2), 0.2: (99, 0.085)},
    (1.0, 50): {0.05: (99, 0.28), 0.1: (99, 0.15), 0.2: (99, 0.075)},
    (1.0, 200): {0.05: (99, 0.2), 0.1: (99, 0.105), 0.2: (99, 0.055)},
}


@pytest.mark.parametrize(("smooth", "length"), sorted(REACHED))
def test_agreement_and_evaluations(smooth: float, length: float) -> None:
    """Where the exhaustive answer is had at a fifth of the evaluations, and where not."""
    rng = np.random.default_rng(7)
    for effect, (agreement, share) in REACHED[smooth, length].items():
        for uneven in (False, True):
            items = differences(rng, 1600, effect, smooth, length, uneven)
            right, taken = sequential(items, PRESETS["sequential"].schedule)
            assert right >= agreement / 100
            assert taken <= share


@pytest.mark.parametrize(
    "confidence",
    [pytest.param(0.9, marks=pytest.mark.full), 0.95, pytest.param(0.99, marks=pytest.mark.full)],
)
@pytest.mark.parametrize(("smooth", "length"), [(0.0, 1), (0.5, 50), (1.0, 50)])
def test_error_rate_without_a_difference(confidence: float, smooth: float, length: float) -> None:
    """The hardest case, when all samples together show no difference: stopping for one side is as
    rare as stated."""
    schedule = settings_of(preset="sequential", confidence=confidence).schedule
    none = differences(np.random.default_rng(3), 4000, 0.0, smooth, length)
    wrong, _ = sequential(none - 1e-9, schedule)
    assert wrong <= (1 - confidence) + 2.6 * np.sqrt((1 - confidence) * confidence / 4000)


def test_unequal_spread_doubles_the_error_rate_at_most() -> None:
    """As docs/models.md says: 3% become up to 6% where the middle levels spread ten times as
    much."""
    for smooth, length in ((0.0, 1), (0.5, 100), (0.9, 300)):
        none = differences(np.random.default_rng(0), 4000, 0.0, smooth, length, uneven=True)
        wrong, _ = sequential(none - 1e-9, PRESETS["sequential"].schedule)
        assert wrong <= 0.06 + 2.6 * np.sqrt(0.06 * 0.94 / 4000)
