"""What papers publish and what is chosen here: each field is one of the two."""

import pytest

from evaluator.training.presets import PRESETS, find_preset
from generator.dataset.errors import UserError


def test_published_hyperparameters_are_those_of_the_papers() -> None:
    """LABCLIP: Adam 1e-2, 50 epochs, batch 512 (PUG) or 128 (CLEVR); 1e-3, 10, 1024 (COCO). Pearson et al. 2025, appendix A: CLIP."""
    plain = {
        name: (p.recipe.rate, p.recipe.epochs, p.recipe.batch, p.recipe.images_per_class) for name, p in PRESETS.items()
    }
    assert plain["labclip-pug"] == (1e-2, 50, 512, None)
    assert plain["labclip-clevr"] == (1e-2, 50, 128, None)
    assert plain["labclip-coco"] == (1e-3, 10, 1024, None)
    assert plain["pearson2025"] == (1e-6, 30, 16, 40)
    assert plain["pearson2025-relational"] == (1e-6, 50, 16, 20)
    assert PRESETS["hard-positives2024"].recipe.epochs == 5
    for preset in PRESETS.values():
        assert (preset.recipe.decay, preset.recipe.warmup, preset.recipe.flip, preset.recipe.shift) == (0, 0, False, 0)


def test_what_is_not_published_is_said_to_be_chosen() -> None:
    preset = find_preset("hard-positives2024", "finetune")
    assert {"rate", "batch", "negative_weight", "positive_weight", "positive_loss"} <= set(preset.chosen)
    assert "Chosen here: batch, rate" in preset.said
    for each in PRESETS.values():
        assert not set(each.published) & set(each.chosen)
        length = "steps" if each.method == "dreambooth" else "epochs"
        assert {length, "batch", "rate"} <= {*each.published, *each.chosen}


def test_a_preset_of_another_method_is_refused() -> None:
    with pytest.raises(UserError, match="Unknown preset 'pearson2025' of `score train labclip`"):
        find_preset("pearson2025", "labclip")
