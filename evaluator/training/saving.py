"""Writes trained models as their libraries do, so that any program that reads those folders can use them."""

from pathlib import Path
from typing import Any

import open_clip
import torch
from safetensors.torch import save

from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.hf import HfEncoder
from evaluator.models.open_clip import CONFIG, OpenClipEncoder, activation_of, check_plain_sizes
from evaluator.models.vilt import ViltScorer
from generator.base.errors import UserError
from generator.base.files import write_json

WEIGHTS = "open_clip_model.safetensors"
_PREPROCESSING = ("mean", "std", "interpolation", "resize_mode", "fill_color")


def check_savable(model: Any) -> None:
    """Raise UserError for a model whose trained weights could not be loaded again as `jackalope:`."""
    if isinstance(model, OpenClipEncoder):
        try:
            check_plain_sizes(model.config, str(model.info["weights"]))
        except UserError:
            raise UserError(
                f"'{model.info['weights']}' takes a tower or a tokenizer of another library, which `score train` does not write; "
                "give an architecture of open_clip alone, such as ViT-B-32, or the same model as hf:."
            ) from None


def save_model(model: Any, folder: Path) -> None:
    """Write weights, configuration and preprocessing into a folder that exists. Raises OSError."""
    network: Any = model.network.eval()
    if isinstance(model, OpenClipEncoder):
        weights = save({name: tensor.contiguous() for name, tensor in network.state_dict().items()})
        (folder / WEIGHTS).write_bytes(weights)
        quick = {"quick_gelu": True} if activation_of(network) == "QuickGELU" else {}
        preprocess = {name: network.visual.preprocess_cfg[name] for name in _PREPROCESSING}
        write_json(folder / CONFIG, {"model_cfg": {**model.config, **quick}, "preprocess_cfg": preprocess})
    elif isinstance(model, HfEncoder | ViltScorer):
        network.save_pretrained(folder)
        for processor in model.processors:
            processor.save_pretrained(folder)
    elif isinstance(model, DiffusionClassifier):
        model.adapter.pipe.save_pretrained(folder, safe_serialization=True)


def new_open_clip(config: dict[str, Any], device: torch.device) -> OpenClipEncoder:
    """An untrained model of open_clip with OpenAI's preprocessing; `config` is the `model_cfg` of open_clip_config.json.

    Its weights follow torch's seed.
    """
    network = open_clip.CLIP(**config).to(device, memory_format=torch.channels_last)
    size = config["vision_cfg"]["image_size"]
    open_clip.set_model_preprocess_cfg(
        network,
        {
            "size": (size, size), "mean": open_clip.OPENAI_DATASET_MEAN, "std": open_clip.OPENAI_DATASET_STD,
            "interpolation": "bicubic", "resize_mode": "shortest", "fill_color": 0,
        },
    )  # fmt: skip
    preprocess = open_clip.image_transform(size, is_train=False)
    tokenizer = open_clip.SimpleTokenizer(context_length=config["text_cfg"]["context_length"])
    return OpenClipEncoder(network, preprocess, tokenizer, config, "untrained", device)
