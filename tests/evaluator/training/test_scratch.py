"""Training from scratch: the loss, the augmentation and what is saved."""

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch

from evaluator.models.network import training_precision
from evaluator.models.registry import load_model
from evaluator.training.methods import Scratch
from evaluator.training.networks import network_config
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.dataset.reader import Benchmark, Dataset, World
from tests.conftest import succeed
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.tiny_models import scored

CPU = torch.device("cpu")
QUICK = Scratch(epochs=2, batch=24, seed=0)
TINY = network_config()


@pytest.fixture(scope="module")
def trained(world: World, benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    train(QUICK, benchmark_source(world, benchmark, QUICK), folder, device="cpu")
    return folder


def test_training_lowers_the_loss_and_says_what_it_did(trained: Path, drawn: Path) -> None:
    record = json.loads((trained / "jackalope.json").read_text())
    dataset = Dataset.open(drawn)
    assert len(record["losses"]) == 2
    assert record["losses"][-1] < record["losses"][0] - 0.1
    assert record["images"] == 96
    assert (record["benchmark"], record["world"]) == (
        dataset.benchmark().digest,
        dataset.world.digest,
    )
    assert record["recipe"] == {
        **QUICK.__dict__,
        "precision": training_precision("auto", CPU),
    }
    assert sorted(p.name for p in trained.iterdir()) == [
        "jackalope.json",
        "open_clip_config.json",
        "open_clip_model.safetensors",
    ]
    assert [p.name for p in trained.parent.iterdir()] == ["model"]


def test_a_trained_model_is_an_open_clip_folder(trained: Path, world: World) -> None:
    pictures, texts = (
        [world.image(f"{i:06d}") for i in range(3)],
        ["a red cube and a blue cone", "a blue cube and a red cone"],
    )
    ours, theirs = (
        load_model(f"{family}{trained}", "cpu") for family in ("jackalope:", "open_clip:local-dir:")
    )
    assert ours.key == theirs.key
    assert np.array_equal(ours.encode_images(pictures), theirs.encode_images(pictures))

    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{trained}")
    model.eval()
    tokenizer = open_clip.get_tokenizer(f"local-dir:{trained}")
    with torch.no_grad():
        left = model.encode_image(torch.stack([preprocess(p) for p in pictures]), normalize=True)
        right = model.encode_text(tokenizer(texts), normalize=True)
    assert ours.encode_images(pictures) @ ours.encode_texts(texts).T == pytest.approx(
        (left @ right.T).numpy(), abs=1e-5
    )


@pytest.mark.full
def test_a_diffusion_model_learns_and_is_scored_as_its_family(
    drawn: Path, world: World, tmp_path: Path, little: None
) -> None:
    out, options = tmp_path / "model", ("--architecture", "diffusion", "--device", "cpu")
    succeed("score train scratch", drawn, "--out", out, "--epochs", "3", "--batch", "24", *options)
    record = json.loads((out / "jackalope.json").read_text())
    assert record["losses"][-1] < record["losses"][0]
    assert (record["recipe"]["architecture"], record["recipe"]["negatives"]) == (
        "diffusion",
        "none",
    )
    ours, theirs = (
        load_model(f"{family}:{out},samples=4", "cpu") for family in ("jackalope", "diffusion")
    )
    assert ours.key == theirs.key
    pictures, texts = (
        [world.image("000000")],
        ["a red cube and a blue cone", "a blue cube and a red cone"],
    )
    scores = [scored(model, pictures, texts) for model in (ours, theirs)]
    assert np.array_equal(*scores)
    assert not np.array_equal(scores[0][..., 0, :], scores[0][..., 1, :])

    done = score_command(
        "train", "scratch", drawn, "--out", tmp_path / "other", "--negatives", "swap", *options
    )
    assert_one_sentence(done, "A diffusion model learns from captions, not from negatives")
