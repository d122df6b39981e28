"""Schedules and presets."""

import numpy as np
import pytest

from evaluator.models.diffusion.noising import levels
from evaluator.models.diffusion.schedules import PRESETS, settings_of
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.models.diffusion.test_samples import TIMESTEPS, timesteps_of


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("seed", [0, 1])
def test_every_stage_covers_the_whole_range(name: str, seed: int) -> None:
    """At any stage there is a sample in each of as many equal parts of the range (one more or less for stages
    between)."""
    schedule = PRESETS[name].schedule
    order = schedule.order(seed)
    assert sorted(order) == list(range(schedule.total))
    for n in schedule.stages:
        parts = 2 ** int(np.log2(n)) if schedule.confidence else n
        filled = np.bincount((levels(schedule.total)[order[:n]] * parts).astype(int), minlength=parts)
        assert filled.min() >= 1
        taken = np.sort(timesteps_of(schedule.total)[order[:n]])
        assert taken[0] <= TIMESTEPS / parts
        assert taken[-1] >= TIMESTEPS - 1 - TIMESTEPS / parts
        assert abs(taken.mean() - (TIMESTEPS - 1) / 2) <= TIMESTEPS / parts


def test_presets() -> None:
    """As published, and options change what they say."""
    li, pearson = settings_of(preset="li2023"), settings_of(preset="pearson2025")
    assert (li.schedule.stages, li.schedule.keep, li.loss) == ((50, 500), (5, 1), "l2")
    assert (pearson.schedule.stages, pearson.schedule.keep, pearson.loss) == ((75, 200), (5, 1), "l1")
    changed = settings_of(preset="sequential", confidence=0.99, samples=256, loss="huber", seed=3)
    assert (changed.schedule.total, changed.schedule.confidence, changed.loss, changed.seed) == (256, 0.99, "huber", 3)
    assert str(settings_of(samples=8).schedule) == "8 samples"
    assert str(li.schedule) == "50 samples keep 5 → 500 samples keep 1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("preset=li2032", "input should be 'fixed', 'exhaustive', 'sequential', 'li2023' or 'pearson2025'."),
        ("los=l1", "did you mean 'loss'?"),
        ("samples=0", "greater than or equal to 1"),
        ("seed=-1", "greater than or equal to 0"),
        ("preset=li2023,samples=9", "as published"),
        ("confidence=0.9", "Only preset=sequential"),
        ("preset=sequential,confidence=1", "less than 1"),
        ("preset=sequential,confidence=0.4", "greater than or equal to 0.5"),
    ],
)
def test_wrong_options_are_refused_before_a_model_is_looked_for(options: str, said: str) -> None:
    with pytest.raises(UserError) as raised:
        load_model(f"diffusion:nowhere,{options}", "cpu")
    assert said in raised.value.message
    assert raised.value.message.endswith((".", "?"))
