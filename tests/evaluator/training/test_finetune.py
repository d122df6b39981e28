"""Fine-tuning: whole and by LoRA, of every family; what it changes, and what is recorded."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.provenance.contamination import CLEAN, CONTAMINATED, UNKNOWN, training_of
from evaluator.training.contrastive import Towers
from evaluator.training.data import TrainingData
from evaluator.training.methods import Finetune, Scratch
from evaluator.training.networks import checkpoint_activations
from evaluator.training.recipe import from_preset
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_clip, pictures

QUICK = from_preset(Finetune, {"epochs": 2, "batch": 32, "rate": 1e-3}, "hard-positives2024")[0]


@pytest.fixture
def base(tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    return f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"


@pytest.mark.parametrize(
    ("kind", "lora"),
    [
        ("open_clip", None),
        ("CLIP", None),
        ("Siglip", None),
        ("AltCLIP", None),
        ("open_clip", "2/4"),
        ("CLIP", "2/4"),
        pytest.param("AltCLIP", "2/4", marks=pytest.mark.full),
    ],
)
def test_every_family_is_trained_whole_and_by_lora(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path, kind: str, lora: str | None
) -> None:
    if lora:
        pytest.importorskip("peft")
    spec = base if kind == "open_clip" else f"hf:{make_clip(tmp_path / 'm', kind)}"
    recipe = replace(QUICK, rate=1e-2 if lora else 1e-3, lora=lora or "none")
    record = train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / "out", spec, "cpu")
    assert record["losses"][1] < record["losses"][0]
    assert record["recipe"]["lora"] == (lora or "none")
    before, after = (load_model(each, "cpu") for each in (spec, f"jackalope:{tmp_path / 'out'}"))
    for name, inputs in (("encode_images", pictures()), ("encode_texts", ["a red cube"])):
        assert np.abs(getattr(before, name)(inputs) - getattr(after, name)(inputs)).max() > 1e-4
    assert sum(p.numel() for p in after.network.parameters()) == before.info["parameters"]  # type: ignore[union-attr]


@pytest.mark.parametrize("family", ["open_clip", "hf"])
def test_activations_that_are_computed_again_change_nothing(
    data: TrainingData, base: str, tmp_path: Path, family: str
) -> None:
    """A layer's forward pass runs twice, and its gradient is the same."""
    spec = base if family == "open_clip" else f"hf:{make_clip(tmp_path / 'm')}"
    found = []
    for again in (False, True):
        model: Any = load_model(spec, "cpu")
        if again:
            checkpoint_activations(model.network)
        layer = next(
            module for name, module in model.network.named_modules() if name.endswith((".mlp", "layers.0.mlp"))
        )
        calls: list[int] = []
        layer.register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        images, texts = Towers(model, data).embed(np.arange(3), np.arange(3), 0)
        (images * texts).sum().backward()
        gradient = torch.cat([p.grad.flatten() for p in model.network.parameters() if p.grad is not None])
        found.append((len(calls), gradient))
    assert [calls for calls, _ in found] == [1, 2]
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)


def test_what_is_known_of_a_training_is_its_own_and_that_of_its_base(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path, little: None
) -> None:
    """Of a base whose training is unknown, overlaps of the fine-tuning still contaminate."""
    recipe = Finetune(epochs=1, batch=32)
    source = benchmark_source(world, benchmark, recipe)
    train(recipe, source, tmp_path / "unknown", base, "cpu")
    model = load_model(f"jackalope:{tmp_path / 'unknown'}", "cpu")
    unseen = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    shown = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train"]
    found = training_of(model, world, benchmark, unseen)
    assert found["status"] == UNKNOWN
    assert "were in its training here. What this model was trained on before that is unknown" in found["said"]
    assert training_of(model, world, benchmark, shown[:3])["status"] == CONTAMINATED

    train(Scratch(epochs=1, batch=32, negatives="none"), source, tmp_path / "scratch", device="cpu")
    train(recipe, source, tmp_path / "known", f"jackalope:{tmp_path / 'scratch'}", "cpu")
    model = load_model(f"jackalope:{tmp_path / 'known'}", "cpu")
    assert training_of(model, world, benchmark, unseen)["status"] == CLEAN
