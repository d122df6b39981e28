"""A small, untrained text-to-image model: a Stable Diffusion of diffusers that works on pixels."""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.models.diffusion.networks import StableDiffusion
from evaluator.models.diffusion.schedules import DEFAULT, parse_preset
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.training.networks import SMALL, TINY, check_size
from evaluator.training.words import word_tokenizer

_LEVELS: dict[str, Any] = {
    "down_block_types": ("DownBlock2D", "DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
}
NETWORKS: dict[str, dict[str, Any]] = {
    TINY: {
        "sample_size": 64, "block_out_channels": (16, 32, 64, 128), "layers_per_block": 1, "attention_head_dim": 4, "norm_num_groups": 8,
        **_LEVELS,
    },
    SMALL: {
        "sample_size": 128, "block_out_channels": (32, 64, 128, 256), "layers_per_block": 2, "attention_head_dim": 8,
        "norm_num_groups": 32, **_LEVELS,
    },
}  # fmt: skip
"""Of the U-Net. Texts come in at a quarter and an eighth of the resolution."""
_TEXTS: dict[str, dict[str, Any]] = {
    TINY: {
        "hidden_size": 128,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 512,
        "projection_dim": 128,
    },
    SMALL: {
        "hidden_size": 256,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        "intermediate_size": 1024,
        "projection_dim": 256,
    },
}
_LENGTH = 16
"""Tokens of the text encoder."""
_CHANNELS = 3
_CONSTANT = 64.0
_NO_VARIANCE = -30.0
"""Log variance of the latent, the least that diffusers takes."""


def new_diffusion(texts: Sequence[str], device: torch.device, size: str = TINY) -> DiffusionClassifier:
    """A text-to-image model that knows the words of some texts and cuts none of them. Its weights follow torch's seed.

    Noise is added as in Ho et al. 2020, section 4; the U-Net predicts it. Raises UserError for an unknown size.
    """
    from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    network, text = NETWORKS[check_size(size)], _TEXTS[size]
    tokenizer = word_tokenizer(texts, _LENGTH)
    config = CLIPTextConfig(
        vocab_size=len(tokenizer), max_position_embeddings=tokenizer.model_max_length, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id, eos_token_id=tokenizer.sep_token_id, **text,
    )  # fmt: skip
    pipe: Any = StableDiffusionPipeline(
        vae=identity_autoencoder(network["sample_size"]), text_encoder=CLIPTextModel(config), tokenizer=tokenizer,
        unet=UNet2DConditionModel(in_channels=_CHANNELS, out_channels=_CHANNELS, cross_attention_dim=text["hidden_size"], **network),
        scheduler=DDIMScheduler(beta_start=1e-4, beta_end=0.02, beta_schedule="linear", clip_sample=False, steps_offset=1),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    return DiffusionClassifier(StableDiffusion(pipe.to(device)), parse_preset(DEFAULT), device, "untrained")


def identity_autoencoder(side: int) -> Any:
    """An AutoencoderKL whose latent is the image (3, h, w) in −1 … 1 itself, within a thousandth.

    The convolutions carry x and −x, since SiLU(x) − SiLU(−x) = x, and two large constants, beside which the image does not change
    the deviation that the normalisation divides by. The residual blocks add nothing.
    """
    from diffusers import AutoencoderKL

    width = 2 * _CHANNELS + 2
    vae: Any = AutoencoderKL(
        latent_channels=_CHANNELS, block_out_channels=(width,), norm_num_groups=1, sample_size=side, scaling_factor=1.0,
        mid_block_add_attention=False, use_quant_conv=False, use_post_quant_conv=False,
    )  # fmt: skip
    both = torch.cat([torch.eye(_CHANNELS), -torch.eye(_CHANNELS)])
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.zero_()
        for half in (vae.encoder, vae.decoder):
            half.conv_in.weight[: 2 * _CHANNELS, :, 1, 1] = both
            half.conv_in.bias[2 * _CHANNELS :] = torch.tensor([_CONSTANT, -_CONSTANT])
            half.conv_norm_out.weight.fill_(_CONSTANT * (2 / width) ** 0.5)
            half.conv_out.weight[:_CHANNELS, : 2 * _CHANNELS, 1, 1] = both.T
        vae.encoder.conv_out.bias[_CHANNELS:] = _NO_VARIANCE
    return vae.eval().requires_grad_(False)
