"""Eliminations without a network: known errors, and who drops out when."""

import numpy as np
import pytest

from evaluator.models.diffusion.schedules import EXHAUSTIVE, PRESETS, Schedule, settings_of
from evaluator.models.diffusion.scorer import eliminate


class Table:
    """Known errors (texts, samples). It counts how many samples of each text are asked for."""

    def __init__(self, errors: np.ndarray):
        self._errors, self.samples = errors, np.zeros(len(errors), int)

    def __call__(self, texts: list[int], samples: np.ndarray) -> np.ndarray:
        self.samples[texts] += len(samples)
        return self._errors[np.ix_(texts, samples)]


def test_stages_keep_the_best() -> None:
    """The published procedure, written out: means after the first stage, the five best to the end,
    the best of them."""
    rng = np.random.default_rng(0)
    schedule = PRESETS["pearson2025"].schedule
    order = schedule.order(0)
    for _ in range(50):
        errors = rng.normal(size=(12, 1)) * 0.1 + rng.normal(size=(12, 200))
        table = Table(errors)
        means = eliminate(12, [list(range(12))], schedule=schedule, order=order, measure=table)
        survivors = np.argsort(errors[:, order[:75]].mean(1))[:5]
        assert sorted(np.flatnonzero(table.samples == 200)) == sorted(survivors)
        assert set(table.samples) == {75, 200}
        assert means.argmin() == survivors[errors[survivors].mean(1).argmin()]
        assert means[survivors] == pytest.approx(errors[survivors].mean(1))


def test_all_samples_without_a_rival() -> None:
    """A text that nothing is compared with gets every sample, and so do all in a schedule of one
    stage."""
    errors = np.random.default_rng(0).normal(size=(3, EXHAUSTIVE)) + np.array([[0], [9], [0]])
    schedule = PRESETS["sequential"].schedule
    table = Table(errors)
    eliminate(3, [[0, 1]], schedule=schedule, order=schedule.order(0), measure=table)
    assert table.samples.tolist() == [16, 16, EXHAUSTIVE]
    every = eliminate(
        3,
        [],
        schedule=PRESETS["exhaustive"].schedule,
        order=np.arange(EXHAUSTIVE),
        measure=Table(errors),
    )
    assert every == pytest.approx(errors.mean(1))


def test_scores_hold_every_decision() -> None:
    """However contests overlap: who was beaten in a contest is behind in the end, at whatever
    sample the other stopped."""
    rng = np.random.default_rng(1)
    schedule = settings_of(preset="sequential", samples=128, confidence=0.5).schedule
    turned = 0
    for seed in range(300):
        errors = rng.normal(size=(6, 1)) * 0.15 + rng.normal(size=(6, 128))
        contests = [[0, 1], [0, 2, 3], [3, 4, 5]]
        table = Table(errors)
        means = eliminate(6, contests, schedule=schedule, order=schedule.order(seed), measure=table)
        order = schedule.order(seed)
        for contest in contests:
            left = list(contest)
            for stage, n in enumerate(schedule.stages):
                if len(left) == 1:
                    break
                beaten = schedule.beaten(errors[np.ix_(left, np.sort(order[:n]))], stage)
                left = [text for text, out in zip(left, beaten, strict=True) if not out]
            best = contest[int(means[contest].argmin())]
            assert best == left[0]
        had = np.array([errors[i, order[: table.samples[i]]].mean() for i in range(6)])
        turned += int((np.abs(had - means) > 1e-12).any())
        assert (means >= had - 1e-12).all()
    assert 0 < turned < 150


def test_of_contradictory_decisions_the_later_holds() -> None:
    """0 beats 1 after 16 samples in one contest; in another, with many rivals, 1 beats 0 after
    all."""
    errors = np.zeros((8, 32))
    order = settings_of(preset="sequential", samples=32).schedule.order(0)
    errors[1, order[:16]] = 1 + np.linspace(0, 0.1, 16)
    errors[0, order[16:]] = 2 + np.linspace(0, 0.1, 16)
    errors[2:] = 3
    schedule = Schedule((16, 32), (1, 1))
    late = Schedule((16, 32), (8, 1))
    assert (
        eliminate(8, [[0, 1]], schedule=schedule, order=order, measure=Table(errors)).argmin() == 0
    )
    assert (
        eliminate(
            8, [[0, 1], [*range(8)]], schedule=late, order=order, measure=Table(errors)
        ).argmin()
        == 1
    )


def test_error_rate_of_many_rivals() -> None:
    """The best of eight, by a hair, is dropped no more often than stated."""
    rng = np.random.default_rng(5)
    schedule = settings_of(preset="sequential", samples=256, confidence=0.9).schedule
    dropped = 0
    for i in range(300):
        errors = rng.normal(size=(8, 256))
        errors -= errors.mean(1, keepdims=True)
        errors[3] -= 1e-6
        dropped += int(
            eliminate(
                8,
                [list(range(8))],
                schedule=schedule,
                order=schedule.order(i),
                measure=Table(errors),
            ).argmin()
            != 3
        )
    assert dropped / 300 <= 0.1 + 2.6 * np.sqrt(0.09 / 300)
