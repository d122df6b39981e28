"""Matching: its loss, its pairs, and the cross encoders that it trains."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.registry import load_model
from evaluator.training.data import Step, Steps, TrainingData
from evaluator.training.matching import Matching
from evaluator.training.methods import Finetune
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.dataset.reader import World
from tests.conftest import succeed
from tests.evaluator.conftest import score_command
from tests.evaluator.tiny_models import make_vilt, scored
from tests.evaluator.training.conftest import toy_data

QUICK = Finetune(epochs=1, batch=24, rate=1e-3, warmup=0.0, decay=0.0)


class Table:
    """A model whose logits stand in a table of images and texts; notes the pairs that it was asked
    for."""

    def __init__(self, images: int, texts: list[str]):
        generator = torch.Generator().manual_seed(0)
        self.logits = torch.randn(images, len(texts), generator=generator, dtype=torch.float64)
        self.network, self.device, self.info = (
            torch.nn.Identity(),
            torch.device("cpu"),
            {"text_length": 99},
        )
        self._texts = {text: i for i, text in enumerate(texts)}
        self.requests: list[tuple[int, str]] = []

    def token_counts(self, texts: Any) -> list[int]:
        return [1] * len(texts)

    def prepare(self, image: Image.Image) -> torch.Tensor:
        return torch.tensor([int(image.getpixel((0, 0))[0])])  # type: ignore[index]

    def match(self, images: Any, places: Any, texts: Any) -> torch.Tensor:
        rows = [int(images[place]) for place in places]
        self.requests += list(zip(rows, texts, strict=True))
        return self.logits[rows, [self._texts[text] for text in texts]]


def _toy() -> tuple[TrainingData, Any]:
    """Four images: 0 and 1 show the same, 3 has no negative."""
    where = SimpleNamespace(image=lambda name: Image.new("RGB", (1, 1), (int(name), 0, 0)))
    data = toy_data([0, 1, 2, 3], [[0, 1], [0, 1], [2, -1], [3, -1]], [4, 5, 0, -1], images=where)
    return data, Table(4, list(data.texts))


STEP = Step(np.array([2, 0, 3, 1]), np.array([2, 0, 3, 1]), np.array([0, 4, -1, 5]), np.full(4, -1))


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_loss_is_binary_cross_entropy_in_which_negatives_count_by_weight(weight: float) -> None:
    data, model = _toy()
    loss = Matching(model, data, recipe=Recipe(negative_weight=weight)).loss(STEP, 0)
    total = count = 0.0
    for i, (image, text) in enumerate(model.requests):
        number = int(text.split()[1])
        logit = model.logits[image, number].item()
        share = weight if weight and 4 <= i < 7 else 1.0
        total += share * math.log1p(math.exp(-logit if number in data.true[image] else logit))
        count += share
    assert not weight or model.requests[4:7] == [(2, "text 0"), (0, "text 4"), (1, "text 5")]
    assert len(model.requests) == (4 + 3 + 4 if weight else 8)
    assert loss.item() == pytest.approx(total / count, abs=1e-6)


def test_what_is_said_to_be_false_is_false_and_drawn_by_the_step(data: TrainingData) -> None:
    model: Any = Table(1, list(data.texts))
    learner, steps = Matching(model, data, recipe=Recipe()), Steps(data, batch=24, epochs=5, seed=0)
    negatives_of_step = []
    for number in range(len(steps)):
        places, texts, true, _ = learner.pairs(steps[number], number)
        images = steps[number].images[places]
        for image, text, match in zip(images, texts, true, strict=True):
            assert (text in data.true[image]) == bool(match)
        negatives_of_step.append(texts[-24:].tolist())
    assert len({tuple(negatives) for negatives in negatives_of_step}) == len(negatives_of_step)
    assert len({text for negatives in negatives_of_step for text in negatives}) > 30
    repeated = learner.pairs(steps[2], 2)[1][-24:]
    assert repeated.tolist() == negatives_of_step[2]


@pytest.fixture
def vilt(tmp_path: Path) -> str:
    """A tiny ViLT that reads all words as unknown ones, and 60 of them."""
    return f"vilt:{make_vilt(tmp_path / 'vilt', max_position_embeddings=60)}"


@pytest.mark.parametrize("lora", [None, "2/4"])
def test_vilt_is_trained_whole_and_by_lora(
    continue_training: Callable[..., Any], world: World, vilt: str, tmp_path: Path, lora: str | None
) -> None:
    if lora:
        pytest.importorskip("peft")
    recipe = replace(QUICK, epochs=2, rate=1e-2, negatives="swap", lora=lora or "none")
    record, before, after = continue_training(recipe, vilt)
    plain = load_model(f"vilt:{tmp_path / 'out'}", "cpu")
    assert record["losses"][1] < record["losses"][0]
    images, texts = (
        [world.image("000000"), world.image("000001")],
        ["a red cube", "and the blue sphere"],
    )
    assert np.abs(scored(before, images, texts) - scored(after, images, texts)).max() > 1e-4
    assert np.array_equal(scored(after, images, texts), scored(plain, images, texts))
    assert after.key == plain.key
    assert after.info["parameters"] == before.info["parameters"]


def test_captions_that_would_be_cut_and_positives_with_another_loss_are_refused(
    trains: Callable[..., Any], vilt: str, tmp_path: Path
) -> None:
    short = f"vilt:{make_vilt(tmp_path / 'short', max_position_embeddings=8)}"
    with pytest.raises(
        UserError, match=r"The model reads 8 tokens and \d+ of \d+ training texts need up to \d+"
    ):
        trains(QUICK, short)
    with pytest.raises(
        UserError, match="treats positives as captions; give positive_loss='caption'"
    ):
        trains(replace(QUICK, positives="swap"), vilt)


def test_the_command_takes_the_preset_of_cross_encoders(
    drawn: Path, vilt: str, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    arguments = (
        "train",
        "finetune",
        drawn,
        "--model",
        vilt,
        "--out",
        tmp_path / "out",
        "--epochs",
        "1",
        "--device",
        "cpu",
    )
    done = succeed("score", *arguments, "--images-per-class", "1")
    assert (
        "Published (Pearson et al. 2025, appendix A, single objects): rate, lora. Chosen here: "
        "batch, decay, negatives, " in done.stderr
    )
    record = json.loads((tmp_path / "out" / "jackalope.json").read_text())
    assert record["recipe"]["lora"] == "16/32"
    assert (record["recipe"]["rate"], record["recipe"]["batch"]) == (1e-5, 16)
    refused = score_command(*arguments, "--preset", "bindsplit2026")
    assert refused.exit_code == 2
    assert (
        "Unknown preset 'bindsplit2026' of `score train finetune` for cross encoders"
        in refused.stderr
    )
    assert (
        "neither --negative-loss nor" in score_command(*arguments, "--negative-loss", "svlc").stderr
    )
