"""The networks of new models: what they are, and that each learns and is saved."""

from pathlib import Path

import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training.methods import Scratch
from evaluator.training.networks import network_config, new_open_clip
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import score_command


@pytest.mark.parametrize("architecture", ["dual", "dual-vit"])
def test_a_larger_size_is_larger_in_each_tower(architecture: str) -> None:
    tiny, small = (
        new_open_clip(network_config(architecture, size), torch.device("cpu")).network for size in ("tiny", "small")
    )
    for tower in ("visual", "transformer"):
        one, other = (sum(p.numel() for p in getattr(each, tower).parameters()) for each in (tiny, small))
        assert other > 4 * one
    assert (tiny.visual.image_size, small.visual.image_size) in ((64, 128), ((64, 64), (128, 128)))
    assert sum(p.numel() for p in tiny.parameters()) < 13e6


@pytest.mark.parametrize(("architecture", "size"), [("dual-vit", "tiny"), ("dual", "small"), ("dual-vit", "small")])
@pytest.mark.full
def test_each_network_trains_and_is_loaded_again(
    drawn: Path, world: World, tmp_path: Path, architecture: str, size: str
) -> None:
    few = ("--epochs", "1", "--batch", "48", "--device", "cpu", "--architecture", architecture, "--size", size)
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "model", *few)
    assert done.exit_code == 0, done.stderr
    model = load_model(f"jackalope:{tmp_path / 'model'}", "cpu")
    recipe = model.info["trained_on"]["recipe"]
    assert (recipe["architecture"], recipe["size"]) == (architecture, size)
    assert model.encode_images([world.image("000000")]).shape == (1, network_config(architecture, size)["embed_dim"])


def test_a_transformer_over_patches_learns(world: World, benchmark: Benchmark, tmp_path: Path, little: None) -> None:
    recipe = Scratch(epochs=6, batch=48, rate=3e-3, architecture="dual-vit")
    record = train(
        recipe,
        benchmark_source(world, benchmark, recipe),
        tmp_path / "model",
        device="cpu",
    )
    assert record["losses"][-1] < record["losses"][0] - 0.1
