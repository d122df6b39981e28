"""A model as training sees it: the embeddings that score it, and refusals of what cannot be trained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training import data as prepared
from evaluator.training.contrastive import Towers
from evaluator.training.data import TrainingData
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_blip, make_clip


@pytest.fixture(params=["open_clip", "CLIP", "Siglip"])
def model(request: pytest.FixtureRequest, tiny: Callable[..., Tiny], tmp_path: Path) -> Any:
    if request.param == "open_clip":
        return load_model(f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", "cpu")
    return load_model(f"hf:{make_clip(tmp_path / 'model', request.param)}", "cpu")


def test_training_embeds_as_scoring_does_and_has_gradients(model: Any, data: TrainingData) -> None:
    images, texts = np.array([3, 0, 3]), np.array([5, 2])
    expected = (
        model.encode_images([where.image(name) for where, name in (data.images[i] for i in images)]),
        model.encode_texts([data.texts[i] for i in texts]),
    )
    learner = Towers(model, data)
    learner.network.eval()
    found = learner.embed(images, texts, 0)
    for one, other in zip(found, expected, strict=True):
        assert one.requires_grad
        assert one.detach().numpy() == pytest.approx(other, abs=3e-2)  # bfloat16, where it is fast
    (found[0].sum() + found[1].sum()).backward()
    assert sum(p.grad is not None and bool(p.grad.any()) for p in learner.network.parameters()) > 10


def test_the_precision_is_what_the_towers_compute_in(
    tiny: Callable[..., Tiny], data: TrainingData, tmp_path: Path
) -> None:
    model = load_model(f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", "cpu")
    expected = torch.from_numpy(model.encode_images([data.images[0][0].image(data.scenes[0])]))
    exact, rounded = (
        Towers(model, data, precision=precision).embed(np.array([0]), np.array([0]), 0)[0]
        for precision in ("float32", "bfloat16")
    )
    assert torch.allclose(exact, expected, atol=1e-6)
    assert 1e-5 < (rounded - expected).abs().max() < 3e-2
    assert rounded.dtype == torch.float32


def test_images_beyond_memory_are_read_again(
    tiny: Callable[..., Tiny], data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", "cpu")
    read: list[str] = []

    class Counted:
        def image(self, name: str) -> Any:
            read.append(name)
            return data.images[0][0].image(name)

    counted = replace(data, images=[(Counted(), name) for name in data.scenes])
    rows, texts = np.array([0, 1]), np.array([0])
    kept = Towers(model, counted)  # type: ignore[arg-type]
    first, second = kept.embed(rows, texts, 0)[0], kept.embed(rows, texts, 0)[0]
    assert len(read) == 2
    assert torch.equal(first, second)
    monkeypatch.setattr(prepared, "_MOST_CACHED", 0)
    read.clear()
    not_kept = Towers(model, counted)  # type: ignore[arg-type]
    assert torch.equal(not_kept.embed(rows, texts, 0)[0], first)
    not_kept.embed(rows, texts, 0)
    assert len(read) == 4


def test_texts_that_would_be_cut_are_refused_with_the_length_that_is_needed(
    tiny: Callable[..., Tiny], data: TrainingData, tmp_path: Path
) -> None:
    short = tiny("short", context_length=8)
    model: Any = load_model(f"open_clip:short@{short.save(tmp_path / 'short.pt')}", "cpu")
    longest = max(data.texts, key=lambda text: len(text.split()))
    with pytest.raises(
        UserError, match=r"reads 8 tokens and \d+ of \d+ training texts need up to (\d+), such as"
    ) as error:
        Towers(model, data)
    needed = int(str(error.value).split("need up to ")[1].split(",")[0])
    assert needed >= len(longest.split()) + 2
    enough = tiny("enough", context_length=needed)
    Towers(load_model(f"open_clip:enough@{enough.save(tmp_path / 'enough.pt')}", "cpu"), data)  # type: ignore[arg-type]


def test_what_cannot_be_trained_so_is_refused(data: TrainingData, tmp_path: Path) -> None:
    for spec in (f"hf:{make_blip(tmp_path / 'blip')}", "blind:length"):
        with pytest.raises(
            UserError, match="cannot be trained this way: it is no dual encoder with a learnable temperature"
        ):
            Towers(load_model(spec, "cpu"), data)  # type: ignore[arg-type]
