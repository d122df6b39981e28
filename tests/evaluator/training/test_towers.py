"""A model as training sees it: the embeddings that score it, and refusals of what cannot be
trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training.contrastive import Towers
from evaluator.training.data import TrainingData
from generator.base.errors import UserError
from tests.evaluator.tiny_models import make_blip


@pytest.mark.parametrize("family", ["open_clip", "CLIP", "Siglip"])
def test_training_embeds_as_scoring_does_and_has_gradients(
    make_base: Callable[..., str], data: TrainingData, family: str
) -> None:
    model: Any = load_model(make_base(family), "cpu")
    images, texts = np.array([3, 0, 3]), np.array([5, 2])
    expected = (
        model.encode_images(
            [where.image(name) for where, name in (data.images[i] for i in images)]
        ),
        model.encode_texts([data.texts[i] for i in texts]),
    )
    learner = Towers(model, data, precision="auto")
    learner.network.eval()
    embeddings = learner.embed(images, texts, 0)
    for one, other in zip(embeddings, expected, strict=True):
        assert one.requires_grad
        assert one.detach().numpy() == pytest.approx(other, abs=3e-2)  # bfloat16, where it is fast
    (embeddings[0].sum() + embeddings[1].sum()).backward()
    assert sum(p.grad is not None and bool(p.grad.any()) for p in learner.network.parameters()) > 10


def test_the_precision_is_what_the_towers_compute_in(base: str, data: TrainingData) -> None:
    model: Any = load_model(base, "cpu")
    expected = torch.from_numpy(model.encode_images([data.images[0][0].image(data.scenes[0])]))
    exact, rounded = (
        Towers(model, data, precision=precision).embed(np.array([0]), np.array([0]), 0)[0]
        for precision in ("float32", "bfloat16")
    )
    assert torch.allclose(exact, expected, atol=1e-6)
    assert 1e-5 < (rounded - expected).abs().max() < 3e-2
    assert rounded.dtype == torch.float32


def test_texts_that_would_be_cut_are_refused_with_the_length_that_is_needed(
    make_base: Callable[..., str], data: TrainingData
) -> None:
    model: Any = load_model(make_base(name="short", context_length=8), "cpu")
    longest = max(data.texts, key=lambda text: len(text.split()))
    with pytest.raises(
        UserError, match=r"reads 8 tokens and \d+ of \d+ training texts need up to (\d+), such"
    ) as error:
        Towers(model, data, precision="auto")
    needed = int(str(error.value).split("need up to ")[1].split(",")[0])
    assert needed >= len(longest.split()) + 2
    enough: Any = load_model(make_base(name="enough", context_length=needed), "cpu")
    Towers(enough, data, precision="auto")


def test_what_cannot_be_trained_so_is_refused(data: TrainingData, tmp_path: Path) -> None:
    for spec in (f"hf:{make_blip(tmp_path / 'blip')}", "blind:length"):
        model: Any = load_model(spec, "cpu")
        with pytest.raises(
            UserError,
            match="cannot be trained this way: it is not a dual encoder with a learnable temp",
        ):
            Towers(model, data, precision="auto")
