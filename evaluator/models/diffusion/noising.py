"""How a pipeline adds noise to latents, and what its network is trained to predict."""

import math
from typing import Any, Literal, Protocol

import numpy as np
import torch
from PIL import Image

from generator.base.errors import UserError


class Noising(Protocol):
    """Adds noise to latents at levels in (0, 1)."""

    prediction: str
    """What the network predicts: `epsilon`, `v_prediction` or `velocity`. Its error is the error of this prediction."""

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """The timesteps that the network gets for the levels (n,)."""
        ...

    def add_noise(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """A latent (c, h, w) mixed with noises (n, c, h, w) at levels (n,): (n, c, h, w)."""
        ...

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """What the network should predict, (n, c, h, w)."""
        ...


class Diffusion:
    """Diffusion in discrete timesteps: √ᾱ x + √(1 − ᾱ) ε of a latent x and noise ε.

    The network predicts ε, or v = √ᾱ ε − √(1 − ᾱ) x (Salimans & Ho 2022). Raises UserError for other predictions.
    """

    def __init__(self, scheduler_config: Any):
        from diffusers import DDPMScheduler

        scheduler = DDPMScheduler.from_config(scheduler_config)
        self._alphas = scheduler.alphas_cumprod.double()
        self.prediction = scheduler.config.prediction_type
        if self.prediction not in ("epsilon", "v_prediction"):
            raise UserError(
                f"Expected a scheduler that predicts epsilon or v_prediction, got '{self.prediction}'; name another pipeline."
            )

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """Whole numbers from 0, int64 (n,)."""
        return (levels.double() * len(self._alphas)).long()

    def add_noise(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Noising.add_noise."""
        alpha, sigma = self._shares(levels, noise)
        return alpha * latent + sigma * noise

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Noising.target."""
        alpha, sigma = self._shares(levels, noise)
        return noise if self.prediction == "epsilon" else alpha * noise - sigma * latent

    def _shares(self, levels: torch.Tensor, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """√ᾱ and √(1 − ᾱ), each (n, 1, 1, 1), in the dtype and on the device of `like`."""
        alphas = self._alphas[self.timesteps(levels.cpu())][:, None, None, None]
        return alphas.sqrt().to(like), (1 - alphas).sqrt().to(like)


class Flow:
    """Rectified flow (Liu et al. 2022): (1 − σ) x + σ ε. The network predicts the velocity ε − x."""

    prediction = "velocity"

    def __init__(self, scheduler_config: Any):
        self._steps = scheduler_config.get("num_train_timesteps", 1000)

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """σ times the number of training timesteps, float32 (n,)."""
        return levels.float() * self._steps

    def add_noise(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Noising.add_noise."""
        sigma = levels.to(noise)[:, None, None, None]
        return (1 - sigma) * latent + sigma * noise

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Noising.target."""
        return noise - latent


class Edm:
    """EDM (Karras et al. 2022, table 1): x + σ ε, scaled to c_in (x + σ ε) for a network that is told ln(σ) / 4.

    Its prediction F gives the image c_skip (x + σ ε) + c_out F, so F should be (x − c_skip (x + σ ε)) / c_out. A level in (0, 1)
    is the place of σ in the scheduler's own sequence, from `sigma_min` up to `sigma_max`. Raises UserError for other predictions
    than epsilon and v_prediction, which differ in the sign of c_out.
    """

    def __init__(self, scheduler_config: Any):
        self._config = scheduler_config
        if scheduler_config.prediction_type not in (predictions := ("epsilon", "v_prediction")):
            raise UserError(
                f"Expected a scheduler of EDM that predicts {' or '.join(predictions)}, got '{scheduler_config.prediction_type}'; name "
                "another pipeline."
            )
        self.prediction = f"edm {scheduler_config.prediction_type}"

    def sigmas(self, levels: torch.Tensor) -> torch.Tensor:
        """σ at the levels (n,), float64 (n,)."""
        config, level = self._config, levels.double()
        least, most = float(config.sigma_min), float(config.sigma_max)
        if config.sigma_schedule == "exponential":
            return least * (most / least) ** level
        low, high = least ** (1 / config.rho), most ** (1 / config.rho)
        return (low + level * (high - low)) ** config.rho

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """ln(σ) / 4, float32 (n,)."""
        return (self.sigmas(levels).log() / 4).float()

    def add_noise(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Noising.add_noise; what the network gets, c_in (x + σ ε)."""
        sigma = self.sigmas(levels.cpu())[:, None, None, None]
        scale = (sigma**2 + self._config.sigma_data**2) ** -0.5
        return scale.to(noise) * (latent + sigma.to(noise) * noise)

    def target(self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """As Noising.target."""
        data = self._config.sigma_data
        sigma = self.sigmas(levels.cpu())[:, None, None, None]
        skip = data**2 / (sigma**2 + data**2)
        out = sigma * data / (sigma**2 + data**2) ** 0.5
        if self._config.prediction_type == "v_prediction":
            out = -out
        # (x - c_skip (x + sigma noise)) / c_out, without the difference of two large numbers
        return ((1 - skip) / out).to(noise) * latent - (skip * sigma / out).to(noise) * noise


_BY_BETAS = (
    "DDPM", "DDPMParallel", "DDIM", "DDIMParallel", "PNDM", "LMSDiscrete", "EulerDiscrete", "EulerAncestralDiscrete", "HeunDiscrete",
    "KDPM2Discrete", "KDPM2AncestralDiscrete", "DPMSolverMultistep", "DPMSolverSinglestep", "DPMSolverSDE", "DEISMultistep",
    "UniPCMultistep", "SASolver", "LCM", "TCD",
)  # fmt: skip
_PROCESSES: dict[str, type[Diffusion] | type[Flow] | type[Edm]] = {
    **{f"{name}Scheduler": Diffusion for name in _BY_BETAS},
    **{f"{name}Scheduler": Flow for name in ("FlowMatchEulerDiscrete", "FlowMatchHeunDiscrete", "FlowMatchLCM")},
    **{f"{name}Scheduler": Edm for name in ("EDMEuler", "EDMDPMSolverMultistep")},
}
"""How the scheduler classes of diffusers add noise in training. Those of Diffusion differ only in how they generate."""


def process_of(scheduler: Any, known: tuple[type[Noising], ...]) -> Noising:
    """The process of a pipeline's scheduler, one of those that its network is `known` to learn by.

    Raises UserError for other schedulers, and for one that is set to generate by another process than that of its class.
    """
    name = type(scheduler).__name__
    process = _PROCESSES.get(name)
    if process is None or process not in known:
        names = ", ".join(each for each, of in _PROCESSES.items() if of in known)
        raise UserError(
            f"How the scheduler {name} adds noise is not known for this pipeline; expected one of: {names}."
        )
    for setting in ("use_flow_sigmas", "invert_sigmas"):
        if scheduler.config.get(setting):
            raise UserError(
                f"The scheduler {name} is set to {setting}, another process than the one of its class; name a pipeline without it."
            )
    return process(scheduler.config)


Fit = Literal["whole", "crop"]
_WIDEST = 2.0


def fit_image(image: Image.Image, side: int, multiple: int, fit: Fit, longest: int | None = None) -> Image.Image:
    """Resize (bicubic) for a network that was made for squares of `side` pixels.

    `whole` keeps the image's proportions, up to 2 : 1, at the area of the square; sides are rounded to multiples of
    `multiple` pixels, and no side is above `longest`: an image that would be longer gets a smaller area. `crop` resizes the shorter side to `side` and crops the centre.
    """
    width, height = image.size
    if fit == "crop":
        shorter = min(width, height)
        width, height = side * width // shorter, side * height // shorter
        left, top = round((width - side) / 2), round((height - side) / 2)
        resized = image.resize((width, height), Image.Resampling.BICUBIC)
        return resized.crop((left, top, left + side, top + side))
    if width == height:
        return image.resize((side, side), Image.Resampling.BICUBIC)
    ratio = min(_WIDEST, max(1 / _WIDEST, width / height)) ** 0.5
    shrink = min(1.0, (longest or math.inf) / (side * max(ratio, 1 / ratio)))
    columns, rows = (max(1, round(each * shrink / multiple)) * multiple for each in (side * ratio, side / ratio))
    return image.resize((columns, rows), Image.Resampling.BICUBIC)


def encode_latent(vae: Any, image: Image.Image, device: torch.device) -> torch.Tensor:
    """Mean of the VAE's latent of an RGB image, shifted and scaled as in training, float32 (c, h, w)."""
    pixels = torch.from_numpy(np.array(image, dtype=np.float32)).permute(2, 0, 1) / 127.5 - 1
    with torch.autocast(device.type, enabled=False):
        mean = vae.encode(pixels[None].to(device)).latent_dist.mean.float()
    shift, factor, divisor = _normalisation(vae.config, mean)
    latent: torch.Tensor = (mean - shift) * factor / divisor
    return latent[0]


def decode_latent(vae: Any, latent: torch.Tensor) -> Image.Image:
    """The RGB image of a latent as `encode_latent` gives it."""
    shift, factor, divisor = _normalisation(vae.config, latent)
    with torch.autocast(latent.device.type, enabled=False):
        pixels = vae.decode(latent[None] * divisor / factor + shift).sample[0].float()
    numbers = ((pixels.permute(1, 2, 0) + 1) * 127.5).round().clamp(0, 255)
    return Image.fromarray(numbers.cpu().numpy().astype(np.uint8), "RGB")


def _normalisation(config: Any, like: torch.Tensor) -> tuple[torch.Tensor | float, float, torch.Tensor | float]:
    """What a latent is moved by, multiplied by and divided by in training: numbers, or one for each channel (c, 1, 1)."""
    if getattr(config, "latents_mean", None) is not None and getattr(config, "latents_std", None) is not None:
        shift, deviation = (like.new_tensor(each)[:, None, None] for each in (config.latents_mean, config.latents_std))
        return shift, config.scaling_factor, deviation
    return getattr(config, "shift_factor", None) or 0.0, config.scaling_factor, 1.0


def describe_preprocessing(side: int, multiple: int, fit: Fit, scaling: float, longest: int | None = None) -> str:
    """What `fit_image` and `encode_latent` do, for run.json."""
    size = (
        f"bicubic to a shorter side of {side}, centre crop"
        if fit == "crop"
        else f"bicubic to the area of {side} × {side}, whole image, sides multiples of {multiple}{f', at most {longest}' if longest else ''}"
    )
    return f"{size} → VAE latent mean × {scaling}"
