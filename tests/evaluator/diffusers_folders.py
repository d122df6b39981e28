"""Complete tiny pipelines of diffusers with random weights, made with the libraries' own classes
and saved to disk."""

from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import torch
import transformers
from diffusers import AutoencoderKL, UNet2DConditionModel
from PIL import Image

_SAID = (
    "a photo of red green blue yellow cube sphere cone and the to left right an image one two three"
)
WORDS = _SAID.split()
SIDE = 32
TEXTS = [
    "a photo of a red cube",
    "a photo of a blue sphere",
    "a photo of a blue cube and a red sphere",
]
_END = ["<|startoftext|>", "<|endoftext|>"]


def clip_tokenizer() -> Any:
    """A tokenizer of CLIP that knows letters and the WORDS, 16 tokens long."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        parts = [*word[:-1], f"{word[-1]}</w>"]
        while len(parts) > 1:
            merges.append((parts[0], parts[1]))
            parts[:2] = [parts[0] + parts[1]]
    merges = list(dict.fromkeys(merges))
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), *map("".join, merges), *_END]
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    return transformers.CLIPTokenizer(vocabulary, merges, model_max_length=16)


def t5_tokenizer() -> Any:
    """A tokenizer of T5 that knows the WORDS."""
    pieces = [
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", -10.0),
        ("▁", -5.0),
        *((f"▁{word}", -2.0) for word in WORDS),
    ]
    return transformers.T5TokenizerFast(vocab=pieces, extra_ids=0, model_max_length=32)


def clip_text(tokenizer: Any, projected: bool = False, width: int = 16) -> Any:
    """A text encoder of CLIP with one layer."""
    config = transformers.CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=16,
        projection_dim=width,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=16,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    kind = transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel
    return livened(kind(config))


def t5_text(tokenizer: Any, kind: str = "T5", width: int = 16) -> Any:
    """A text encoder of T5 with one layer."""
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), d_model=width, d_kv=8, d_ff=16, num_layers=1, num_heads=2
    )
    return livened(getattr(transformers, f"{kind}EncoderModel")(config))


def vae(channels: int = 4, shift: float | None = None) -> AutoencoderKL:
    """An autoencoder that makes 32×32 pixels 16×16 latents."""
    return livened(
        AutoencoderKL(
            block_out_channels=(4, 4),
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            latent_channels=channels,
            norm_num_groups=2,
            sample_size=SIDE,
            shift_factor=shift,
            scaling_factor=0.7,
        )
    )


def livened(model: Any) -> Any:
    """Random weights large enough that texts and timesteps matter."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                fan = parameter[0].numel()
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / fan**0.5)
    return model.eval()


def unet(**more: Any) -> UNet2DConditionModel:
    """A U-Net of two levels over 16×16 latents."""
    return livened(
        UNet2DConditionModel(
            sample_size=SIDE // 2,
            block_out_channels=(4, 8),
            layers_per_block=1,
            norm_num_groups=2,
            attention_head_dim=2,
            **{
                "cross_attention_dim": 16,
                "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
                "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
                **more,
            },
        )
    )


def stable_diffusion(folder: Path, prediction: str = "epsilon") -> Path:
    """Stable Diffusion 1.x (epsilon) or 2.x (v_prediction)."""
    words = clip_tokenizer()
    scheduler = diffusers.PNDMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type=prediction,
        skip_prk_steps=True,
        steps_offset=1,
    )
    pipe = diffusers.StableDiffusionPipeline(
        vae=vae(),
        text_encoder=clip_text(words),
        tokenizer=words,
        unet=unet(),
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    return _saved(pipe, folder)


def stable_diffusion_xl(folder: Path) -> Path:
    """Stable Diffusion XL: two text encoders, the sizes and the pooled text as added conditions."""
    words = clip_tokenizer()
    network = unet(
        cross_attention_dim=32,
        addition_embed_type="text_time",
        addition_time_embed_dim=4,
        use_linear_projection=True,
        projection_class_embeddings_input_dim=6 * 4 + 16,
    )
    pipe = diffusers.StableDiffusionXLPipeline(
        vae=vae(),
        text_encoder=clip_text(words),
        text_encoder_2=clip_text(words, True),
        tokenizer=words,
        tokenizer_2=words,
        unet=network,
        scheduler=diffusers.EulerDiscreteScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear"
        ),
    )
    return _saved(pipe, folder)


def stable_diffusion_3(folder: Path) -> Path:
    """Stable Diffusion 3 with T5: rectified flow, a VAE with a shift."""
    words = clip_tokenizer()
    network = diffusers.SD3Transformer2DModel(
        sample_size=SIDE // 2,
        patch_size=2,
        in_channels=4,
        out_channels=4,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=32,
        caption_projection_dim=16,
        pooled_projection_dim=32,
        pos_embed_max_size=16,
    )
    pipe = diffusers.StableDiffusion3Pipeline(
        transformer=livened(network),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=vae(4, 0.1),
        text_encoder=clip_text(words, True),
        tokenizer=words,
        text_encoder_2=clip_text(words, True),
        tokenizer_2=words,
        text_encoder_3=t5_text(t5_tokenizer(), width=32),
        tokenizer_3=t5_tokenizer(),
    )
    return _saved(pipe, folder)


def flux(folder: Path) -> Path:
    """FLUX.1: rectified flow over packed latents."""
    words = clip_tokenizer()
    network = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        pooled_projection_dim=16,
        axes_dims_rope=(4, 4, 8),
        guidance_embeds=True,
    )
    pipe = diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=vae(4, 0.1),
        text_encoder=clip_text(words),
        tokenizer=words,
        text_encoder_2=t5_text(t5_tokenizer()),
        tokenizer_2=t5_tokenizer(),
        transformer=livened(network),
    )
    return _saved(pipe, folder)


def _saved(pipe: Any, folder: Path) -> Path:
    pipe.save_pretrained(folder / "pipeline", safe_serialization=True)
    return folder / "pipeline"


def pictures(n: int, size: tuple[int, int] = (SIDE, SIDE), seed: int = 0) -> list[Image.Image]:
    """Random pictures."""
    rng = np.random.default_rng(seed)
    return [
        Image.fromarray(rng.integers(0, 256, (*size[::-1], 3), dtype=np.uint8)) for _ in range(n)
    ]
