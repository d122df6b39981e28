"""Noise levels, orders and noise of samples."""

import numpy as np
import pytest
from PIL import Image

from evaluator.models.diffusion.noising import image_digest, levels, nested_order, noise, staged_order

TIMESTEPS = 1000


def timesteps_of(total: int) -> np.ndarray:
    """Of 1,000 timesteps, those of the samples."""
    return (levels(total) * TIMESTEPS).astype(int)


def test_published_timesteps() -> None:
    """500 samples are t = 1, 3 … 999 as in Li et al.'s code; 75 of 200 reach to the end, where theirs end at t =
    747."""
    assert timesteps_of(500).tolist() == list(range(1, 1000, 2))
    assert timesteps_of(200).tolist() == list(range(2, 1000, 5))
    first = timesteps_of(200)[staged_order((75, 200))[:75]]
    assert first.max() > 985
    assert np.diff(np.sort(first)).max() <= 15


def test_nested_order_depends_on_the_seed_alone() -> None:
    """The same for a seed, 0 included; another for another; any number of samples."""
    assert nested_order(100, 0).tolist() == nested_order(100, 0).tolist()
    assert nested_order(100, 0).tolist() != nested_order(100, 1).tolist()
    for total in (1, 2, 3, 7, 100, 1000):
        assert sorted(nested_order(total, 0)) == list(range(total))


def test_noise_follows_from_content_seed_and_sample() -> None:
    """Standard normal, the same for the same, independent for another image, seed or sample."""
    red, blue = (image_digest(Image.new("RGB", (4, 4), colour)) for colour in ("red", "blue"))
    assert red != image_digest(Image.new("RGB", (2, 8), "red"))
    shape = (4, 32, 32)
    first = noise(red, 0, 7, shape)
    assert first.dtype == np.float32
    assert np.array_equal(first, noise(red, 0, 7, shape))
    for other in (noise(blue, 0, 7, shape), noise(red, 1, 7, shape), noise(red, 0, 8, shape)):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.06
    assert abs(first.mean()) < 0.05
    assert abs(first.std() - 1) < 0.05
    # the same on every machine
    assert noise("0" * 64, 0, 0, (3,)) == pytest.approx(KNOWN_NOISE, abs=1e-6)


KNOWN_NOISE = [-0.2810665, -0.3718877, 0.1176878]
