"""Noise levels, orders and noise of samples, and noise against the library's schedulers."""

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

LATENT, NOISE = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(0))


def test_the_class_of_the_scheduler_decides() -> None:
    """All that share their noise with DDPM, and no other."""
    config = diffusers.DDPMScheduler(
        beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012
    ).config
    for kind in (
        diffusers.EulerDiscreteScheduler,
        diffusers.PNDMScheduler,
        diffusers.DPMSolverMultistepScheduler,
        diffusers.LCMScheduler,
    ):
        scheduler = kind.from_config(config)
        alpha = scheduler.alphas_cumprod[500]
        noisy = process_of(scheduler, Diffusion).add_noise(LATENT, NOISE[None], torch.tensor([0.5]))
        assert noisy[0] == pytest.approx(
            alpha.sqrt() * LATENT + (1 - alpha).sqrt() * NOISE, abs=1e-5
        )
    assert isinstance(process_of(diffusers.FlowMatchHeunDiscreteScheduler(), Flow), Flow)


UNKNOWN = "The scheduler {} is not supported for this pipeline; expected one of: "


@pytest.mark.parametrize(
    ("scheduler", "known", "message"),
    [
        (diffusers.IPNDMScheduler(), Diffusion, UNKNOWN),
        (diffusers.FlowMatchEulerDiscreteScheduler(), Diffusion, UNKNOWN),
        (diffusers.DDPMScheduler(), Flow, UNKNOWN),
        (
            diffusers.UniPCMultistepScheduler(use_flow_sigmas=True),
            Diffusion,
            "The scheduler {} has use_flow_",
        ),
    ],
)
def test_unknown_schedulers_are_refused(scheduler: Any, known: Any, message: str) -> None:
    with pytest.raises(UserError, match=message.format(type(scheduler).__name__)):
        process_of(scheduler, known)


TIMESTEPS = 1000


def timesteps_of(total: int) -> np.ndarray:
    """Of 1,000 timesteps, those of the samples."""
    return (levels(total) * TIMESTEPS).astype(int)


def test_published_timesteps() -> None:
    """500 samples are t = 1, 3 … 999 as in Li et al.'s code; 75 of 200 reach to the end, where
    theirs end at t = 747."""
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
    """The same for the same and on every machine, independent for another image, seed or sample."""
    red, blue = (image_digest(Image.new("RGB", (4, 4), colour)) for colour in ("red", "blue"))
    assert red != image_digest(Image.new("RGB", (2, 8), "red"))
    shape = (4, 32, 32)
    first = noise(red, 0, 7, shape)
    assert np.array_equal(first, noise(red, 0, 7, shape))
    for other in (noise(blue, 0, 7, shape), noise(red, 1, 7, shape), noise(red, 0, 8, shape)):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.06
    assert noise("0" * 64, 0, 0, (3,)) == pytest.approx(
        [-0.2810665, -0.3718877, 0.1176878], abs=1e-6
    )
