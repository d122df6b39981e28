"""New, untrained models of open_clip, transformers and diffusers, and the learners that train them;
LoRA."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import open_clip
import torch
from torch import Tensor, nn

from evaluator.models.captioner import new_captioner
from evaluator.models.diffusion.networks import StableDiffusion
from evaluator.models.diffusion.schedules import settings_of
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.network import best_device
from evaluator.models.open_clip import OpenClipEncoder
from evaluator.models.pretrained import describe_pretrained
from evaluator.models.vilt import ViltScorer
from evaluator.training.captioning import Captioning
from evaluator.training.contrastive import Contrastive, Towers
from evaluator.training.data import TrainingData
from evaluator.training.denoising import Denoising
from evaluator.training.fit import Learner
from evaluator.training.matching import Matching
from evaluator.training.recipe import Recipe
from generator.base.extras import check_installed
from generator.base.files import read_toml
from generator.base.streams import Stream

NETWORKS = read_toml(Path(__file__).with_name("networks.toml"), "sizes of networks")
"""The configuration of each architecture and size."""
_VILT_LENGTH, _DIFFUSION_LENGTH = 40, 16
"""Minimum context length, in tokens, of ViLT and of a diffusion model's text encoder."""
_CHANNELS = 3
"""Colours of an image."""
_NORM_CONSTANT = 64.0
"""Constant channels of the identity autoencoder. Against them the pixels, which are at most 1, do
not change the deviation that group normalisation divides by."""
_NO_VARIANCE = -30.0
"""Log variance of the latent: the minimum of diffusers, so that the latent is its mean."""
_CAPTION_DROPOUT = 0.1
"""The share of images that a diffusion model is trained on without a caption (Ho & Salimans 2022
use 0.1 to 0.2)."""
_SHIFT_DIVISOR = 16
"""Images are shifted by at most their shorter side divided by this."""
_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Of BERT's tokenizer, in the order of their ids."""


def new_model(
    architecture: str,
    size: str,
    data: TrainingData,
    recipe: Recipe,
    device: str | None,
    *,
    bags: bool = False,
) -> tuple[Any, Learner]:
    """Make an untrained model and its learner.

    The context fits the longest text of the source, trained on or not, so that no question is
    truncated.

    Args:
        architecture: dual, dual-vit, cross, diffusion or captioner.
        size: tiny or small, as in networks.toml.
        data: The training data. A cross encoder, a diffusion model and a captioner know its words
            only.
        recipe: Its seed decides the weights.
        device: Name of the device; None for the first GPU, else the CPU.
        bags: Whether to train a dual encoder as a bag of words (evaluator.training.data.Facts).
    """
    torch.manual_seed(recipe.seed)
    target = best_device(device)
    augment = Augmentation(recipe.seed, data.mirrored)
    if architecture == "cross":
        matcher = new_vilt(data.texts, target, size=size, longest=data.longest)
        return matcher, Matching(matcher, data, recipe=recipe, augment=augment)
    if architecture == "diffusion":
        classifier = new_diffusion(data.texts, target, size=size, longest=data.longest)
        denoising = Denoising(
            classifier,
            data,
            recipe,
            text_encoder=True,
            augment=augment,
            caption_dropout=_CAPTION_DROPOUT,
        )
        return classifier, denoising
    if architecture == "captioner":
        captioner = new_captioner(data.texts, NETWORKS["captioner"][size], target)
        return captioner, Captioning(captioner, data, recipe=recipe, augment=augment)
    tokenizer = open_clip.SimpleTokenizer()
    # open_clip adds a token for the start and one for the end.
    lengths = [len(tokenizer.encode(text)) + 2 for text in (*data.texts, *data.longest)]
    config = network_config(architecture, size, length=max(lengths, default=0))
    encoder = new_open_clip(config, target)
    towers = Towers(encoder, data, precision=recipe.precision, augment=augment)
    return encoder, Contrastive(towers, data, recipe, bags)


class Augmentation:
    """Changes images at random without changing what a text says of them.

    It mirrors an image with probability ½ if no text states a position, and shifts all images of a
    step equally, by at most 1/16 of their shorter side, with wrap-around at the edges.
    """

    def __init__(self, seed: int, mirrored: bool):
        """Set the seed of all changes, and whether images may be mirrored."""
        self._seed = seed
        self._mirrored = mirrored

    def __call__(self, image: Tensor, place: int, step: int) -> Tensor:
        """Change an image.

        Args:
            image: Float (3, h, w).
            place: Its place in the step. With the seed and `step` it decides the change.
            step: Number of the step.

        Returns:
            The changed image, float (3, h, w).
        """
        if self._mirrored and Stream(self._seed, "mirror", step, place).below(2):
            image = image.flip(-1)
        stream = Stream(self._seed, "shift", step)
        most = min(image.shape[-2:]) // _SHIFT_DIVISOR
        down = stream.below(2 * most + 1) - most
        right = stream.below(2 * most + 1) - most
        return torch.roll(image, (down, right), (-2, -1))


def network_config(
    architecture: str = "dual", size: str = "tiny", length: int = 0
) -> dict[str, Any]:
    """Get the `model_cfg` of open_clip.

    Args:
        architecture: dual or dual-vit.
        size: tiny or small.
        length: Least number of tokens of the context.
    """
    config = deepcopy(NETWORKS[architecture][size])
    config["text_cfg"]["context_length"] = max(config["text_cfg"]["context_length"], length)
    return config


def new_open_clip(config: dict[str, Any], device: torch.device) -> OpenClipEncoder:
    """Make an untrained model of open_clip with OpenAI's preprocessing. Its weights follow torch's
    seed.

    Args:
        config: The `model_cfg` of open_clip_config.json.
        device: Where the model is.
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
    return OpenClipEncoder(
        network,
        preprocess=preprocess,
        tokenizer=tokenizer,
        config=config,
        weights="untrained",
        device=device,
    )


def new_vilt(
    texts: Sequence[str], device: torch.device, *, size: str = "tiny", longest: Sequence[str] = ()
) -> ViltScorer:
    """Make an untrained ViLT. Its weights follow torch's seed.

    Args:
        texts: Their words are the vocabulary.
        device: Where the model is.
        size: tiny or small.
        longest: Texts that it must not truncate, besides `texts`.
    """
    from transformers import ViltConfig, ViltForImageAndTextRetrieval, ViltImageProcessor

    network = NETWORKS["cross"][size]
    tokenizer = word_tokenizer(texts, _VILT_LENGTH, longest)
    config = ViltConfig(
        vocab_size=len(tokenizer), max_position_embeddings=tokenizer.model_max_length, **network
    )
    images: Any = ViltImageProcessor(  # type: ignore[call-arg]
        size={"shortest_edge": network["image_size"]}, size_divisor=network["patch_size"]
    )
    model: Any = ViltForImageAndTextRetrieval(config)
    loaded = describe_pretrained(
        "untrained",
        model.to(device),
        tokenizer=tokenizer,
        image_processor=images,
        processor=None,
    )
    return ViltScorer(loaded)


def new_diffusion(
    texts: Sequence[str], device: torch.device, *, size: str = "tiny", longest: Sequence[str] = ()
) -> DiffusionClassifier:
    """Make an untrained text-to-image model. Its weights follow torch's seed.

    The noise schedule is that of Ho et al. 2020, section 4; the U-Net predicts the noise.

    Args:
        texts: Their words are the vocabulary.
        device: Where the model is.
        size: tiny or small.
        longest: Texts that it must not truncate, besides `texts`.
    """
    from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    network, text = (NETWORKS["diffusion"][size][part] for part in ("unet", "text"))
    tokenizer = word_tokenizer(texts, _DIFFUSION_LENGTH, longest)
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
            in_channels=_CHANNELS,
            out_channels=_CHANNELS,
            cross_attention_dim=text["hidden_size"],
            **network,
        ),
        scheduler=DDIMScheduler(
            beta_start=1e-4,
            beta_end=0.02,
            beta_schedule="linear",
            clip_sample=False,
            steps_offset=1,
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    return DiffusionClassifier(
        StableDiffusion(pipe.to(device)), settings_of(), device=device, name="untrained"
    )


def identity_autoencoder(side: int) -> Any:
    """An AutoencoderKL whose latent is the image (3, h, w) in −1 … 1 itself, to within 0.001.

    The convolutions carry x and −x, since SiLU(x) − SiLU(−x) = x, and two large constants, which
    dominate the deviation that the normalisation divides by. The residual blocks add 0.
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
            half.conv_in.bias[2 * _CHANNELS :] = torch.tensor([_NORM_CONSTANT, -_NORM_CONSTANT])
            half.conv_norm_out.weight.fill_(_NORM_CONSTANT * (2 / width) ** 0.5)
            half.conv_out.weight[:_CHANNELS, : 2 * _CHANNELS, 1, 1] = both.T
        vae.encoder.conv_out.bias[_CHANNELS:] = _NO_VARIANCE
    return vae.eval().requires_grad_(False)


def word_tokenizer(texts: Sequence[str], length: int, longest: Sequence[str] = ()) -> Any:
    """Make BERT's tokenizer of transformers for the lower-cased words of some texts. Other words
    are [UNK].

    Args:
        texts: Their words are the vocabulary.
        length: Least number of tokens that it reads, including [CLS] and [SEP].
        longest: Texts that it must read whole, besides `texts`.
    """
    from transformers import BertTokenizer

    # A tokenizer without words splits and normalises texts as the new one will.
    wordless = BertTokenizer(vocab=_numbered(_SPECIAL_TOKENS))
    splitter = wordless.backend_tokenizer.pre_tokenizer
    normalizer = wordless.backend_tokenizer.normalizer
    words_of_texts = []
    for text in (*texts, *longest):
        parts = splitter.pre_tokenize_str(normalizer.normalize_str(text))
        words_of_texts.append([word for word, _ in parts])
    # Words that only longer, untrained texts have would get embeddings that nothing trains.
    vocabulary = {word for words in words_of_texts[: len(texts)] for word in words}
    needed = [len(words) + 2 for words in words_of_texts]
    return BertTokenizer(
        vocab=_numbered((*_SPECIAL_TOKENS, *sorted(vocabulary))),
        model_max_length=max([length, *needed]),
    )


def _numbered(words: Sequence[str]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


def with_lora(network: nn.Module, rank: int, alpha: float, seed: int) -> Callable[[], object]:
    """Freeze a network and add trainable low-rank changes to its linear and attention layers (Hu et
    al. 2022, by the library peft), in place. Initially the output does not change.

    Args:
        network: The network.
        rank: Of the changes.
        alpha: They are scaled by alpha / rank.
        seed: Of their initial weights.

    Returns:
        A function that merges the changes into the weights and restores the original layers.

    Raises:
        UserError: peft is not installed.
    """
    check_installed("peft")
    import peft

    names = [
        name
        for name, module in network.named_modules()
        if type(module) in (nn.Linear, nn.MultiheadAttention)
    ]
    # The projection of an attention layer is part of it, so layers inside others are left out.
    outermost = []
    for name in names:
        if not any(name.startswith(f"{other}.") for other in names):
            outermost.append(name)
    torch.manual_seed(seed)
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=outermost, lora_dropout=0.0)
    adapted = peft.get_peft_model(network, config)
    return lambda: adapted.merge_and_unload()
