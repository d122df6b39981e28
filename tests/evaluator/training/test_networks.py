"""The networks of new models: what they are, and that each learns and is saved."""

from pathlib import Path

import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training.networks import ARCHITECTURES, SIZES, network_config
from evaluator.training.recipe import Recipe
from evaluator.training.saving import new_open_clip
from evaluator.training.scratch import train_scratch
from evaluator.training.source import benchmark_source
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import score_command


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_larger_size_is_larger_in_each_tower(architecture: str) -> None:
    tiny, small = (new_open_clip(network_config(architecture, size), torch.device("cpu")).network for size in SIZES)
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
    recipe = Recipe(epochs=6, batch=48, rate=3e-3)
    record = train_scratch(
        benchmark_source(world, benchmark, recipe), recipe, tmp_path / "model", "cpu", architecture="dual-vit"
    )
    assert record["losses"][-1] < record["losses"][0] - 0.1


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UserError, match="Unknown architecture 'dual-vt'; did you mean 'dual-vit'"):
        network_config("dual-vt")
    with pytest.raises(UserError, match="Unknown size 'smal'; did you mean 'small'"):
        network_config("dual", "smal")
