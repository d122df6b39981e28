"""What a recipe refuses."""

import pytest

from evaluator.training.recipe import Recipe
from generator.base.errors import UserError


def test_unknown_losses_and_impossible_weights_are_refused() -> None:
    with pytest.raises(UserError, match="Unknown negative loss 'svcl'; did you mean 'svlc'"):
        Recipe(negative_loss="svcl")
    with pytest.raises(UserError, match="Unknown positive loss 'captions'; did you mean 'caption'"):
        Recipe(positive_loss="captions")
    for name in ("rate", "negative_weight", "positive_weight"):
        for value in (-1.0, float("nan"), float("inf")):
            with pytest.raises(UserError, match=f"Expected the {name.replace('_', ' ')} to be a number from 0"):
                Recipe(**{name: value})  # type: ignore[arg-type]
