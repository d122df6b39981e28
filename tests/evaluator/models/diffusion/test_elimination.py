"""Eliminations without a network: known errors, and who drops out when."""

from collections.abc import Callable

import numpy as np
import pytest

from evaluator.models.diffusion.schedules import EXHAUSTIVE, PRESETS, Schedule, parse_preset
from evaluator.models.diffusion.scorer import Elimination, _agreeing, eliminate


def table_draw(errors: np.ndarray, asked: list[int] | None = None) -> Callable[[list[int], np.ndarray], np.ndarray]:
    """Draws from known errors (texts, samples)."""

    def draw(texts: list[int], samples: np.ndarray) -> np.ndarray:
        if asked is not None:
            asked.append(len(texts) * len(samples))
        return errors[np.ix_(texts, samples)]

    return draw


def test_stages_keep_the_best() -> None:
    """The published procedure, written out: means after the first stage, the five best to the end, the best of them."""
    rng = np.random.default_rng(0)
    schedule = PRESETS["pearson2025"].schedule
    order = schedule.order(0)
    for _ in range(50):
        errors = rng.normal(size=(12, 1)) * 0.1 + rng.normal(size=(12, 200))
        outcome = eliminate(12, [list(range(12))], schedule, order, table_draw(errors))
        kept = np.argsort(errors[:, order[:75]].mean(1))[:5]
        assert sorted(np.flatnonzero(outcome.samples == 200)) == sorted(kept)
        assert set(outcome.samples) == {75, 200}
        assert outcome.errors.argmin() == kept[errors[kept].mean(1).argmin()]
        assert outcome.errors[kept] == pytest.approx(errors[kept].mean(1))


def test_all_samples_without_a_rival() -> None:
    """A text that nothing is compared with gets every sample, and so do all in a schedule of one stage."""
    errors = np.random.default_rng(0).normal(size=(3, EXHAUSTIVE)) + np.array([[0], [9], [0]])
    schedule = PRESETS["sequential"].schedule
    outcome = eliminate(3, [[0, 1]], schedule, schedule.order(0), table_draw(errors))
    assert outcome.samples.tolist() == [16, 16, EXHAUSTIVE]
    every = eliminate(3, [], PRESETS["exhaustive"].schedule, np.arange(EXHAUSTIVE), table_draw(errors))
    assert every.errors == pytest.approx(errors.mean(1))


def test_scores_hold_every_decision() -> None:
    """However contests overlap: who was beaten in a contest is behind in the end, at whatever sample the other stopped."""
    rng = np.random.default_rng(1)
    schedule = parse_preset("sequential,samples=128,confidence=0.5").schedule
    turned = 0
    for seed in range(300):
        errors = rng.normal(size=(6, 1)) * 0.15 + rng.normal(size=(6, 128))
        contests = [[0, 1], [0, 2, 3], [3, 4, 5]]
        outcome = eliminate(6, contests, schedule, schedule.order(seed), table_draw(errors))
        order = schedule.order(seed)
        for contest in contests:
            left = list(contest)
            for stage, n in enumerate(schedule.stages):
                if len(left) == 1:
                    break
                beaten = schedule.beaten(errors[np.ix_(left, np.sort(order[:n]))], stage)
                left = [text for text, out in zip(left, beaten, strict=True) if not out]
            best = contest[int(outcome.errors[contest].argmin())]
            assert best == left[0]
        had = np.array([errors[i, order[: outcome.samples[i]]].mean() for i in range(6)])
        turned += int((np.abs(had - outcome.errors) > 1e-12).any())
        assert (outcome.errors >= had - 1e-12).all()
    assert 0 < turned < 150


def test_of_contradictory_decisions_the_later_holds() -> None:
    """0 beats 1 after 16 samples in one contest; in another, with many rivals, 1 beats 0 after all."""
    errors = np.zeros((8, 32))
    order = parse_preset("sequential,samples=32").schedule.order(0)
    errors[1, order[:16]] = 1 + np.linspace(0, 0.1, 16)
    errors[0, order[16:]] = 2 + np.linspace(0, 0.1, 16)
    errors[2:] = 3
    schedule = Schedule((16, 32), (1, 1))
    late = Schedule((16, 32), (8, 1))
    assert eliminate(8, [[0, 1]], schedule, order, table_draw(errors)).errors.argmin() == 0
    assert eliminate(8, [[0, 1], [*range(8)]], late, order, table_draw(errors)).errors.argmin() == 1
    verdicts = [Elimination(0, 1, 1.0, 16), Elimination(1, 2, 1.0, 24), Elimination(2, 0, 0.5, 32)]
    assert _agreeing(np.zeros(3), verdicts).tolist() == [0, 0, 0]
    assert _agreeing(np.array([3.0, 2, 1]), verdicts).tolist() == [3, 2, 3]


def test_beaten_texts_cost_nothing_more() -> None:
    """Only those that are left are drawn."""
    errors = np.random.default_rng(0).normal(size=(4, EXHAUSTIVE)) * 0.1 + np.array([[0.0], [0.0], [1.0], [2.0]])
    schedule, asked = PRESETS["sequential"].schedule, list[int]()
    outcome = eliminate(4, [[0, 1, 2, 3]], schedule, schedule.order(0), table_draw(errors, asked))
    assert sum(asked) == outcome.samples.sum()
    assert outcome.samples[[2, 3]].tolist() == [16, 16]


def test_error_rate_of_many_rivals() -> None:
    """The best of eight, by a hair, is dropped no more often than stated."""
    rng = np.random.default_rng(5)
    schedule = parse_preset("sequential,samples=256,confidence=0.9").schedule
    dropped = 0
    for i in range(300):
        errors = rng.normal(size=(8, 256))
        errors -= errors.mean(1, keepdims=True)
        errors[3] -= 1e-6
        dropped += int(
            eliminate(8, [list(range(8))], schedule, schedule.order(i), table_draw(errors)).errors.argmin() != 3
        )
    assert dropped / 300 <= 0.1 + 2.6 * np.sqrt(0.09 / 300)
