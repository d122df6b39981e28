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
from evaluator.training.methods import Finetune, Scratch
from evaluator.training.networks import with_lora
from evaluator.training.recipe import from_preset
from generator.dataset.reader import Benchmark, World
from tests.evaluator.tiny_models import pictures

TEXTS = ["a red cube", "a blue cone"]
QUICK = from_preset(
    Finetune, {"epochs": 2, "batch": 32, "rate": 1e-3}, preset="hard-positives2024"
)[0]


@pytest.mark.parametrize(
    ("kind", "lora"),
    [
        ("open_clip", None),
        ("Siglip", None),
        ("AltCLIP", None),
        ("open_clip", "2/4"),
        ("CLIP", "2/4"),
        pytest.param("AltCLIP", "2/4", marks=pytest.mark.full),
    ],
)
def test_every_family_is_trained_whole_and_by_lora(
    continue_training: Callable[..., Any],
    make_base: Callable[..., str],
    kind: str,
    lora: str | None,
) -> None:
    if lora:
        pytest.importorskip("peft")
    recipe = replace(QUICK, rate=1e-2 if lora else 1e-3, lora=lora or "none")
    record, before, after = continue_training(recipe, make_base(kind))
    assert record["losses"][1] < record["losses"][0]
    assert record["recipe"]["lora"] == (lora or "none")
    for name, inputs in (("encode_images", pictures()), ("encode_texts", ["a red cube"])):
        assert np.abs(getattr(before, name)(inputs) - getattr(after, name)(inputs)).max() > 1e-4
    assert sum(p.numel() for p in after.network.parameters()) == before.info["parameters"]


def test_what_is_known_of_a_training_is_its_own_and_that_of_its_base(
    trains: Callable[..., Any],
    world: World,
    benchmark: Benchmark,
    base: str,
    tmp_path: Path,
    little: None,
) -> None:
    """Of a base whose training is unknown, overlaps of the fine-tuning still contaminate."""
    recipe = Finetune(epochs=1, batch=32)
    trains(recipe, base, "unknown")
    model = load_model(f"jackalope:{tmp_path / 'unknown'}", "cpu")
    unseen = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    train_scenes = [
        row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train"
    ]
    contamination = training_of(model, world, benchmark=benchmark, images=unseen)
    assert contamination["status"] == UNKNOWN
    assert (
        "were in its training here. The earlier training of this model is unknown"
        in contamination["sentence"]
    )
    assert (
        training_of(model, world, benchmark=benchmark, images=train_scenes[:3])["status"]
        == CONTAMINATED
    )

    trains(Scratch(epochs=1, batch=32, negatives="none"), out="scratch")
    trains(recipe, f"jackalope:{tmp_path / 'scratch'}", "known")
    model = load_model(f"jackalope:{tmp_path / 'known'}", "cpu")
    assert training_of(model, world, benchmark=benchmark, images=unseen)["status"] == CLEAN


@pytest.mark.parametrize("family", ["open_clip", "CLIP"])
def test_low_rank_changes_start_at_none_and_end_in_the_weights(
    make_base: Callable[..., str], family: str
) -> None:
    pytest.importorskip("peft")
    model: Any = load_model(make_base(family), "cpu")
    names, before = (
        sorted(name for name, _ in model.network.named_parameters()),
        model.encode_texts(TEXTS),
    )
    weights = {name: weight.clone() for name, weight in model.network.state_dict().items()}
    merge = with_lora(model.network, 2, 4.0, 0)
    assert model.encode_texts(TEXTS) == pytest.approx(before, abs=1e-6)
    trained = {name: p for name, p in model.network.named_parameters() if p.requires_grad}
    assert trained
    assert all("lora_" in name for name in trained)
    with torch.no_grad():
        for parameter in trained.values():
            parameter.add_(0.1)
    texts, images = model.encode_texts(TEXTS), model.encode_images(pictures())
    assert np.abs(texts - before).max() > 1e-3
    merge()
    assert sorted(name for name, _ in model.network.named_parameters()) == names
    assert model.encode_texts(TEXTS) == pytest.approx(texts, abs=1e-5)
    assert model.encode_images(pictures()) == pytest.approx(images, abs=1e-5)
    changed = {
        name
        for name, weight in model.network.state_dict().items()
        if not torch.equal(weight, weights[name])
    }
    assert len(changed) >= 8
    for name in changed:
        assert (
            torch.linalg.matrix_rank(model.network.state_dict()[name] - weights[name], rtol=1e-4)
            <= 2 * 3
        )


def test_the_seed_draws_the_changes(base: str) -> None:
    pytest.importorskip("peft")
    weights = []
    for seed in (0, 0, 1):
        model: Any = load_model(base, "cpu")
        with_lora(model.network, 2, 4.0, seed)
        weights.append(
            torch.cat([p.flatten() for n, p in model.network.named_parameters() if "lora_A" in n])
        )
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
