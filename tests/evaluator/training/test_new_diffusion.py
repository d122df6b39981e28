"""A new diffusion model follows the seed and reads its texts whole, and its latent is the image."""

from typing import Any

import pytest
import torch

from evaluator.training import networks
from evaluator.training.networks import _UNETS, identity_autoencoder

TINY: dict[str, Any] = {
    **_UNETS["tiny"],
    "sample_size": 16,
    "block_out_channels": (8, 16),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
}
"""A U-Net of two levels over 16×16 pixels."""


def test_a_new_diffusion_model_follows_the_seed_and_reads_its_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(networks._UNETS, "tiny", TINY)
    texts, found = ["a red cube", " ".join(["a red cube and"] * 20)], []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        model = networks.new_diffusion(texts, torch.device("cpu"))
        found.append(model.info["weights_sha256"])
    assert found[0] == found[1] != found[2]
    assert model.token_counts(texts) == [5, 82]
    assert model.info["text_length"] == 82
    assert networks.new_diffusion(texts[:1], torch.device("cpu")).info["text_length"] == 16
    assert (model.info["resolution"], model.info["prediction"]) == ("16 × 16", "epsilon")


def test_the_latent_of_an_image_is_the_image() -> None:
    vae = identity_autoencoder(64)
    generator = torch.Generator().manual_seed(0)
    noise = torch.rand(1, 3, 48, 80, generator=generator) * 2 - 1
    for pixels in (noise, noise / 10, torch.ones(1, 3, 16, 16), -torch.ones(1, 3, 16, 16), torch.zeros(1, 3, 16, 16)):
        latent = vae.encode(pixels).latent_dist
        assert torch.allclose(latent.mean, pixels, rtol=0, atol=1e-3)
        assert latent.std.max() < 1e-6
        assert torch.allclose(vae.decode(pixels).sample, pixels, rtol=0, atol=1e-3)


def test_a_small_one_is_larger_and_draws_more_pixels() -> None:
    small = networks.new_diffusion(["a red cube"], torch.device("cpu"), "small")
    assert (small.info["resolution"], round(small.info["parameters"] / 1e6)) == ("128 × 128", 29)
