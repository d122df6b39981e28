"""Each loss against its definition, and its gradient against finite differences."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from evaluator.training.contrastive import contrastive, hard_negative, hard_positive

N, ADDED = 4, 3


def _numbers(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()


def _true(seed: int) -> Tensor:
    return torch.rand((N, N + ADDED), generator=torch.Generator().manual_seed(seed)) < 0.3


def _explicit(logits: np.ndarray, true: np.ndarray, weight: float) -> float:
    """The definition, term by term."""
    total = 0.0
    for i in range(N):
        row = sum(
            (1.0 if j < N else weight) * np.exp(logits[i, j]) for j in range(N + ADDED) if j == i or not true[i, j]
        )
        column = sum(np.exp(logits[j, i]) for j in range(N) if j == i or not true[j, i])
        total += 2 * np.log(np.exp(logits[i, i])) - np.log(row) - np.log(column)
    return -total / N / 2


@given(seed=st.integers(0, 1000), weight=st.sampled_from([0.0, 0.25, 1.0, 2.0]))
def test_the_contrastive_loss_is_its_definition(seed: int, weight: float) -> None:
    logits, true = _numbers(N, N + ADDED, seed=seed).detach(), _true(seed)
    assert float(contrastive(logits, true, weight)) == pytest.approx(_explicit(logits.numpy(), true.numpy(), weight))


def test_negatives_of_no_weight_are_as_if_there_were_none() -> None:
    logits, true = _numbers(N, N + ADDED).detach(), _true(1)
    without = contrastive(logits[:, :N], true[:, :N])
    assert torch.equal(contrastive(logits, true, 0.0), without)
    assert float(contrastive(logits, true, 1.0)) > float(without)


def test_hard_losses_are_their_definitions() -> None:
    caption, other = np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 0.5])
    share = np.exp(caption) / (np.exp(caption) + np.exp(other))
    args = torch.from_numpy(caption), torch.from_numpy(other)
    assert float(hard_negative(*args)) == pytest.approx(-np.log(share).mean())
    divergence = 0.5 * np.log(0.5 / share) + 0.5 * np.log(0.5 / (1 - share))
    assert float(hard_positive(*args)) == pytest.approx(divergence.mean())


def test_a_positive_should_score_as_its_caption_does() -> None:
    apart = torch.tensor([3.0])
    assert float(hard_positive(apart, apart)) == pytest.approx(0, abs=1e-7)
    up, down = (float(hard_positive(torch.zeros(1), each)) for each in (apart, -apart))
    assert up == pytest.approx(down)
    assert up > 0.5


@pytest.mark.parametrize("loss", [hard_negative, hard_positive])
def test_a_batch_without_hard_texts_costs_nothing(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert float(loss(torch.zeros(0), torch.zeros(0))) == 0


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_gradients_of_the_contrastive_loss_are_finite_differences(weight: float) -> None:
    assert gradcheck(lambda logits: contrastive(logits, _true(0), weight), (_numbers(N, N + ADDED),))


@pytest.mark.parametrize("loss", [hard_negative, hard_positive])
def test_gradients_of_hard_losses_are_finite_differences(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert gradcheck(loss, (_numbers(5), _numbers(5, seed=1)))
