"""New, untrained models of open_clip, transformers and diffusers, and the learners that train them."""

from collections.abc import Sequence
from typing import Any

import open_clip
import torch
from torch import Tensor

from evaluator.models.diffusion.networks import StableDiffusion
from evaluator.models.diffusion.schedules import settings_of
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.network import best_device
from evaluator.models.open_clip import OpenClipEncoder
from evaluator.models.pretrained import describe_pretrained
from evaluator.models.vilt import ViltScorer
from evaluator.training.contrastive import Contrastive, Towers
from evaluator.training.data import TrainingData
from evaluator.training.denoising import Denoising
from evaluator.training.fit import Learner
from evaluator.training.matching import Matching
from evaluator.training.recipe import CROSS, DIFFUSION, DUAL, DUAL_VIT, SMALL, TINY, Recipe
from generator.base.streams import Stream

_TEXT = {"context_length": 16, "vocab_size": 49408}
_TEXT_TOWERS: dict[str, dict[str, Any]] = {
    TINY: {**_TEXT, "width": 128, "heads": 4, "layers": 2},
    SMALL: {**_TEXT, "width": 256, "heads": 8, "layers": 4},
}
_WIDTHS = {TINY: 128, SMALL: 256}
# A ResNet under attention pooling or a transformer over patches, and a causal text transformer with learnt positions:
# the embedding can depend on the positions of objects and on the order of words.
_IMAGES: dict[str, dict[str, dict[str, Any]]] = {
    DUAL: {
        TINY: {"layers": [1, 1, 1, 1], "width": 32, "head_width": 32, "image_size": 64},
        SMALL: {"layers": [2, 2, 2, 2], "width": 64, "head_width": 64, "image_size": 128},
    },
    DUAL_VIT: {
        TINY: {"layers": 4, "width": 128, "head_width": 32, "patch_size": 8, "image_size": 64},
        SMALL: {"layers": 8, "width": 384, "head_width": 64, "patch_size": 8, "image_size": 128},
    },
}
_VILTS: dict[str, dict[str, Any]] = {
    TINY: {
        "hidden_size": 128,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 512,
        "image_size": 64,
        "patch_size": 8,
    },
    SMALL: {
        "hidden_size": 384,
        "num_hidden_layers": 8,
        "num_attention_heads": 6,
        "intermediate_size": 1536,
        "image_size": 128,
        "patch_size": 8,
    },
}
_VILT_LENGTH = 40
"""Tokens that ViLT reads."""
_LEVELS: dict[str, Any] = {
    "down_block_types": ("DownBlock2D", "DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
}
_UNETS: dict[str, dict[str, Any]] = {
    TINY: {
        "sample_size": 64,
        "block_out_channels": (16, 32, 64, 128),
        "layers_per_block": 1,
        "attention_head_dim": 4,
        "norm_num_groups": 8,
        **_LEVELS,
    },
    SMALL: {
        "sample_size": 128,
        "block_out_channels": (32, 64, 128, 256),
        "layers_per_block": 2,
        "attention_head_dim": 8,
        "norm_num_groups": 32,
        **_LEVELS,
    },
}
"""Of the U-Net. Texts come in at a quarter and an eighth of the resolution."""
_TEXT_ENCODERS: dict[str, dict[str, Any]] = {
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
_DIFFUSION_LENGTH = 16
"""Tokens of the text encoder."""
_CHANNELS = 3
_CONSTANT = 64.0
_NO_VARIANCE = -30.0
"""Log variance of the latent, the least that diffusers takes."""
_UNTOLD = 0.1
"""The share of images that a diffusion model sees without a caption."""
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def new_model(
    architecture: str, size: str, data: TrainingData, recipe: Recipe, device: str | None, bags: bool = False
) -> tuple[Any, Learner]:
    """A new model, whose weights follow the seed of the recipe, and its learner. Its context is as long as the longest
    text needs.

    bags: train a dual encoder as a bag of words (evaluator.training.data.Facts).
    """
    torch.manual_seed(recipe.seed)
    target, augment = best_device(device), Augmentation(recipe, data.mirrored)
    if architecture == CROSS:
        model: Any = new_vilt(data.texts, target, size)
        return model, Matching(model, data, recipe, augment)
    if architecture == DIFFUSION:
        model = new_diffusion(data.texts, target, size)
        return model, Denoising(model, data, recipe, True, augment, _UNTOLD)
    model = new_open_clip(network_config(architecture, size, _longest(data.texts)), target)
    return model, Contrastive(Towers(model, data, recipe.precision, augment), data, recipe, bags)


class Augmentation:
    """Mirrors images at random, where nothing that is said depends on it, and shifts the batch; this keeps every
    binding.
    """

    def __init__(self, recipe: Recipe, mirrored: bool):
        self._flip, self._shift, self._seed = recipe.flip and mirrored, recipe.shift, recipe.seed

    def __call__(self, batch: Tensor, places: Sequence[int], step: int) -> Tensor:
        """Images (n, 3, h, w) of a step, changed by their places in it and by its number alone."""
        stream = Stream(self._seed, "shift", step)
        if self._flip:
            drawn = [Stream(self._seed, "mirror", step, place).below(2) for place in places]
            mirrored = torch.tensor(drawn, dtype=torch.bool).view(-1, 1, 1, 1)
            batch = torch.where(mirrored, batch.flip(-1), batch)
        if self._shift:
            down, right = (stream.below(2 * self._shift + 1) - self._shift for _ in range(2))
            batch = torch.roll(batch, (down, right), (-2, -1))
        return batch.contiguous(memory_format=torch.channels_last)


def network_config(architecture: str = DUAL, size: str = TINY, length: int = 0) -> dict[str, Any]:
    """The `model_cfg` of open_clip, for texts of up to so many tokens or more."""
    text = _TEXT_TOWERS[size]
    return {
        "embed_dim": _WIDTHS[size],
        "vision_cfg": dict(_IMAGES[architecture][size]),
        "text_cfg": {**text, "context_length": max(text["context_length"], length)},
    }


def _longest(texts: Sequence[str]) -> int:
    """Tokens of the longest text, its start and end included."""
    tokenizer = open_clip.SimpleTokenizer()
    return max((len(tokenizer.encode(text)) + 2 for text in texts), default=0)


def new_open_clip(config: dict[str, Any], device: torch.device) -> OpenClipEncoder:
    """An untrained model of open_clip with OpenAI's preprocessing; `config` is the `model_cfg` of
    open_clip_config.json.

    Its weights follow torch's seed.
    """
    network = open_clip.CLIP(**config).to(device, memory_format=torch.channels_last)
    size = config["vision_cfg"]["image_size"]
    open_clip.set_model_preprocess_cfg(
        network,
        {
            "size": (size, size),
            "mean": open_clip.OPENAI_DATASET_MEAN,
            "std": open_clip.OPENAI_DATASET_STD,
            "interpolation": "bicubic",
            "resize_mode": "shortest",
            "fill_color": 0,
        },
    )
    preprocess = open_clip.image_transform(size, is_train=False)
    tokenizer = open_clip.SimpleTokenizer(context_length=config["text_cfg"]["context_length"])
    return OpenClipEncoder(network, preprocess, tokenizer, config, "untrained", device)


def new_vilt(texts: Sequence[str], device: torch.device, size: str = TINY) -> ViltScorer:
    """A ViLT that knows the words of some texts and cuts none of them. Its weights follow torch's seed."""
    from transformers import ViltConfig, ViltForImageAndTextRetrieval, ViltImageProcessor

    network = _VILTS[size]
    tokenizer = word_tokenizer(texts, _VILT_LENGTH)
    config = ViltConfig(vocab_size=len(tokenizer), max_position_embeddings=tokenizer.model_max_length, **network)
    images: Any = ViltImageProcessor(  # type: ignore[call-arg]
        size={"shortest_edge": network["image_size"]}, size_divisor=network["patch_size"]
    )
    model: Any = ViltForImageAndTextRetrieval(config)
    return ViltScorer(describe_pretrained("untrained", model.to(device), tokenizer, images, None))


def new_diffusion(texts: Sequence[str], device: torch.device, size: str = TINY) -> DiffusionClassifier:
    """A text-to-image model that knows the words of some texts and cuts none of them. Its weights follow torch's seed.

    Noise is added as in Ho et al. 2020, section 4; the U-Net predicts it.
    """
    from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    network, text = _UNETS[size], _TEXT_ENCODERS[size]
    tokenizer = word_tokenizer(texts, _DIFFUSION_LENGTH)
    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=tokenizer.model_max_length,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        **text,
    )
    pipe: Any = StableDiffusionPipeline(
        vae=identity_autoencoder(network["sample_size"]),
        text_encoder=CLIPTextModel(config),
        tokenizer=tokenizer,
        unet=UNet2DConditionModel(
            in_channels=_CHANNELS, out_channels=_CHANNELS, cross_attention_dim=text["hidden_size"], **network
        ),
        scheduler=DDIMScheduler(
            beta_start=1e-4, beta_end=0.02, beta_schedule="linear", clip_sample=False, steps_offset=1
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    return DiffusionClassifier(StableDiffusion(pipe.to(device)), settings_of(), device, "untrained")


def identity_autoencoder(side: int) -> Any:
    """An AutoencoderKL whose latent is the image (3, h, w) in −1 … 1 itself, within a thousandth.

    The convolutions carry x and −x, since SiLU(x) − SiLU(−x) = x, and two large constants, beside which the image does
    not change the deviation that the normalisation divides by. The residual blocks add nothing.
    """
    from diffusers import AutoencoderKL

    width = 2 * _CHANNELS + 2
    vae: Any = AutoencoderKL(
        latent_channels=_CHANNELS,
        block_out_channels=(width,),
        norm_num_groups=1,
        sample_size=side,
        scaling_factor=1.0,
        mid_block_add_attention=False,
        use_quant_conv=False,
        use_post_quant_conv=False,
    )
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


def word_tokenizer(texts: Sequence[str], length: int) -> Any:
    """BERT's tokenizer of transformers over the lower-cased words of texts; any other word is [UNK].

    It reads `length` tokens of a text, [CLS] and [SEP] included, or as many as the longest of these texts has, if those
    are more.
    """
    from transformers import BertTokenizer

    plain = BertTokenizer(vocab=_numbered(_SPECIAL))
    split, normal = plain.backend_tokenizer.pre_tokenizer, plain.backend_tokenizer.normalizer
    words = [[word for word, _ in split.pre_tokenize_str(normal.normalize_str(text))] for text in texts]
    longest = max((len(each) + 2 for each in words), default=0)
    known = sorted({word for each in words for word in each})
    return BertTokenizer(vocab=_numbered((*_SPECIAL, *known)), model_max_length=max(length, longest))


def _numbered(words: Sequence[str]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}
