"""Training from scratch: the loss, the augmentation and what is saved."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch

from evaluator.api import evaluate
from evaluator.models.network import training_precision
from evaluator.models.registry import load_model
from evaluator.training import networks
from evaluator.training.data import Step, TrainingData
from evaluator.training.denoising import Denoising
from evaluator.training.methods import Scratch
from evaluator.training.networks import Augmentation, network_config, new_open_clip
from evaluator.training.recipe import Recipe
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.tiny_models import scored
from tests.evaluator.training.test_new_diffusion import TINY as TINY_DIFFUSION

CPU = torch.device("cpu")
QUICK = Scratch(epochs=2, batch=24, seed=0)
TINY = network_config()


@pytest.fixture(scope="module")
def trained(world: World, benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    train(QUICK, benchmark_source(world, benchmark, QUICK), folder, device="cpu")
    return folder


def test_images_are_only_mirrored_and_shifted(data: TrainingData, world: World) -> None:
    model = new_open_clip(TINY, CPU)
    plain = torch.stack([model.prepare(world.image(scene)) for scene in data.scenes[:40]])
    assert torch.equal(Augmentation(Recipe(flip=False, shift=0), True)(plain, range(40), 0), plain)
    moved = Augmentation(Recipe(flip=True, shift=4), True)(plain, range(40), 0)
    mirrored = 0
    for image, original in zip(moved, plain, strict=True):
        fits = [
            flip
            for flip in (False, True)
            for dy in range(-4, 5)
            for dx in range(-4, 5)
            if torch.equal(image, torch.roll(original.flip(-1) if flip else original, (dy, dx), (-2, -1)))
        ]
        assert fits
        mirrored += True in fits
    assert 8 < mirrored < 32
    assert torch.equal(Augmentation(Recipe(), True)(plain, range(40), 0), moved)
    assert not torch.equal(Augmentation(Recipe(), True)(plain, range(40), 1), moved)
    part = Augmentation(Recipe(), True)(plain[10:30], range(10, 30), 0)
    assert torch.equal(part, moved[10:30])


def test_nothing_is_mirrored_where_what_is_said_depends_on_it(data: TrainingData, world: World) -> None:
    model = new_open_clip(TINY, CPU)
    plain = torch.stack([model.prepare(world.image(scene)) for scene in data.scenes[:40]])
    assert torch.equal(Augmentation(Recipe(shift=0), False)(plain, range(40), 0), plain)


@pytest.mark.full
def test_relations_are_learnt_from_images_that_are_not_mirrored(
    world: World, benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, little: None
) -> None:
    asked = []
    monkeypatch.setattr(networks, "Augmentation", lambda recipe, mirrored: asked.append(mirrored))
    for texts in ("plain", "relations"):
        recipe = Scratch(epochs=1, batch=96, texts=texts, negatives="flip")
        train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / texts, device="cpu")
    assert asked == [True, False]


def test_training_lowers_the_loss_and_says_what_it_did(trained: Path, drawn: Path) -> None:
    record = json.loads((trained / "jackalope.json").read_text())
    dataset = Dataset.open(drawn)
    assert len(record["losses"]) == 2
    assert record["losses"][-1] < record["losses"][0] - 0.1
    assert record["images"] == 96
    assert (record["benchmark"], record["world"]) == (dataset.benchmark().digest, dataset.world.digest)
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


@pytest.mark.full
def test_the_same_seed_gives_the_same_model_and_another_another(
    trained: Path, world: World, benchmark: Benchmark, tmp_path: Path
) -> None:
    again = train(QUICK, benchmark_source(world, benchmark, QUICK), tmp_path / "again", device="cpu")
    recipe = replace(QUICK, seed=1, epochs=1)
    other = train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / "other", device="cpu")
    record = json.loads((trained / "jackalope.json").read_text())
    assert again["losses"] == record["losses"]
    assert other["losses"][0] != record["losses"][0]
    one, two = ((folder / "open_clip_model.safetensors").read_bytes() for folder in (trained, tmp_path / "again"))
    assert one == two


def test_a_trained_model_is_an_open_clip_folder(
    trained: Path, world: World, benchmark: Benchmark, drawn: Path, tmp_path: Path
) -> None:
    pictures, texts = (
        [world.image(f"{i:06d}") for i in range(3)],
        ["a red cube and a blue cone", "a blue cube and a red cone"],
    )
    ours, theirs = (load_model(f"{family}{trained}", "cpu") for family in ("jackalope:", "open_clip:local-dir:"))
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

    spec = f"jackalope:{trained}"
    results = evaluate(spec, drawn, protocols="binary", out=tmp_path / "run", batch_size=64, device="cpu").results
    assert {row["unscored"] for row in results["rows"] if row["unit"] == "share"} == {0}


def test_a_model_is_scored_as_it_was_trained_to_see(
    trained: Path, data: TrainingData, world: World, benchmark: Benchmark
) -> None:
    """The preprocessing that is saved is the one of training, but for mirroring and shifting."""
    model = new_open_clip(TINY, CPU)
    _, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{trained}")
    scene = sorted(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train")[0]
    assert torch.equal(preprocess(world.image(scene)), model.prepare(world.image(scene)))
    tokens = open_clip.get_tokenizer(f"local-dir:{trained}")(["a red cube and a blue cone"])
    assert tokens.tolist() == open_clip.SimpleTokenizer(context_length=16)(["a red cube and a blue cone"]).tolist()
    assert TINY["text_cfg"]["context_length"] == 16


def test_mistakes_are_one_sentence(
    world: World, benchmark: Benchmark, trained: Path, drawn: Path, tmp_path: Path
) -> None:
    before = {p.name: p.read_bytes() for p in trained.iterdir()}
    done = score_command("train", "scratch", drawn, "--out", trained, "--epochs", "1")
    assert_one_sentence(done, "is not empty; choose another --out")
    assert {p.name: p.read_bytes() for p in trained.iterdir()} == before
    recipe = Scratch(batch=97)
    with pytest.raises(UserError, match="The train split has 96 images, fewer than a batch of 97; render more"):
        train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / "model", device="cpu")
    assert not (tmp_path / "model").exists()
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "model", "--device", "cuda:99")
    assert_one_sentence(done, "The device 'cuda:99' is not available")


def test_a_diffusion_model_learns_and_is_scored_as_its_family(
    drawn: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(networks._UNETS, "tiny", TINY_DIFFUSION)
    out, given = tmp_path / "model", ("--architecture", "diffusion", "--device", "cpu")
    done = score_command("train", "scratch", drawn, "--out", out, "--epochs", "3", "--batch", "24", *given)
    assert done.exit_code == 0, done.output
    record = json.loads((out / "jackalope.json").read_text())
    assert record["losses"][-1] < record["losses"][0]
    assert (record["recipe"]["architecture"], record["recipe"]["negatives"]) == ("diffusion", "none")
    ours, theirs = (load_model(f"{family}:{out},samples=4", "cpu") for family in ("jackalope", "diffusion"))
    assert ours.key == theirs.key
    pictures, texts = [world.image("000000")], ["a red cube and a blue cone", "a blue cube and a red cone"]
    found = [scored(each, pictures, texts) for each in (ours, theirs)]
    assert np.array_equal(*found)
    assert not np.array_equal(found[0][..., 0, :], found[0][..., 1, :])

    done = score_command("train", "scratch", drawn, "--out", tmp_path / "other", "--negatives", "swap", *given)
    assert_one_sentence(done, "A diffusion model learns from captions, not from negatives")


def test_a_stopped_training_of_a_diffusion_model_ends_in_the_same_model(
    world: World, benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(networks._UNETS, "tiny", TINY_DIFFUSION)
    monkeypatch.setattr("evaluator.training.fit._SECONDS", -1)
    recipe, inner, calls = Scratch(steps=3, batch=24, architecture="diffusion"), Denoising.loss, []

    def stopped(self: Denoising, step: Step, number: int) -> torch.Tensor:
        calls.append(number)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return inner(self, step, number)

    monkeypatch.setattr(Denoising, "loss", stopped)
    train(
        recipe,
        benchmark_source(world, benchmark, recipe),
        tmp_path / "whole",
        device="cpu",
    )
    with pytest.raises(KeyboardInterrupt):
        train(
            recipe,
            benchmark_source(world, benchmark, recipe),
            tmp_path / "stopped",
            device="cpu",
        )
    train(
        recipe,
        benchmark_source(world, benchmark, recipe),
        tmp_path / "stopped",
        device="cpu",
    )
    assert calls == [0, 1, 2, 0, 1, 2, 1, 2]
    one, other = (load_model(f"jackalope:{tmp_path / name}", "cpu") for name in ("whole", "stopped"))
    assert one.info["weights_sha256"] == other.info["weights_sha256"]
