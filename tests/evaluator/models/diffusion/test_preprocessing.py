"""From images to latents."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import diffusers
import numpy as np
import pytest
import torch
from torchvision import transforms

from evaluator.models.diffusion.latents import describe_preprocessing, encode_latent, fit_image
from evaluator.models.diffusion.loading import load_diffusion
from tests.evaluator import diffusers_folders
from tests.evaluator.diffusers_folders import SIDE, TEXTS, pictures


def test_the_whole_image_is_seen(folders: Callable[[str], Path]) -> None:
    """A wide image keeps its proportions, at the area that the network was made for."""
    wide = pictures(1, (64, 36))[0]
    assert fit_image(wide, SIDE, 4, "whole").size == (44, 24)
    assert fit_image(pictures(1, (200, 20))[0], SIDE, 4, "whole").size == (44, 24)
    assert fit_image(pictures(1, (50, 50))[0], SIDE, 4, "whole").size == (SIDE, SIDE)
    classifier = load_diffusion(f"{folders('stable_diffusion_3')}@fixed,samples=4", "cpu")
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
def test_latents_are_those_of_the_librarys_processor() -> None:
    vae, image = diffusers_folders.vae(shift=0.1), pictures(1)[0]
    pixels = diffusers.image_processor.VaeImageProcessor(vae_scale_factor=2).preprocess(image)
    expected = (vae.encode(pixels).latent_dist.mean - 0.1) * 0.7
    assert encode_latent(vae, image, torch.device("cpu")) == pytest.approx(expected[0], abs=1e-5)


@torch.no_grad()
def test_latents_are_standardised_where_the_vae_says_how() -> None:
    vae, image = diffusers_folders.vae(), pictures(1)[0]
    plain = encode_latent(vae, image, torch.device("cpu")) / 0.7
    config = SimpleNamespace(latents_mean=[1.0] * 4, latents_std=[2.0] * 4, scaling_factor=0.5)
    named = SimpleNamespace(encode=vae.encode, config=config)
    assert encode_latent(named, image, torch.device("cpu")) == pytest.approx((plain - 1) * 0.5 / 2, abs=1e-6)


def test_the_steps_are_described() -> None:
    assert (
        describe_preprocessing(512, 64, "crop", 0.5)
        == "bicubic to a shorter side of 512, centre crop → VAE latent mean × 0.5"
    )
    assert "whole image, sides multiples of 64" in describe_preprocessing(512, 64, "whole", 0.5)
