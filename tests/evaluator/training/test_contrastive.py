"""The loss of a step of dual encoders."""

from pathlib import Path

import numpy as np
import pytest
import torch

from evaluator.training.contrastive import Contrastive, contrastive, hard_negative, hard_positive
from evaluator.training.data import Step, TrainingData
from evaluator.training.fit import Checkpoint, fit
from evaluator.training.recipe import Recipe
from tests.evaluator.training.conftest import Fixed

# 0 and 1 show the same scene; the negative of 2 is true of 0; 3 has neither negative nor positive
_CAPTIONS, _NEGATIVES, _POSITIVES = [[0], [1], [2], [4]], [[[6]], [[7]], [[0]], [[-1]]], [[[3]], [[5]], [[8]], [[-1]]]
_TRUE = [[0, 1, 3], [0, 1, 5], [2, 8, -1], [4, -1, -1]]
_STEP = Step(np.arange(4), np.array([0, 1, 2, 4]), np.array([6, 7, 0, -1]), np.array([3, 5, 8, -1]))


def _toy(seed: int = 0) -> tuple[TrainingData, Fixed]:
    generator = torch.Generator().manual_seed(seed)
    data = TrainingData(
        [f"text {i}" for i in range(9)],
        np.array(_CAPTIONS),
        np.array(_NEGATIVES),
        np.array(_POSITIVES),
        np.array(_TRUE),
        [(None, str(i)) for i in range(4)],
        True,  # type: ignore[list-item]
    )
    numbers = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((4, 6), (9, 6)))
    return data, Fixed(*numbers)


def _cosines(learner: Fixed) -> torch.Tensor:
    unit = [each / each.norm(dim=1, keepdim=True) for each in (learner.images, learner.texts)]
    return 20 * unit[0] @ unit[1].T


def _mask(columns: list[int]) -> torch.Tensor:
    return torch.tensor([[text in row for text in columns] for row in _TRUE])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_step_of_negclip_has_the_negatives_as_columns(weight: float) -> None:
    data, learner = _toy()
    recipe = Recipe(negative_weight=weight)
    got = Contrastive(learner, data, recipe).loss(_STEP, 0)
    columns = [0, 1, 2, 4, 6, 7, 0]
    assert learner.asked == [([0, 1, 2, 3], [*columns, 3, 5, 8])]
    expected = contrastive(_cosines(learner)[:, columns], _mask(columns), weight)
    assert got.item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_step_of_svlc_and_analogies_adds_their_losses_by_weight() -> None:
    data, learner = _toy()
    recipe = Recipe(negative_loss="svlc", positive_loss="analogy", negative_weight=0.25, positive_weight=2.0)
    got = Contrastive(learner, data, recipe).loss(_STEP, 0)
    cosines, own = _cosines(learner), [0, 1, 2, 4]
    caption = torch.stack([cosines[i, own[i]] for i in range(3)])
    negative = torch.stack([cosines[i, t] for i, t in enumerate((6, 7, 0))])
    positive = torch.stack([cosines[i, t] for i, t in enumerate((3, 5, 8))])
    expected = contrastive(cosines[:, own], _mask(own))
    expected = expected + 0.25 * hard_negative(caption, negative) + 2 * hard_positive(caption, positive)
    assert got.item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("bags", [False, True])
def test_a_bag_is_not_taught_by_swaps(bags: bool, tmp_path: Path) -> None:
    """Two images of swapped captions: a bag has nothing to learn from them, the usual loss has."""
    none = np.full((2, 1, 1), -1)
    texts, true = ["a red cube and a blue cone", "a blue cube and a red cone"], np.array([[0], [1]])
    data = TrainingData(texts, true, none, none, true, [(None, "0"), (None, "1")], True)  # type: ignore[list-item]
    learner = Fixed(torch.eye(2), torch.eye(2).flip(0), 5.0)
    recipe = Recipe(epochs=1, batch=2, rate=0.1)
    losses = fit(Contrastive(learner, data, recipe, bags), data, recipe, Checkpoint(tmp_path / "state", {}))
    assert (losses[0] > 1) is not bags
    assert (losses[0] == 0) is bags
