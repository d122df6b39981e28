"""What designs hold out and plan: the published numbers, closure, coverage, balance, and what is impossible."""

import pytest

from generator.blocks import draw_holdouts
from generator.plan import Part, plan_parts
from generator.presets import preset_names, read_preset
from generator.vocabulary import read_vocabulary

CLEVR = read_vocabulary("clevr")


@pytest.mark.parametrize("name", preset_names())
def test_presets_fit_their_family(name: str) -> None:
    preset = read_preset(name)
    assert draw_holdouts(preset.holdout, preset.design, read_vocabulary(preset.family), 0)


def test_a_plan_does_not_depend_on_the_order_of_its_counts() -> None:
    """A manifest lists splits by name, and the benchmarks of several holdouts are made from the plan that it describes."""
    counts = {"train": 9, "val": 2, "seen": 3, "partial": 3, "unseen": 3}
    plans = [
        plan_parts(
            CLEVR, [Part(holdout, dict(order)) for holdout in draw_holdouts(("k4..5",), "coverage", CLEVR, 0)], 0
        )
        for order in (counts.items(), sorted(counts.items()))
    ]
    assert list(plans[0]) == list(plans[1])
