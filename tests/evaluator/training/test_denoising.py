"""The loss of diffusion models: against diffusers' own noise, finite differences, and what reaches
a batch."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training.data import Step, Steps, TrainingData
from evaluator.training.denoising import Denoising
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.base.streams import Stream
from tests.evaluator import diffusers_folders

STEP = Step(np.array([2, 0]), np.array([0, 1]), np.full(2, -1), np.full(2, -1))
PLAIN = Recipe(precision="float32")


@pytest.fixture
def short(data: TrainingData) -> TrainingData:
    """The images, each with a caption that the tiny tokenizer reads."""
    n = len(data)
    rows = (np.arange(n) % len(diffusers_folders.TEXTS)).reshape(n, 1)
    none = np.full((n, 1, 1), -1)
    return replace(
        data,
        texts=diffusers_folders.TEXTS,
        captions=rows,
        negatives=none,
        positives=none,
        true=rows,
    )


@pytest.fixture
def model(tmp_path: Path) -> Any:
    return load_model(f"diffusion:{diffusers_folders.stable_diffusion(tmp_path / 'sd')}", "cpu")


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction"])
def test_the_loss_is_that_of_the_librarys_own_scheduler(
    short: TrainingData, tmp_path: Path, prediction: str
) -> None:
    from diffusers import DDPMScheduler, StableDiffusionPipeline

    folder = diffusers_folders.stable_diffusion(tmp_path, prediction)
    model: Any = load_model(f"diffusion:{folder}", "cpu")
    learner = Denoising(model, short, PLAIN, text_encoder=False)
    loss = learner.loss(STEP, 7).item()

    pipe = StableDiffusionPipeline.from_pretrained(folder, safety_checker=None)
    scheduler = DDPMScheduler.from_config(pipe.scheduler.config)
    draws = [
        torch.Generator().manual_seed(Stream(0, "noise", 7, place).below(2**32)) for place in (0, 1)
    ]
    times = (torch.cat([torch.rand(1, generator=generator) for generator in draws]) * 1000).long()
    for generator in draws:
        torch.rand(1, generator=generator)  # whether the caption is used
    latents = torch.stack(
        [model.latent(short.images[i][0].image(short.images[i][1])) for i in STEP.images]
    )
    noise = torch.stack(
        [
            torch.randn(latent.shape, generator=generator)
            for latent, generator in zip(latents, draws, strict=True)
        ]
    )
    with torch.no_grad():
        states = pipe.encode_prompt([short.texts[i] for i in STEP.captions], "cpu", 1, False)[0]
        predicted = pipe.unet(
            scheduler.add_noise(latents, noise, times), times, encoder_hidden_states=states
        ).sample
    target = noise if prediction == "epsilon" else scheduler.get_velocity(latents, noise, times)
    assert loss == pytest.approx(((predicted - target) ** 2).mean().item(), rel=1e-4)


def test_other_processes_and_texts_that_would_be_cut_are_refused(
    short: TrainingData, model: Any, tmp_path: Path
) -> None:
    flow: Any = load_model(
        f"diffusion:{diffusers_folders.stable_diffusion_3(tmp_path / 'flow')}", "cpu"
    )
    with pytest.raises(UserError, match="cannot be trained this way: it does not predict"):
        Denoising(flow, short, PLAIN, text_encoder=False)
    with pytest.raises(UserError, match="The model reads 16 tokens and"):
        Denoising(
            model,
            replace(short, texts=["a red cube " * 9, *short.texts[1:]]),
            PLAIN,
            text_encoder=False,
        )


def test_some_captions_are_left_out_by_seed_and_step(
    short: TrainingData, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(short, batch=32, epochs=1, seed=0, count=3)
    for share, least, most in ((0.0, 0, 0), (0.5, 30, 66), (1.0, 96, 96)):
        learner = Denoising(model, short, PLAIN, text_encoder=True, caption_dropout=share)
        spy = Mock(side_effect=learner._conditions)
        monkeypatch.setattr(learner, "_conditions", spy)
        for number in (0, 1, 2, 0):
            learner.loss(steps[number], number)
        captions_of_step = [call.args[0] for call in spy.call_args_list]
        assert captions_of_step[3] == captions_of_step[0]
        used_captions = [text for texts in captions_of_step[:3] for text in texts]
        assert least <= used_captions.count("") <= most
        captions = [short.texts[i] for number in range(3) for i in steps[number].captions]
        assert all(
            text in ("", caption) for text, caption in zip(used_captions, captions, strict=True)
        )


def test_latents_are_changed_before_noise_is_added(short: TrainingData, model: Any) -> None:
    mirrored = Denoising(
        model,
        short,
        PLAIN,
        text_encoder=False,
        augment=lambda latent, place, number: latent.flip(-1) * number,
    )
    plain = Denoising(model, short, PLAIN, text_encoder=False)
    latents = plain._latents.batch(STEP.images, (0, 1), 3)
    plain._latents._cache = {
        int(i): latent.flip(-1) * 3 for i, latent in zip(STEP.images, latents, strict=True)
    }
    assert mirrored.loss(STEP, 3).item() == pytest.approx(plain.loss(STEP, 3).item(), rel=1e-6)
