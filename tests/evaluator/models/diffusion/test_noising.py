"""Noise and targets against the library's schedulers."""

from typing import Any

import diffusers
import pytest
import torch

from evaluator.models.diffusion.noising import Diffusion, Flow, process_of
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


def test_other_predictions_are_refused() -> None:
    with pytest.raises(UserError, match="predicts epsilon or v_prediction, got 'sample'"):
        Diffusion(diffusers.DDPMScheduler(prediction_type="sample").config)


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
