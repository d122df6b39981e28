"""What a diffusion model draws for a text, and what it sees of an image as a classifier."""

import torch
from PIL import Image

from evaluator.models.diffusion.preprocessing import decode_latent
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.quiet import quiet


@torch.inference_mode()
def draw_image(model: DiffusionClassifier, text: str, seed: int, guidance: float, steps: int) -> Image.Image:
    """The image that the model's own pipeline makes of a text, RGB, of the square that its network was made for.

    seed: of the noise that it starts from, which is drawn on the CPU, so that models with equal latents start from the same.
    guidance: the scale of classifier-free guidance (Ho & Salimans 2022). steps: of the pipeline's scheduler.
    """
    pipe, side = model.adapter.pipe, model.adapter.side
    pipe.set_progress_bar_config(disable=True)
    with quiet():
        made: Image.Image = pipe(
            prompt=text, height=side, width=side, guidance_scale=guidance, num_inference_steps=steps,
            generator=torch.Generator().manual_seed(seed),
        ).images[0]  # fmt: skip
    return made


@torch.inference_mode()
def seen_image(model: DiffusionClassifier, image: Image.Image) -> Image.Image:
    """An RGB image as the classifier sees it before noise is added: resized or cropped by its preset, and what its autoencoder
    keeps."""
    return decode_latent(model.adapter.pipe.vae, model.latent(image))
