"""What papers publish and what is chosen here; recipes refuse what they cannot be."""

import pytest

from evaluator.training.methods import METHODS, Dreambooth, Finetune, Labclip, Scratch
from evaluator.training.recipe import Recipe, from_preset, origin_said, parse_lora, presets
from generator.base.errors import UserError


def test_published_hyperparameters_are_those_of_the_papers() -> None:
    """LABCLIP: Adam 1e-2, 50 epochs, batch 512 (PUG) or 128 (CLEVR); 1e-3, 10, 1024 (COCO). Pearson et al. 2025,
    appendix A."""
    made = {
        name: from_preset(METHODS[preset["method"]], {}, name, preset.get("matching", False))[0]
        for name, preset in presets().items()
    }
    plain = {name: (each.rate, each.epochs, each.batch, each.images_per_class) for name, each in made.items()}
    assert plain["labclip-pug"] == (1e-2, 50, 512, None)
    assert plain["labclip-clevr"] == (1e-2, 50, 128, None)
    assert plain["labclip-coco"] == (1e-3, 10, 1024, None)
    assert plain["pearson2025"] == (1e-6, 30, 16, 40)
    assert plain["pearson2025-relational"] == (1e-6, 50, 16, 20)
    assert plain["pearson2025-vilt"] == (1e-5, 30, 16, 80)
    assert plain["pearson2025-vilt-relational"] == (1e-6, 50, 16, 40)
    assert plain["hard-positives2024"][1] == 5
    booth = made["pearson2025-dreambooth-relational"]
    assert isinstance(booth, Dreambooth)
    assert (booth.steps, booth.batch, booth.rate, booth.images_per_class) == (5000, 1, 5e-6, 40)
    published = [presets()[f"pearson2025-vilt{name}"]["published"] for name in ("", "-two-object", "-relational")]
    assert ["images_per_class" in each for each in published] == [True, False, True]
    for name, preset in presets().items():
        assert (made[name].decay, made[name].warmup) == (0, 0)
        length = "steps" if preset["method"] == "dreambooth" else "epochs"
        assert {length, "batch", "rate"} <= {*preset["published"], *preset.get("chosen", {})}


def test_the_first_preset_of_a_method_is_its_default() -> None:
    found = [from_preset(Finetune, {}, None, matching)[1]["preset"] for matching in (False, True)]
    assert [*found, from_preset(Labclip, {})[1]["preset"]] == ["bindsplit2026", "pearson2025-vilt", "labclip-pug"]
    with pytest.raises(UserError, match="Unknown preset 'pearson2025' of `score train labclip`"):
        from_preset(Labclip, {}, "pearson2025")


def test_a_method_without_presets_has_the_defaults_of_its_options() -> None:
    class New(Labclip):
        name = "new"

    recipe, origin = from_preset(New, {"rate": 1e-2})
    assert (recipe.rate, recipe.epochs) == (1e-2, New().epochs)
    assert origin_said(origin) == "Given by you: rate."


def test_each_value_is_published_chosen_or_given() -> None:
    recipe, origin = from_preset(Finetune, {"negatives": "none", "rate": 1e-3}, "hard-positives2024")
    assert (recipe.negatives, recipe.rate, recipe.negative_loss) == ("none", 1e-3, "svlc")
    assert origin["published"] == ["epochs", "negative_loss", "positives"]
    assert {"batch", "negative_weight", "positive_weight", "positive_loss"} <= set(origin["chosen"])
    assert not {*origin["chosen"], *origin["published"]} & {"negatives", "rate"}
    assert origin_said(origin).startswith(
        "Preset hard-positives2024. Published (Kamath et al. 2024, appendix D): epochs, negative loss, positives. "
        "Chosen here: batch, decay,"
    )
    assert origin_said(origin).endswith("Given by you: negatives, rate.")


def test_impossible_values_are_refused() -> None:
    with pytest.raises(UserError, match="Unknown negative loss 'svcl'; did you mean 'svlc'"):
        Recipe(negative_loss="svcl")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="Unknown architecture 'dual-vt'; did you mean 'dual-vit'"):
        Scratch(architecture="dual-vt")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="A diffusion model learns from captions"):
        Scratch(architecture="diffusion", negatives="swap")
    for name in ("rate", "negative_weight", "positive_weight"):
        for value in (-1.0, float("nan"), float("inf")):
            with pytest.raises(UserError, match=f"Expected the {name.replace('_', ' ')} to be a number from 0"):
                Recipe(**{name: value})  # type: ignore[arg-type]
    for given in ("a", "1/b", "0/2", "2/0", "-1", "2/nan", "2/2/2"):
        with pytest.raises(UserError, match="Expected --lora to be rank/alpha"):
            METHODS["finetune"](lora=given)  # type: ignore[call-arg]
    assert (parse_lora("8"), parse_lora("none")) == ((8, 16.0), None)
