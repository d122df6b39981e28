"""From images to latents and back: what a model sees is what it scores, what it draws is what its
pipeline draws."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import diffusers
import numpy as np
import pytest
import torch

from evaluator.audits.generation import draw_image, seen_image
from evaluator.models.diffusion.loading import load_diffusion
from evaluator.models.diffusion.scorer import decode_latent, encode_latent, fit_image
from evaluator.training.networks import new_diffusion
from tests.evaluator import diffusers_folders
from tests.evaluator.diffusers_folders import SIDE, TEXTS, pictures


def test_the_whole_image_is_seen(folders: Callable[[str], Path]) -> None:
    """A wide image keeps its proportions, at the area that the network was made for."""
    wide = pictures(1, (64, 36))[0]
    assert fit_image(wide, SIDE, multiple=4, fit="whole").size == (44, 24)
    assert fit_image(pictures(1, (200, 20))[0], SIDE, multiple=4, fit="whole").size == (44, 24)
    assert fit_image(pictures(1, (50, 50))[0], SIDE, multiple=4, fit="whole").size == (SIDE, SIDE)
    classifier = load_diffusion(str(folders("stable_diffusion_3")), "cpu", samples=4)
    assert np.isfinite(classifier.score_pairs([wide], [(0, TEXTS[0])])).all()


def test_no_side_is_longer_than_the_network_has_positions_for() -> None:
    for size in ((64, 36), (36, 64), (200, 20), (40, 40)):
        fitted = fit_image(pictures(1, size)[0], SIDE, multiple=4, fit="whole", longest=36).size
        assert max(fitted) <= 36
        assert max(fitted) / min(fitted) == pytest.approx(min(2, max(size) / min(size)), abs=0.3)
    assert fit_image(pictures(1, (64, 36))[0], SIDE, multiple=4, fit="whole", longest=64).size == (
        44,
        24,
    )


@torch.no_grad()
def test_latents_are_shifted_and_scaled_as_in_training() -> None:
    """By numbers, or by one for each channel where the VAE says so; and decoded again."""
    vae, image = diffusers_folders.vae(shift=0.1), pictures(1)[0]
    images = diffusers.image_processor.VaeImageProcessor(vae_scale_factor=2)
    mean = vae.encode(images.preprocess(image)).latent_dist.mean[0]
    pipe = SimpleNamespace(vae=vae, image_processor=images, device=torch.device("cpu"))
    assert encode_latent(pipe, image) == pytest.approx((mean - 0.1) * 0.7, abs=1e-5)
    config = SimpleNamespace(latents_mean=[1.0] * 4, latents_std=[2.0] * 4, scaling_factor=0.5)
    pipe.vae = SimpleNamespace(encode=vae.encode, decode=vae.decode, config=config)
    latent = encode_latent(pipe, image)
    assert latent == pytest.approx((mean - 1) * 0.5 / 2, abs=1e-5)
    decoded = images.postprocess(vae.decode(mean[None]).sample, "np")[0] * 255
    assert np.abs(np.asarray(decode_latent(pipe, latent), float) - decoded).max() <= 0.6


KINDS = ("stable_diffusion", "stable_diffusion_xl", "stable_diffusion_3", "flux")


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_is_that_of_the_pipeline(folders: Callable[[str], Path], kind: str) -> None:
    """As the library draws it, whatever was drawn or scored before."""
    model = load_diffusion(str(folders(kind)), "cpu", samples=2)
    model.score_pairs(pictures(1), [(0, TEXTS[0])])
    first, _, repeated = (
        draw_image(model, text, seed=3, guidance=7.0, steps=4)
        for text in (TEXTS[0], TEXTS[1], TEXTS[0])
    )
    pipe = diffusers.DiffusionPipeline.from_pretrained(folders(kind), safety_checker=None)
    generator = torch.Generator("cpu").manual_seed(3)
    expected = pipe(
        TEXTS[0],
        height=SIDE,
        width=SIDE,
        num_inference_steps=4,
        guidance_scale=7.0,
        generator=generator,
    ).images[0]
    assert first.size == (SIDE, SIDE)
    assert np.array_equal(first, expected)
    assert np.array_equal(first, repeated)
    assert not np.array_equal(first, draw_image(model, TEXTS[0], seed=4, guidance=7.0, steps=4))


def test_a_model_of_pixels_sees_the_image_that_it_scores() -> None:
    """Its autoencoder is the identity, so that only the size changes."""
    image = pictures(1, (96, 96))[0]
    decoded = seen_image(new_diffusion(["a red cube"], torch.device("cpu")), image)
    assert decoded.size == (32, 32)
    assert np.abs(np.array(decoded, int) - np.array(image.resize((32, 32), 3), int)).max() <= 1


def test_a_preset_that_crops_sees_the_centre(folders: Callable[[str], Path]) -> None:
    image = pictures(1, (64, 32))[0]
    whole, crop = (
        load_diffusion(str(folders("stable_diffusion_3")), "cpu", preset=preset)
        for preset in ("fixed", "li2023")
    )
    centre = image.crop((16, 0, 48, 32))
    assert seen_image(whole, image).size == (44, 24)
    assert np.array_equal(seen_image(crop, image), seen_image(whole, centre))
