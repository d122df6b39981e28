"""Each loss against its definition, and the loss of a step of dual encoders."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from evaluator.training.contrastive import Contrastive, contrastive, hard_negative, hard_positive
from evaluator.training.data import Step, TrainingData
from evaluator.training.fit import Checkpoint, fit
from evaluator.training.recipe import Recipe
from tests.evaluator.training.conftest import Fixed, toy_data

N, ADDED = 4, 3


def _numbers(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(shape, generator=generator, dtype=torch.float64)


def _true(seed: int) -> Tensor:
    return torch.rand((N, N + ADDED), generator=torch.Generator().manual_seed(seed)) < 0.3


def _explicit(logits: np.ndarray, true: np.ndarray, weight: float) -> float:
    """The definition, term by term."""
    total = 0.0
    for i in range(N):
        row = sum(
            (1.0 if j < N else weight) * np.exp(logits[i, j])
            for j in range(N + ADDED)
            if j == i or not true[i, j]
        )
        column = sum(np.exp(logits[j, i]) for j in range(N) if j == i or not true[j, i])
        total += 2 * np.log(np.exp(logits[i, i])) - np.log(row) - np.log(column)
    return -total / N / 2


@given(seed=st.integers(0, 1000), weight=st.sampled_from([0.0, 0.25, 1.0, 2.0]))
def test_the_contrastive_loss_is_its_definition(seed: int, weight: float) -> None:
    logits, true = _numbers(N, N + ADDED, seed=seed), _true(seed)
    assert float(contrastive(logits, true, weight)) == pytest.approx(
        _explicit(logits.numpy(), true.numpy(), weight)
    )


def test_hard_losses_are_their_definitions() -> None:
    caption, other = np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 0.5])
    share = np.exp(caption) / (np.exp(caption) + np.exp(other))
    args = torch.from_numpy(caption), torch.from_numpy(other)
    assert float(hard_negative(*args)) == pytest.approx(-np.log(share).mean())
    divergence = 0.5 * np.log(0.5 / share) + 0.5 * np.log(0.5 / (1 - share))
    assert float(hard_positive(*args)) == pytest.approx(divergence.mean())
    assert (
        float(hard_negative(torch.zeros(0), torch.zeros(0)))
        == float(hard_positive(torch.zeros(0), torch.zeros(0)))
        == 0
    )


# 0 and 1 show the same scene; the negative of 2 is true of 0; 3 has neither negative nor positive
_TRUE = [[0, 1, 3], [0, 1, 5], [2, 8, -1], [4, -1, -1]]
_STEP = Step(np.arange(4), np.array([0, 1, 2, 4]), np.array([6, 7, 0, -1]), np.array([3, 5, 8, -1]))


def _toy() -> tuple[TrainingData, Fixed]:
    generator = torch.Generator().manual_seed(0)
    numbers = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((4, 6), (9, 6))
    )
    return toy_data([0, 1, 2, 4], _TRUE, [6, 7, 0, -1], [3, 5, 8, -1]), Fixed(*numbers)


def _cosines(learner: Fixed) -> torch.Tensor:
    unit = [
        embeddings / embeddings.norm(dim=1, keepdim=True)
        for embeddings in (learner.images, learner.texts)
    ]
    return 20 * unit[0] @ unit[1].T


def _mask(columns: list[int]) -> torch.Tensor:
    return torch.tensor([[text in row for text in columns] for row in _TRUE])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_step_of_negclip_has_the_negatives_as_columns(weight: float) -> None:
    data, learner = _toy()
    recipe = Recipe(negative_weight=weight)
    got = Contrastive(learner, data, recipe).loss(_STEP, 0)
    columns = [0, 1, 2, 4, 6, 7, 0]
    assert learner.requests == [([0, 1, 2, 3], [*columns, 3, 5, 8])]
    expected = contrastive(_cosines(learner)[:, columns], _mask(columns), weight)
    assert got.item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_step_of_svlc_and_analogies_adds_their_losses_by_weight() -> None:
    data, learner = _toy()
    recipe = Recipe(
        negative_loss="svlc", positive_loss="analogy", negative_weight=0.25, positive_weight=2.0
    )
    got = Contrastive(learner, data, recipe).loss(_STEP, 0)
    cosines, own = _cosines(learner), [0, 1, 2, 4]
    caption = torch.stack([cosines[i, own[i]] for i in range(3)])
    negative = torch.stack([cosines[i, t] for i, t in enumerate((6, 7, 0))])
    positive = torch.stack([cosines[i, t] for i, t in enumerate((3, 5, 8))])
    expected = contrastive(cosines[:, own], _mask(own))
    expected = (
        expected + 0.25 * hard_negative(caption, negative) + 2 * hard_positive(caption, positive)
    )
    assert got.item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("bags", [False, True])
def test_a_bag_is_not_taught_by_swaps(bags: bool, tmp_path: Path) -> None:
    """Two images of swapped captions: a bag has nothing to learn from them, the usual loss has."""
    data = toy_data(
        [0, 1], [[0], [1]], texts=["a red cube and a blue cone", "a blue cube and a red cone"]
    )
    learner = Fixed(torch.eye(2), torch.eye(2).flip(0), 5.0)
    recipe = Recipe(epochs=1, batch=2, rate=0.1)
    losses = fit(
        Contrastive(learner, data, recipe, bags), data, recipe, Checkpoint(tmp_path / "state", {})
    )
    assert (losses[0] > 1) is not bags
    assert (losses[0] == 0) is bags
