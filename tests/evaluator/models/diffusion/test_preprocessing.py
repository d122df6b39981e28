"""From images to latents."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import diffusers
import numpy as np
import pytest
import torch
from torchvision import transforms

from evaluator.models.diffusion.latents import decode_latent, encode_latent, fit_image
from evaluator.models.diffusion.loading import load_diffusion
from tests.evaluator import diffusers_folders
from tests.evaluator.diffusers_folders import SIDE, TEXTS, pictures


def test_the_whole_image_is_seen(folders: Callable[[str], Path]) -> None:
    """A wide image keeps its proportions, at the area that the network was made for."""
    wide = pictures(1, (64, 36))[0]
    assert fit_image(wide, SIDE, 4, "whole").size == (44, 24)
    assert fit_image(pictures(1, (200, 20))[0], SIDE, 4, "whole").size == (44, 24)
    assert fit_image(pictures(1, (50, 50))[0], SIDE, 4, "whole").size == (SIDE, SIDE)
    classifier = load_diffusion(str(folders("stable_diffusion_3")), "cpu", samples=4)
    assert np.isfinite(classifier.score_pairs([wide], [(0, TEXTS[0])])).all()


def test_no_side_is_longer_than_the_network_has_positions_for() -> None:
    for size in ((64, 36), (36, 64), (200, 20), (40, 40)):
        fitted = fit_image(pictures(1, size)[0], SIDE, 4, "whole", longest=36).size
        assert max(fitted) <= 36
        assert max(fitted) / min(fitted) == pytest.approx(min(2, max(size) / min(size)), abs=0.3)
    assert fit_image(pictures(1, (64, 36))[0], SIDE, 4, "whole", longest=64).size == (44, 24)


@pytest.mark.parametrize("size", [(64, 36), (35, 57), (33, 33)])
def test_published_presets_crop_as_torchvision_does(size: tuple[int, int]) -> None:
    image = pictures(1, size)[0]
    resize = transforms.Resize(SIDE, transforms.InterpolationMode.BICUBIC)
    published = transforms.Compose([resize, transforms.CenterCrop(SIDE)])
    assert np.array_equal(np.array(fit_image(image, SIDE, 4, "crop")), np.array(published(image)))


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
