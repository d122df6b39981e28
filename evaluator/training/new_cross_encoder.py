"""A small, untrained cross encoder: transformers' ViLT."""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.models.pretrained import describe_pretrained
from evaluator.models.vilt import ViltScorer
from evaluator.training.networks import SMALL, TINY, check_size
from evaluator.training.words import word_tokenizer

NETWORKS: dict[str, dict[str, Any]] = {
    TINY: {
        "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512, "image_size": 64, "patch_size": 8,
    },
    SMALL: {
        "hidden_size": 384, "num_hidden_layers": 8, "num_attention_heads": 6, "intermediate_size": 1536, "image_size": 128,
        "patch_size": 8,
    },
}  # fmt: skip
_LENGTH = 40
"""Tokens that ViLT reads."""


def new_vilt(texts: Sequence[str], device: torch.device, size: str = TINY) -> ViltScorer:
    """A ViLT that knows the words of some texts and cuts none of them. Its weights follow torch's seed.

    Raises UserError for an unknown size.
    """
    from transformers import ViltConfig, ViltForImageAndTextRetrieval, ViltImageProcessor

    network = NETWORKS[check_size(size)]
    tokenizer = word_tokenizer(texts, _LENGTH)
    config = ViltConfig(vocab_size=len(tokenizer), max_position_embeddings=tokenizer.model_max_length, **network)
    images: Any = ViltImageProcessor(  # type: ignore[call-arg]
        size={"shortest_edge": network["image_size"]}, size_divisor=network["patch_size"]
    )
    model: Any = ViltForImageAndTextRetrieval(config)
    return ViltScorer(describe_pretrained("untrained", model.to(device), tokenizer, images, None))
