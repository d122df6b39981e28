"""Noise and targets against the library's schedulers."""

from typing import Any

import diffusers
import pytest
import torch

from evaluator.models.diffusion.noising import Diffusion, Edm, Flow, process_of
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
    assert process.add_noise(LATENT, NOISE, LEVELS) == pytest.approx(scheduler.add_noise(latents, NOISE, timesteps), abs=1e-5)  # fmt: skip
    expected = NOISE if prediction == "epsilon" else scheduler.get_velocity(latents, NOISE, timesteps)
    assert process.target(LATENT, NOISE, LEVELS) == pytest.approx(expected, abs=1e-5)


def test_flow_is_that_of_the_librarys_scheduler() -> None:
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
    process = Flow(scheduler.config)
    assert process.timesteps(LEVELS) == pytest.approx(torch.tensor([100.0, 500, 900]))
    noisy = process.add_noise(LATENT, NOISE, LEVELS)
    assert noisy == pytest.approx(scheduler.scale_noise(LATENT.expand_as(NOISE), torch.tensor([100.0, 500, 900]), NOISE), abs=1e-6)  # fmt: skip
    sigma = LEVELS.float()[:, None, None, None]
    assert noisy - sigma * process.target(LATENT, NOISE, LEVELS) == pytest.approx(LATENT.expand_as(NOISE), abs=1e-5)


def test_other_predictions_are_refused() -> None:
    with pytest.raises(UserError, match="predicts epsilon or v_prediction, got 'sample'"):
        Diffusion(diffusers.DDPMScheduler(prediction_type="sample").config)


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction"])
@pytest.mark.parametrize("kind", ["EDMEulerScheduler", "EDMDPMSolverMultistepScheduler"])
@pytest.mark.parametrize("sequence", ["karras", "exponential"])
def test_edm_is_that_of_the_librarys_scheduler(kind: str, prediction: str, sequence: str) -> None:
    """What the network gets, what it is told, and that the library turns the target into the image."""
    settings = {"sigma_min": 0.01, "sigma_max": 20.0, "sigma_data": 0.7, "rho": 5.0}
    scheduler = getattr(diffusers, kind)(prediction_type=prediction, sigma_schedule=sequence, **settings)
    scheduler.set_timesteps(11)
    sigmas = scheduler.sigmas[:11].flip(0).double()  # the library's own places of 0, 0.1 … 1
    process = process_of(scheduler, (Diffusion, Edm))
    assert isinstance(process, Edm)
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    sigma = sigmas[[1, 5, 9]].float()
    assert process.timesteps(levels) == pytest.approx(scheduler.precondition_noise(sigma), abs=1e-5)
    given, target = process.add_noise(LATENT, NOISE, levels), process.target(LATENT, NOISE, levels)
    for i, each in enumerate(sigma):
        noisy = LATENT + each * NOISE[i]
        assert given[i] == pytest.approx(scheduler.precondition_inputs(noisy, each), abs=1e-5)
        assert scheduler.precondition_outputs(noisy, target[i], each) == pytest.approx(LATENT, abs=1e-4)


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
        assert isinstance(process := process_of(scheduler, (Diffusion, Edm)), Diffusion)
        alpha = scheduler.alphas_cumprod[500]
        expected = alpha.sqrt() * LATENT + (1 - alpha).sqrt() * NOISE[1]
        assert process.add_noise(LATENT, NOISE, LEVELS)[1] == pytest.approx(expected, abs=1e-5)
    assert isinstance(process_of(diffusers.FlowMatchHeunDiscreteScheduler(), (Flow,)), Flow)


@pytest.mark.parametrize(
    ("scheduler", "known"),
    [
        (diffusers.ScoreSdeVeScheduler(), (Diffusion, Edm)),
        (diffusers.IPNDMScheduler(), (Diffusion, Edm)),
        (diffusers.FlowMatchEulerDiscreteScheduler(), (Diffusion, Edm)),
        (diffusers.DDPMScheduler(), (Flow,)),
        (diffusers.EDMEulerScheduler(), (Flow,)),
    ],
)
def test_unknown_schedulers_are_refused(scheduler: Any, known: Any) -> None:
    name = type(scheduler).__name__
    with pytest.raises(
        UserError, match=f"How the scheduler {name} adds noise is not known for this pipeline; expected one of: "
    ):
        process_of(scheduler, known)


def test_settings_that_change_the_process_are_refused() -> None:
    with pytest.raises(UserError, match="UniPCMultistepScheduler is set to use_flow_sigmas"):
        process_of(diffusers.UniPCMultistepScheduler(use_flow_sigmas=True), (Diffusion,))
    scheduler = diffusers.EDMDPMSolverMultistepScheduler(prediction_type="sample")
    with pytest.raises(UserError, match="of EDM that predicts epsilon or v_prediction, got 'sample'"):
        process_of(scheduler, (Edm,))
