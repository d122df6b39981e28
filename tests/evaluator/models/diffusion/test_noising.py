"""Noise levels, orders and noise of samples, and targets against the library's schedulers."""

from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.diffusion.noising import (
    Diffusion,
    Flow,
    image_digest,
    levels,
    nested_order,
    noise,
    process_of,
    staged_order,
)
from generator.base.errors import UserError

LATENT = torch.randn(4, 8, 8, generator=torch.Generator().manual_seed(0))
NOISE = torch.randn(3, 4, 8, 8, generator=torch.Generator().manual_seed(1))
LEVELS = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction"])
def test_diffusion_is_that_of_the_librarys_scheduler(prediction: str) -> None:
    scheduler = diffusers.DDPMScheduler(prediction_type=prediction)
    process = Diffusion(scheduler.config)
    timesteps = process.timesteps(LEVELS)
    assert timesteps.tolist() == [100, 500, 900]
    latents = LATENT.expand_as(NOISE)
    assert process.add_noise(LATENT, NOISE, LEVELS) == pytest.approx(
        scheduler.add_noise(latents, NOISE, timesteps), abs=1e-5
    )
    expected = NOISE if prediction == "epsilon" else scheduler.get_velocity(latents, NOISE, timesteps)
    assert process.target(LATENT, NOISE, LEVELS) == pytest.approx(expected, abs=1e-5)


def test_flow_is_that_of_the_librarys_scheduler() -> None:
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
    process = Flow(scheduler.config)
    assert process.timesteps(LEVELS) == pytest.approx(torch.tensor([100.0, 500, 900]))
    noisy = process.add_noise(LATENT, NOISE, LEVELS)
    assert noisy == pytest.approx(
        scheduler.scale_noise(LATENT.expand_as(NOISE), torch.tensor([100.0, 500, 900]), NOISE), abs=1e-6
    )
    sigma = LEVELS.float()[:, None, None, None]
    assert noisy - sigma * process.target(LATENT, NOISE, LEVELS) == pytest.approx(LATENT.expand_as(NOISE), abs=1e-5)


def test_the_class_of_the_scheduler_decides() -> None:
    """All that share their noise with DDPM, and no other."""
    config = diffusers.DDPMScheduler(beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012).config
    for kind in (
        diffusers.EulerDiscreteScheduler,
        diffusers.PNDMScheduler,
        diffusers.DPMSolverMultistepScheduler,
        diffusers.LCMScheduler,
    ):
        scheduler = kind.from_config(config)
        process = process_of(scheduler, Diffusion)
        alpha = scheduler.alphas_cumprod[500]
        expected = alpha.sqrt() * LATENT + (1 - alpha).sqrt() * NOISE[1]
        assert process.add_noise(LATENT, NOISE, LEVELS)[1] == pytest.approx(expected, abs=1e-5)
    assert isinstance(process_of(diffusers.FlowMatchHeunDiscreteScheduler(), Flow), Flow)
    with pytest.raises(UserError, match="UniPCMultistepScheduler is set to use_flow_sigmas"):
        process_of(diffusers.UniPCMultistepScheduler(use_flow_sigmas=True), Diffusion)


@pytest.mark.parametrize(
    ("scheduler", "known"),
    [
        (diffusers.ScoreSdeVeScheduler(), Diffusion),
        (diffusers.IPNDMScheduler(), Diffusion),
        (diffusers.FlowMatchEulerDiscreteScheduler(), Diffusion),
        (diffusers.DDPMScheduler(), Flow),
        (diffusers.EDMEulerScheduler(), Flow),
    ],
)
def test_unknown_schedulers_are_refused(scheduler: Any, known: Any) -> None:
    name = type(scheduler).__name__
    with pytest.raises(
        UserError, match=f"How the scheduler {name} adds noise is not known for this pipeline; expected one of: "
    ):
        process_of(scheduler, known)


TIMESTEPS = 1000


def timesteps_of(total: int) -> np.ndarray:
    """Of 1,000 timesteps, those of the samples."""
    return (levels(total) * TIMESTEPS).astype(int)


def test_published_timesteps() -> None:
    """500 samples are t = 1, 3 … 999 as in Li et al.'s code; 75 of 200 reach to the end, where theirs end at t =
    747."""
    assert timesteps_of(500).tolist() == list(range(1, 1000, 2))
    assert timesteps_of(200).tolist() == list(range(2, 1000, 5))
    first = timesteps_of(200)[staged_order((75, 200))[:75]]
    assert first.max() > 985
    assert np.diff(np.sort(first)).max() <= 15


def test_nested_order_depends_on_the_seed_alone() -> None:
    """The same for a seed, 0 included; another for another; any number of samples."""
    assert nested_order(100, 0).tolist() == nested_order(100, 0).tolist()
    assert nested_order(100, 0).tolist() != nested_order(100, 1).tolist()
    for total in (1, 2, 3, 7, 100, 1000):
        assert sorted(nested_order(total, 0)) == list(range(total))


def test_noise_follows_from_content_seed_and_sample() -> None:
    """Standard normal, the same for the same, independent for another image, seed or sample."""
    red, blue = (image_digest(Image.new("RGB", (4, 4), colour)) for colour in ("red", "blue"))
    assert red != image_digest(Image.new("RGB", (2, 8), "red"))
    shape = (4, 32, 32)
    first = noise(red, 0, 7, shape)
    assert first.dtype == np.float32
    assert np.array_equal(first, noise(red, 0, 7, shape))
    for other in (noise(blue, 0, 7, shape), noise(red, 1, 7, shape), noise(red, 0, 8, shape)):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.06
    assert abs(first.mean()) < 0.05
    assert abs(first.std() - 1) < 0.05
    # the same on every machine
    assert noise("0" * 64, 0, 0, (3,)) == pytest.approx(KNOWN_NOISE, abs=1e-6)


KNOWN_NOISE = [-0.2810665, -0.3718877, 0.1176878]
