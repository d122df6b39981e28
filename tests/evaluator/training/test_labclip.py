"""LABCLIP: its first step in closed form, and the model that it ends in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from evaluator.training.contrastive import Alignment, contrastive, text_head
from evaluator.training.methods import Labclip
from evaluator.training.recipe import from_preset
from generator.base.errors import UserError
from tests.evaluator.tiny_models import pictures

TEXTS = ["a red cube and a blue cone", "a blue cube and a red cone", "a cube"]
QUICK = from_preset(Labclip, {"epochs": 2, "batch": 32})[0]


def _unit(seed: int, n: int, d: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_first_gradient_is_its_closed_form_at_the_identity() -> None:
    """At W = I and unit texts t: dL/dW = scale * sum_j (I - t_j t_j') (sum_i g_ij x_i) t_j', with g
    = dL/dlogits, g = ((softmax over texts - I) + (softmax over images - I)) / 2n."""
    n, d, scale = 5, 4, 7.0
    x, t = _unit(0, n, d), _unit(10, n, d)
    learner = Alignment(
        *(torch.from_numpy(embeddings) for embeddings in (x, t)), torch.tensor(np.log(scale))
    )
    learner.matrix = nn.Parameter(torch.eye(d, dtype=torch.float64))
    images, texts = learner.embed(np.arange(n), np.arange(n), 0)
    contrastive(
        learner.logit_scale.exp() * images @ texts.T, torch.zeros((n, n), dtype=torch.bool)
    ).backward()
    e = np.exp(scale * x @ t.T)
    g = (e / e.sum(1, keepdims=True) + e / e.sum(0, keepdims=True) - 2 * np.eye(n)) / (2 * n)
    expected = np.zeros((d, d))
    for j in range(n):
        expected += scale * np.outer((np.eye(d) - np.outer(t[j], t[j])) @ (g[:, j] @ x), t[j])
    assert learner.matrix.grad is not None
    assert learner.matrix.grad.numpy() == pytest.approx(expected, abs=1e-10)
    temperature = (g * np.log(e)).sum()
    assert learner.logit_scale.grad is not None
    assert learner.logit_scale.grad.item() == pytest.approx(temperature)


def test_the_first_step_of_adam_goes_the_rate_along_each_sign(
    continue_training: Callable[..., Any], base: str
) -> None:
    _, *models = continue_training(replace(QUICK, epochs=1, batch=96, rate=1e-2), base)
    heads = [text_head(model.network, "").detach().double() for model in models]
    matrix = torch.linalg.lstsq(heads[0], heads[1]).solution.T
    assert (matrix - torch.eye(16)).abs().numpy() == pytest.approx(
        np.full((16, 16), 1e-2), rel=0.02
    )


@pytest.mark.parametrize("kind", ["open_clip", "CLIP", "Siglip"])
def test_the_result_is_the_model_with_its_texts_after_w(
    continue_training: Callable[..., Any],
    make_base: Callable[..., str],
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = make_base(kind)
    alignments: list[Alignment] = []
    merge_into = Alignment.merge_into
    monkeypatch.setattr(
        Alignment, "merge_into", lambda self, *of: (alignments.append(self), merge_into(self, *of))
    )
    record, before, after = continue_training(QUICK, spec)
    assert record["losses"][1] < record["losses"][0]
    assert np.array_equal(after.encode_images(pictures()), before.encode_images(pictures()))
    aligned = before.encode_texts(TEXTS) @ alignments[0].matrix.detach().numpy().T
    expected = aligned / np.linalg.norm(aligned, axis=1, keepdims=True)
    assert after.encode_texts(TEXTS) == pytest.approx(expected, abs=1e-5)
    assert after.network.logit_scale.item() == pytest.approx(alignments[0].logit_scale.item())
    began = {"model": spec, "weights_sha256": before.info["weights_sha256"], "stand_in": False}
    assert after.info["trained_on"]["base"] == began


def test_a_text_tower_without_a_linear_end_is_refused() -> None:
    with pytest.raises(
        UserError, match="'m' cannot be aligned: its text tower does not end in a linear layer"
    ):
        text_head(nn.Identity(), "m")
