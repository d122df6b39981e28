"""What papers publish and what is chosen here; recipes refuse what they cannot be."""

import pytest

from evaluator.training.methods import METHODS, Finetune, Labclip, Scratch
from evaluator.training.recipe import Recipe, describe_origin, from_preset, presets
from generator.base.errors import UserError


def test_presets_say_how_long_and_how_fast_and_never_decay() -> None:
    for name, preset in presets().items():
        recipe = from_preset(
            METHODS[preset["method"]],
            {},
            preset=name,
            is_cross_encoder=preset.get("matching", False),
        )[0]
        assert (recipe.decay, recipe.warmup) == (0, 0)
        length = "steps" if preset["method"] == "dreambooth" else "epochs"
        assert {length, "batch", "rate"} <= {*preset["published"], *preset.get("chosen", {})}


def test_presets_that_declare_it_are_the_default_of_their_method() -> None:
    presets = [
        from_preset(Finetune, {}, is_cross_encoder=matching)[1]["preset"]
        for matching in (False, True)
    ]
    assert [*presets, from_preset(Labclip, {})[1]["preset"]] == [
        "bindsplit2026",
        "pearson2025-vilt",
        "labclip-pug",
    ]
    with pytest.raises(UserError, match="Unknown preset 'pearson2025' of `score train labclip`"):
        from_preset(Labclip, {}, preset="pearson2025")


def test_a_method_without_presets_has_the_defaults_of_its_options() -> None:
    class New(Labclip):
        name = "new"

    recipe, origin = from_preset(New, {"rate": 1e-2})
    assert (recipe.rate, recipe.epochs) == (1e-2, New().epochs)
    assert describe_origin(origin) == "Given by you: rate."


def test_each_value_is_published_chosen_or_given() -> None:
    recipe, origin = from_preset(
        Finetune, {"negatives": "none", "rate": 1e-3}, preset="hard-positives2024"
    )
    assert (recipe.negatives, recipe.rate, recipe.negative_loss) == ("none", 1e-3, "svlc")
    assert origin["published"] == ["epochs", "negative_loss", "positives"]
    assert {"batch", "negative_weight", "positive_weight", "positive_loss"} <= set(origin["chosen"])
    assert not {*origin["chosen"], *origin["published"]} & {"negatives", "rate"}
    assert describe_origin(origin).startswith(
        "Preset hard-positives2024. Published (Kamath et al. 2024, appendix D): epochs, negative "
        "loss, positives. Chosen here: batch, decay,"
    )
    assert describe_origin(origin).endswith("Given by you: negatives, rate.")


def test_impossible_values_are_refused() -> None:
    with pytest.raises(UserError, match="Unknown negative loss 'svcl'; did you mean 'svlc'"):
        Recipe(negative_loss="svcl")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="Unknown architecture 'dual-vt'; did you mean 'dual-vit'"):
        Scratch(architecture="dual-vt")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="A diffusion model learns from captions"):
        Scratch(architecture="diffusion", negatives="swap")
    for name in ("rate", "negative_weight", "positive_weight"):
        for value in (-1.0, float("nan"), float("inf")):
            with pytest.raises(
                UserError, match=f"Expected the {name.replace('_', ' ')} to be a number from 0"
            ):
                Recipe(**{name: value})  # type: ignore[arg-type]
    for lora in ("a", "1/b", "0/2", "2/0", "-1", "2/nan", "2/2/2"):
        with pytest.raises(UserError, match="Expected --lora to be rank/alpha"):
            METHODS["finetune"](lora=lora)  # type: ignore[call-arg]
