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
from evaluator.training.data import TrainingData
from evaluator.training.finetune import _checkpoint_activations, finetune
from evaluator.training.lora import Lora
from evaluator.training.presets import PRESETS
from evaluator.training.recipe import Recipe
from evaluator.training.scratch import train_scratch
from evaluator.training.source import benchmark_source
from evaluator.training.towers import Towers
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_clip, pictures

QUICK = replace(PRESETS["hard-positives2024"].recipe, epochs=2, batch=32, rate=1e-3)


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
        ("open_clip", Lora(2, 4)),
        ("CLIP", Lora(2, 4)),
        pytest.param("AltCLIP", Lora(2, 4), marks=pytest.mark.full),
    ],
)
def test_every_family_is_trained_whole_and_by_lora(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path, kind: str, lora: Lora | None
) -> None:
    if lora:
        pytest.importorskip("peft")
    spec = base if kind == "open_clip" else f"hf:{make_clip(tmp_path / 'm', kind)}"
    recipe = replace(QUICK, rate=1e-2 if lora else 1e-3)
    record = finetune(spec, benchmark_source(world, benchmark, recipe), recipe, tmp_path / "out", "cpu", lora)
    assert record["losses"][1] < record["losses"][0]
    assert record["recipe"]["lora"] == (lora and [2, 4])
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
            _checkpoint_activations(model.network)
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
    recipe = Recipe(epochs=1, batch=32, negatives="", flip=False, shift=0)
    source = benchmark_source(world, benchmark, recipe)
    finetune(base, source, recipe, tmp_path / "unknown", "cpu")
    model = load_model(f"jackalope:{tmp_path / 'unknown'}", "cpu")
    unseen = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    train = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train"]
    found = training_of(model, world, benchmark, unseen)
    assert found["status"] == UNKNOWN
    assert "were in its training here. What this model was trained on before that is unknown" in found["said"]
    assert training_of(model, world, benchmark, train[:3])["status"] == CONTAMINATED

    train_scratch(benchmark_source(world, benchmark, recipe), recipe, tmp_path / "scratch", "cpu")
    finetune(f"jackalope:{tmp_path / 'scratch'}", source, recipe, tmp_path / "known", "cpu")
    model = load_model(f"jackalope:{tmp_path / 'known'}", "cpu")
    assert training_of(model, world, benchmark, unseen)["status"] == CLEAN
