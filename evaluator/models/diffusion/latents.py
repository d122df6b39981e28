"""From an RGB image to the latent that noise is added to, and back."""

import math
from typing import Any, Literal

import torch
from PIL import Image
from torchvision import transforms

Fit = Literal["whole", "crop"]
_WIDEST = 2.0


def fit_image(image: Image.Image, side: int, multiple: int, fit: Fit, longest: int | None = None) -> Image.Image:
    """Resize (bicubic) for a network that was made for squares of `side` pixels.

    `whole` keeps the image's proportions, up to 2 : 1, at the area of the square; sides are rounded to multiples of
    `multiple` pixels, and no side is above `longest`: an image that would be longer gets a smaller area. `crop` resizes
    the shorter side to `side` and crops the centre.
    """
    if fit == "crop":
        return transforms.CenterCrop(side)(transforms.Resize(side, transforms.InterpolationMode.BICUBIC)(image))
    if image.width == image.height:
        return image.resize((side, side), Image.Resampling.BICUBIC)
    ratio = min(_WIDEST, max(1 / _WIDEST, image.width / image.height)) ** 0.5
    shrink = min(1.0, (longest or math.inf) / (side * max(ratio, 1 / ratio)))
    columns, rows = (max(1, round(each * shrink / multiple)) * multiple for each in (side * ratio, side / ratio))
    return image.resize((columns, rows), Image.Resampling.BICUBIC)


def encode_latent(pipe: Any, image: Image.Image) -> torch.Tensor:
    """Mean of the VAE's latent of an RGB image, shifted and scaled as in training, float32 (c, h, w)."""
    pixels = pipe.image_processor.preprocess(image).to(pipe.device)
    with torch.autocast(pipe.device.type, enabled=False):
        mean = pipe.vae.encode(pixels).latent_dist.mean.float()
    shift, factor = _normalisation(pipe.vae.config, mean)
    latent: torch.Tensor = (mean - shift) * factor
    return latent[0]


def decode_latent(pipe: Any, latent: torch.Tensor) -> Image.Image:
    """The RGB image of a latent as `encode_latent` gives it."""
    shift, factor = _normalisation(pipe.vae.config, latent)
    with torch.autocast(latent.device.type, enabled=False):
        pixels = pipe.vae.decode(latent[None] / factor + shift).sample.float()
    return pipe.image_processor.postprocess(pixels, "pil")[0]


def _normalisation(config: Any, like: torch.Tensor) -> tuple[torch.Tensor | float, torch.Tensor | float]:
    """What a latent is moved by and multiplied by in training: numbers, or one for each channel (c, 1, 1)."""
    if getattr(config, "latents_mean", None) is not None and getattr(config, "latents_std", None) is not None:
        shift, deviation = (like.new_tensor(each)[:, None, None] for each in (config.latents_mean, config.latents_std))
        return shift, config.scaling_factor / deviation
    return getattr(config, "shift_factor", None) or 0.0, config.scaling_factor
