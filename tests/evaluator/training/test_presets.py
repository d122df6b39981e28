"""What papers publish and what is chosen here: each field is one of the two."""

from dataclasses import replace

import pytest

from evaluator.training.presets import PRESETS, find_preset, origin_said
from generator.base.errors import UserError


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
    origin = preset.origin(preset.recipe, [])
    assert {"rate", "batch", "negative_weight", "positive_weight", "positive_loss"} <= set(origin["chosen"])
    assert origin_said(origin).startswith(
        "Preset hard-positives2024. Published (Kamath et al. 2024, appendix D): epochs, negatives, negative loss, positives. "
        "Chosen here: batch, rate,"
    )
    for name, each in PRESETS.items():
        origin = each.origin(each.recipe, [])
        assert (origin["preset"], set(origin["published"]), origin["given"]) == (name, set(each.published), [])
        assert not set(origin["published"]) & set(origin["chosen"])
        length = "steps" if each.method == "dreambooth" else "epochs"
        assert {length, "batch", "rate"} <= {*origin["published"], *origin["chosen"]}


def test_what_options_change_is_neither_published_nor_chosen() -> None:
    """And a loss of negatives matters only where there are some."""
    preset = find_preset("bindsplit2026", "finetune")
    origin = preset.origin(replace(preset.recipe, negatives="", rate=1e-3), ["negatives", "rate"])
    assert origin["published"] == []
    assert origin["given"] == ["negatives", "rate"]
    assert origin["chosen"] == ["epochs", "batch", "decay", "images_per_class", "positives"]
    assert origin_said(origin).endswith(" images per class, positives. Given by you: negatives, rate.")
    labclip = find_preset("labclip-pug", "labclip")
    assert "negative_loss" in labclip.origin(replace(labclip.recipe, negatives="swap"), ["negatives"])["chosen"]


def test_the_paper_gives_no_images_of_a_class_for_vilt_on_two_objects() -> None:
    published = [PRESETS[f"pearson2025-vilt{name}"].published for name in ("", "-two-object", "-relational")]
    assert ["images_per_class" in each for each in published] == [True, False, True]
    assert PRESETS["pearson2025-vilt"].source.endswith("single objects")


def test_a_preset_of_another_method_is_refused() -> None:
    with pytest.raises(UserError, match="Unknown preset 'pearson2025' of `score train labclip`"):
        find_preset("pearson2025", "labclip")
