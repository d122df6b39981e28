"""From an RGB image to the latent that noise is added to, and back."""

import math
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image

Fit = Literal["whole", "crop"]
_WIDEST = 2.0


def fit_image(image: Image.Image, side: int, multiple: int, fit: Fit, longest: int | None = None) -> Image.Image:
    """Resize (bicubic) for a network that was made for squares of `side` pixels.

    `whole` keeps the image's proportions, up to 2 : 1, at the area of the square; sides are rounded to multiples of
    `multiple` pixels, and no side is above `longest`: an image that would be longer gets a smaller area. `crop` resizes
    the shorter side to `side` and crops the centre.
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
    """What a latent is moved by, multiplied by and divided by in training: numbers, or one for each channel (c, 1,
    1)."""
    if getattr(config, "latents_mean", None) is not None and getattr(config, "latents_std", None) is not None:
        shift, deviation = (like.new_tensor(each)[:, None, None] for each in (config.latents_mean, config.latents_std))
        return shift, config.scaling_factor, deviation
    return getattr(config, "shift_factor", None) or 0.0, config.scaling_factor, 1.0


def describe_preprocessing(side: int, multiple: int, fit: Fit, scaling: float, longest: int | None = None) -> str:
    """What `fit_image` and `encode_latent` do, for run.json."""
    size = (
        f"bicubic to a shorter side of {side}, centre crop"
        if fit == "crop"
        else (
            f"bicubic to the area of {side} × {side}, whole image, sides multiples of "
            f"{multiple}{f', at most {longest}' if longest else ''}"
        )
    )
    return f"{size} → VAE latent mean × {scaling}"
