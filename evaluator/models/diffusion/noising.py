"""How a pipeline adds noise to latents at levels in (0, 1), and what its network is trained to predict."""

from typing import Any, TypeAlias

import torch

from generator.base.errors import UserError


class Diffusion:
    """Diffusion in discrete timesteps: √ᾱ x + √(1 − ᾱ) ε of a latent x and noise ε.

    The network predicts ε, or v = √ᾱ ε − √(1 − ᾱ) x (Salimans & Ho 2022). Raises UserError for other predictions.
    """

    SCHEDULERS = (
        "DDPM DDPMParallel DDIM DDIMParallel PNDM LMSDiscrete EulerDiscrete EulerAncestralDiscrete HeunDiscrete "
        "KDPM2Discrete KDPM2AncestralDiscrete DPMSolverMultistep DPMSolverSinglestep DPMSolverSDE DEISMultistep "
        "UniPCMultistep SASolver LCM TCD"
    )
    """Classes of diffusers that add noise so in training; they differ only in how they generate."""

    def __init__(self, scheduler_config: Any):
        from diffusers import DDPMScheduler

        scheduler = DDPMScheduler.from_config(scheduler_config)
        self._alphas = scheduler.alphas_cumprod.double()
        self.prediction = scheduler.config.prediction_type
        if self.prediction not in ("epsilon", "v_prediction"):
            raise UserError(
                f"Expected a scheduler that predicts epsilon or v_prediction, got '{self.prediction}'; name another "
                "pipeline."
            )

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """The timesteps that the network gets for the levels (n,): whole numbers from 0, int64 (n,)."""
        return (levels.double() * len(self._alphas)).long()

    def add_noise(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """A latent (c, h, w) mixed with noises (n, c, h, w) at levels (n,): (n, c, h, w)."""
        alpha, sigma = self._shares(levels, noise)
        return alpha * latent + sigma * noise

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """What the network should predict, (n, c, h, w)."""
        alpha, sigma = self._shares(levels, noise)
        return noise if self.prediction == "epsilon" else alpha * noise - sigma * latent

    def _shares(self, levels: torch.Tensor, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """√ᾱ and √(1 − ᾱ), each (n, 1, 1, 1), in the dtype and on the device of `like`."""
        alphas = self._alphas[self.timesteps(levels.cpu())][:, None, None, None]
        return alphas.sqrt().to(like), (1 - alphas).sqrt().to(like)


class Flow:
    """Rectified flow (Liu et al. 2022): (1 − σ) x + σ ε. The network predicts the velocity ε − x."""

    SCHEDULERS = "FlowMatchEulerDiscrete FlowMatchHeunDiscrete FlowMatchLCM"
    prediction = "velocity"

    def __init__(self, scheduler_config: Any):
        self._steps = scheduler_config.get("num_train_timesteps", 1000)

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """σ times the number of training timesteps, float32 (n,)."""
        return levels.float() * self._steps

    def add_noise(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Diffusion.add_noise."""
        sigma = levels.to(noise)[:, None, None, None]
        return (1 - sigma) * latent + sigma * noise

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Diffusion.target."""
        return noise - latent


Noising: TypeAlias = Diffusion | Flow


def process_of(scheduler: Any, kind: type[Noising]) -> Noising:
    """The process of a pipeline's scheduler, of the kind that its network learns by.

    Raises UserError for other schedulers, and for one that is set to generate by another process than that of its
    class.
    """
    name = type(scheduler).__name__
    known = [f"{each}Scheduler" for each in kind.SCHEDULERS.split()]
    if name not in known:
        raise UserError(
            f"How the scheduler {name} adds noise is not known for this pipeline; expected one of: {', '.join(known)}."
        )
    for setting in ("use_flow_sigmas", "invert_sigmas"):
        if scheduler.config.get(setting):
            raise UserError(
                f"The scheduler {name} is set to {setting}, another process than the one of its class; name a pipeline "
                "without it."
            )
    return kind(scheduler.config)
