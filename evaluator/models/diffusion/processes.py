"""How a pipeline puts noise on latents, and what its network is trained to find in them."""

from typing import Any, Protocol

import torch

from generator.dataset.errors import UserError


class Process(Protocol):
    """Noise put on latents at levels in (0, 1)."""

    finds: str
    """What the network predicts, for people: the error is that of this prediction."""

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """What the network is told of the levels (n,)."""
        ...

    def noisy(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """A latent (c, h, w) with noises (n, c, h, w) at levels (n,)."""
        ...

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """What the network should find, (n, c, h, w)."""
        ...


class Diffusion:
    """Discrete timesteps, √ᾱ of the latent and √(1 − ᾱ) of the noise; ε or v = √ᾱ ε − √(1 − ᾱ) x (Salimans & Ho 2022)."""

    def __init__(self, scheduler_config: Any):
        from diffusers import DDPMScheduler

        scheduler = DDPMScheduler.from_config(scheduler_config)
        self._alphas = scheduler.alphas_cumprod.double()
        self.finds = scheduler.config.prediction_type
        if self.finds not in ("epsilon", "v_prediction"):
            raise UserError(
                f"Expected a scheduler that predicts epsilon or v_prediction, got '{self.finds}'; name another pipeline."
            )

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """Whole numbers from 0, int64 (n,)."""
        return (levels.double() * len(self._alphas)).long()

    def noisy(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Process.noisy."""
        of_latent, of_noise = self._shares(levels, noise)
        return of_latent * latent + of_noise * noise

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Process.target."""
        of_latent, of_noise = self._shares(levels, noise)
        return noise if self.finds == "epsilon" else of_latent * noise - of_noise * latent

    def _shares(self, levels: torch.Tensor, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        alphas = self._alphas[self.timesteps(levels.cpu())][:, None, None, None]
        return alphas.sqrt().to(like), (1 - alphas).sqrt().to(like)


class Flow:
    """Rectified flow: 1 − σ of the latent and σ of the noise; the velocity is noise − latent (Liu et al. 2022)."""

    finds = "velocity"

    def __init__(self, scheduler_config: Any):
        self._steps = scheduler_config.get("num_train_timesteps", 1000)

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """σ times the number of training timesteps, float32 (n,)."""
        return levels.float() * self._steps

    def noisy(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Process.noisy."""
        sigma = levels.to(noise)[:, None, None, None]
        return (1 - sigma) * latent + sigma * noise

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Process.target."""
        return noise - latent
