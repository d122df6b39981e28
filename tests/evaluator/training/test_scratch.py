"""Training from scratch: the loss, the augmentation and what is saved."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from torch import Tensor

from evaluator.models.registry import load_model
from evaluator.run import Request, run
from evaluator.training import scratch
from evaluator.training.data import TrainingSet
from evaluator.training.scratch import SMALL, Recipe, _augmented, _batches, _loss, train_scratch
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.conftest import assert_one_sentence, score_command

CPU = torch.device("cpu")
QUICK = Recipe(epochs=2, batch=24, seed=0)
TOKENIZER = open_clip.SimpleTokenizer()


@pytest.fixture(scope="module")
def trained(world: World, benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    train_scratch(world, benchmark, QUICK, folder, "cpu")
    return folder


class _Fixed:
    """Stands for a model: unit embeddings that are looked up."""

    def __init__(self, images: Tensor, texts: Tensor):
        self._images, self._texts = images, texts
        self.logit_scale = torch.tensor(math.log(20.0))
        self.asked: list[int] = []

    def encode_image(self, images: Tensor) -> Tensor:
        return self._images

    def encode_text(self, tokens: Tensor) -> Tensor:
        self.asked = tokens[:, 0].tolist()
        return self._texts[tokens[:, 0]]


def _toy(captions: list[list[int]], negatives: list[list[int]], seed: int = 0) -> tuple[TrainingSet, Tensor, Tensor]:
    """Images and texts whose token is their own number, and random embeddings of each."""
    n, m = len(captions), 1 + max(max(row) for row in captions + negatives)
    generator = torch.Generator().manual_seed(seed)
    data = TrainingSet(
        images=torch.zeros((n, 3, 8, 8), dtype=torch.uint8),
        tokens=torch.arange(m)[:, None].repeat(1, 4),
        captions=np.array(captions),
        negatives=np.array(negatives)[:, :, None],
        true=np.array(captions),
    )
    return data, torch.randn((n, 6), generator=generator), torch.randn((m, 6), generator=generator)


def _explicit(data: TrainingSet, images: np.ndarray, texts: np.ndarray, orders: list[int]) -> float:
    """CLIP's loss with swap negatives, from its definition, leaving out every text that is true of the image."""
    unit_i = images / np.linalg.norm(images, axis=1, keepdims=True)
    unit_t = texts / np.linalg.norm(texts, axis=1, keepdims=True)
    n = len(orders)
    own = [int(data.captions[i, o]) for i, o in enumerate(orders)]
    shown = [int(data.negatives[i, o, 0]) for i, o in enumerate(orders) if data.negatives[i, o, 0] >= 0]
    total = 0.0
    for i in range(n):
        true = set(data.captions[i].tolist())
        column = own + shown
        against = [20 * unit_i[i] @ unit_t[t] for j, t in enumerate(column) if j != i and t not in true]
        right = 20 * unit_i[i] @ unit_t[own[i]]
        total -= right - np.log(np.exp(right) + np.exp(against).sum())
        others = [
            20 * unit_i[j] @ unit_t[own[i]] for j in range(n) if j != i and own[i] not in data.captions[j].tolist()
        ]
        total -= right - np.log(np.exp(right) + np.exp(others).sum())
    return total / n / 2


# 0 and 1 show the same scene; the negative of 2 is true of 0; 3 has none
_CAPTIONS = [[0, 1], [1, 0], [2, 3], [4, 5]]
_NEGATIVES = [[6, 7], [7, 6], [0, 1], [-1, -1]]
_NONE = [[-1, -1]] * 4


@pytest.mark.parametrize("negatives", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_its_definition(negatives: bool, seed: int) -> None:
    data, images, texts = _toy(_CAPTIONS, _NEGATIVES if negatives else _NONE, seed)
    model: Any = _Fixed(images, texts)
    recipe = Recipe(flip=False, shift=0)
    got = float(_loss(model, data, np.arange(4), recipe, np.random.default_rng(seed), CPU))
    orders = np.random.default_rng(seed).integers(0, np.full(4, 2)).tolist()
    assert model.asked[:4] == [_CAPTIONS[i][o] for i, o in enumerate(orders)]
    assert len(model.asked) == (7 if negatives else 4)
    assert got == pytest.approx(_explicit(data, images.numpy(), texts.numpy(), orders), abs=1e-5)


def test_a_text_that_is_true_of_another_image_does_not_count_against_it() -> None:
    data, images, texts = _toy([[0, 1], [1, 0]], [[-1, -1], [-1, -1]])
    model: Any = _Fixed(images, texts)
    loss = _loss(model, data, np.arange(2), Recipe(flip=False, shift=0), np.random.default_rng(0), CPU)
    assert float(loss) == pytest.approx(0, abs=1e-6)  # nothing is left to tell apart
    one = np.array([[0, 0], [1, 1]])
    data = replace(data, captions=one, true=one)
    assert float(_loss(model, data, np.arange(2), Recipe(flip=False, shift=0), np.random.default_rng(0), CPU)) > 0.01


def test_a_swap_costs_more_when_it_is_preferred() -> None:
    losses = []
    for sign in (1, -1):
        data, images, texts = _toy([[0, 0], [1, 1]], [[2, 2], [3, 3]])
        texts[2:] = sign * images
        model: Any = _Fixed(images, texts)
        losses.append(
            float(_loss(model, data, np.arange(2), Recipe(flip=False, shift=0), np.random.default_rng(0), CPU))
        )
    assert losses[0] > losses[1] + 1


def test_images_are_only_normalised_mirrored_and_shifted(data: TrainingSet) -> None:
    mean, std = (
        torch.tensor(v).view(1, 3, 1, 1) for v in (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)
    )
    plain = (data.images[:40].float() / 255 - mean) / std
    still = _augmented(data.images[:40], Recipe(flip=False, shift=0), np.random.default_rng(0), CPU)
    assert torch.allclose(still, plain, atol=1e-6)
    moved = _augmented(data.images[:40], Recipe(flip=True, shift=4), np.random.default_rng(0), CPU)
    mirrored = 0
    for image, original in zip(moved, plain, strict=True):
        fits = [
            flip for flip in (False, True) for dy in range(-4, 5) for dx in range(-4, 5)
            if torch.allclose(image, torch.roll(original.flip(-1) if flip else original, (dy, dx), (-2, -1)), atol=1e-6)
        ]  # fmt: skip
        assert fits
        mirrored += True in fits
    assert 8 < mirrored < 32


def test_batches_cover_different_images_each_time() -> None:
    rng = np.random.default_rng(0)
    first, second = (np.concatenate(list(_batches(10, 3, rng))) for _ in range(2))
    assert len(set(first)) == len(set(second)) == 9
    assert first.tolist() != second.tolist()


def test_training_lowers_the_loss_and_says_what_it_did(trained: Path, drawn: Path) -> None:
    record = json.loads((trained / "jackalope.json").read_text())
    dataset = Dataset.open(drawn)
    assert len(record["losses"]) == 2
    assert record["losses"][-1] < record["losses"][0] - 0.1
    assert record["images"] == 96
    assert (record["benchmark"], record["world"]) == (dataset.benchmark().digest, dataset.world.digest)
    assert record["recipe"] == {**QUICK.__dict__}
    assert sorted(p.name for p in trained.iterdir()) == [
        "jackalope.json",
        "open_clip_config.json",
        "open_clip_model.safetensors",
    ]
    assert [p.name for p in trained.parent.iterdir()] == ["model"]


def test_every_kind_of_training_text_can_be_learnt_from(
    world: World, benchmark: Benchmark, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {**SMALL, "text_cfg": {**SMALL["text_cfg"], "width": 8, "heads": 2, "layers": 1}}
    monkeypatch.setattr(scratch, "SMALL", small)
    recipe = Recipe(1, 24, texts="plain,relations,graded,synonyms", negatives="swap,replace,flip,neg", positives=True)
    record = train_scratch(world, benchmark, recipe, tmp_path / "model", "cpu")
    assert math.isfinite(record["losses"][0])
    config = json.loads((tmp_path / "model/open_clip_config.json").read_text())
    assert config["model_cfg"]["text_cfg"]["context_length"] > SMALL["text_cfg"]["context_length"]
    texts = ["a red cube", "a red cube, a blue cone, a green cube and a sphere that is to the left of a red cone"]
    assert load_model(f"jackalope:{tmp_path / 'model'}", "cpu").encode_texts(texts).shape[0] == 2


@pytest.mark.full
def test_the_same_seed_gives_the_same_model_and_another_another(
    trained: Path, world: World, benchmark: Benchmark, tmp_path: Path
) -> None:
    again = train_scratch(world, benchmark, QUICK, tmp_path / "again", "cpu")
    other = train_scratch(
        world, benchmark, Recipe(**{**QUICK.__dict__, "seed": 1, "epochs": 1}), tmp_path / "other", "cpu"
    )
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
    _, results = run(Request(drawn, None, spec, ("binary",), tmp_path / "run", 64, "cpu"))
    assert {row["unscored"] for row in results["rows"] if row["unit"] == "share"} == {0}


def test_a_model_is_scored_as_it_was_trained_to_see(
    trained: Path, data: TrainingSet, world: World, benchmark: Benchmark
) -> None:
    """The preprocessing that is saved is the one of training, but for mirroring and shifting."""
    _, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{trained}")
    scene = sorted(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train")[0]
    seen = _augmented(data.images[:1], Recipe(flip=False, shift=0), np.random.default_rng(0), CPU)[0]
    assert torch.allclose(preprocess(world.image(scene)), seen, atol=1e-6)
    tokens = open_clip.get_tokenizer(f"local-dir:{trained}")(["a red cube and a blue cone"])
    assert tokens.tolist() == open_clip.SimpleTokenizer(context_length=16)(["a red cube and a blue cone"]).tolist()
    assert SMALL["text_cfg"]["context_length"] == 16


def test_the_longest_caption_fits_the_text_tower() -> None:
    text = "an hourglass and a yellow hourglass and a purple pyramid"
    assert len(TOKENIZER.encode(text)) + 2 <= SMALL["text_cfg"]["context_length"]


def test_mistakes_are_one_sentence(
    world: World, benchmark: Benchmark, trained: Path, drawn: Path, tmp_path: Path
) -> None:
    before = {p.name: p.read_bytes() for p in trained.iterdir()}
    done = score_command("train", "scratch", drawn, "--out", trained, "--epochs", "1")
    assert_one_sentence(done, "is not empty; choose another --out")
    assert {p.name: p.read_bytes() for p in trained.iterdir()} == before
    with pytest.raises(UserError, match="The train split has 96 images, fewer than a batch of 97; render more"):
        train_scratch(world, benchmark, Recipe(batch=97), tmp_path / "model", "cpu")
    assert not (tmp_path / "model").exists()
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "model", "--device", "cuda:99")
    assert_one_sentence(done, "The device 'cuda:99' is not available")


def test_the_command_trains_and_says_so(drawn: Path, tmp_path: Path) -> None:
    done = score_command(
        "train", "scratch", drawn, "--out", tmp_path / "model", "--epochs", "1", "--device", "cpu", "--json"
    )
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    record = SimpleNamespace(**json.loads((tmp_path / "model" / "jackalope.json").read_text()))
    assert said == {"model": str(tmp_path / "model"), "losses": record.losses}
    assert (record.recipe["epochs"], record.recipe["seed"], record.recipe["negatives"]) == (1, 0, "swap,flip")
    assert load_model(f"jackalope:{tmp_path / 'model'}", "cpu").info["trained_on"]["name"] == "color-shape-3x3-b0"
