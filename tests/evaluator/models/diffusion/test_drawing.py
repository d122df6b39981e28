"""What a model draws is what its own pipeline draws; what it sees is what it scores."""

from collections.abc import Callable
from pathlib import Path

import diffusers
import numpy as np
import pytest
import torch

from evaluator.audits.generation import draw_image, seen_image
from evaluator.models.diffusion.loading import load_diffusion
from evaluator.training.networks import new_diffusion
from tests.evaluator.diffusers_folders import SIDE, TEXTS, pictures

KINDS = ("stable_diffusion", "stable_diffusion_xl", "stable_diffusion_3", "flux")


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_is_that_of_the_pipeline(folders: Callable[[str], Path], kind: str) -> None:
    """As the library draws it, whatever was drawn or scored before."""
    model = load_diffusion(str(folders(kind)), "cpu", samples=2)
    model.score_pairs(pictures(1), [(0, TEXTS[0])])
    first, _, again = (draw_image(model, text, 3, 7.0, 4) for text in (TEXTS[0], TEXTS[1], TEXTS[0]))
    pipe = diffusers.DiffusionPipeline.from_pretrained(folders(kind), safety_checker=None)
    generator = torch.Generator("cpu").manual_seed(3)
    expected = pipe(
        TEXTS[0], height=SIDE, width=SIDE, num_inference_steps=4, guidance_scale=7.0, generator=generator
    ).images[0]
    assert first.size == (SIDE, SIDE)
    assert np.array_equal(first, expected)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, draw_image(model, TEXTS[0], 4, 7.0, 4))


def test_a_model_of_pixels_sees_the_image_that_it_scores() -> None:
    """Its autoencoder is the identity, so that only the size changes."""
    image = pictures(1, (96, 96))[0]
    found = seen_image(new_diffusion(["a red cube"], torch.device("cpu")), image)
    assert found.size == (64, 64)
    assert np.abs(np.array(found, int) - np.array(image.resize((64, 64), 3), int)).max() <= 1


def test_a_preset_that_crops_sees_the_centre(folders: Callable[[str], Path]) -> None:
    image = pictures(1, (64, 32))[0]
    whole, crop = (
        load_diffusion(str(folders("stable_diffusion_3")), "cpu", preset=preset) for preset in ("fixed", "li2023")
    )
    centre = image.crop((16, 0, 48, 32))
    assert seen_image(whole, image).size == (44, 24)
    assert np.array_equal(seen_image(crop, image), seen_image(whole, centre))
    latent = crop.latent(image)
    vae = crop.adapter.pipe.vae
    with torch.no_grad():
        pixels = vae.decode(latent[None] / vae.config.scaling_factor + vae.config.shift_factor, return_dict=False)[0]
    expected = crop.adapter.pipe.image_processor.postprocess(pixels, output_type="pil")[0]
    assert np.abs(np.array(seen_image(crop, image), int) - np.array(expected, int)).max() <= 1
