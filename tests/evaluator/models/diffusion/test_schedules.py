"""Schedules and presets."""

import numpy as np
import pytest

from evaluator.models.diffusion.samples import levels
from evaluator.models.diffusion.schedules import PRESETS, parse_preset
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
    li, pearson = parse_preset("li2023"), parse_preset("pearson2025")
    assert (li.schedule.stages, li.schedule.keep, li.loss) == ((50, 500), (5, 1), "l2")
    assert (pearson.schedule.stages, pearson.schedule.keep, pearson.loss) == ((75, 200), (5, 1), "l1")
    changed = parse_preset("sequential,confidence=0.99,samples=256,loss=huber,seed=3")
    assert (changed.schedule.total, changed.schedule.confidence, changed.loss, changed.seed) == (256, 0.99, "huber", 3)
    assert str(parse_preset("fixed,samples=8").schedule) == "8 samples"
    assert str(li.schedule) == "50 samples keep 5 → 500 samples keep 1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("li2032", "did you mean 'li2023'?"),
        ("fixed,los=l1", "did you mean 'loss'?"),
        ("fixed,loss=l3", "input should be 'l2', 'l1' or 'huber'."),
        ("fixed,loss", "as NAME=VALUE, such as dtype=bfloat16, got 'loss'"),
        ("fixed,samples=0", "greater than or equal to 1"),
        ("fixed,seed=x", "valid integer"),
        ("li2023,samples=9", "as published"),
        ("fixed,confidence=0.9", "Only the preset 'sequential'"),
        ("sequential,confidence=1", "less than 1"),
        ("sequential,confidence=high", "valid number"),
    ],
)
def test_wrong_presets(text: str, said: str) -> None:
    """One sentence that names the mistake and the mend."""
    with pytest.raises(UserError) as raised:
        parse_preset(text)
    assert said in raised.value.message
    assert raised.value.message.endswith((".", "?"))
