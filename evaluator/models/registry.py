"""Which families of models there are, and what a dual encoder offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from PIL import Image

from generator.dataset.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Family:
    """Where a family is loaded, as module:function, and how a model of it is named."""

    loader: str
    usage: str


FAMILIES = {
    "open_clip": Family(
        "evaluator.models.open_clip:load_open_clip",
        "open_clip:ARCHITECTURE@TAG, open_clip:ARCHITECTURE@FILE, open_clip:local-dir:FOLDER, open_clip:hf-hub:OWNER/NAME",
    ),
    "jackalope": Family(
        "evaluator.models.jackalope:load_jackalope", "jackalope:FOLDER, a folder written by `score train`"
    ),
}


class DualEncoder(Protocol):
    """A model that embeds images and texts apart; its score of a pair is their cosine."""

    info: dict[str, Any]
    """What was loaded, for people and for run.json: weights, activation, resolution, normalisation, text length."""

    key: str
    """What identifies the embeddings: equal keys give equal embeddings of equal inputs."""

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """What the model reads of each text: int array (n, length); equal rows cannot be told apart."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        ...

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Unit embeddings of RGB images, float32 (n, d)."""
        ...


class PairScorer(Protocol):
    """A model that reads an image and a text together: a cross encoder, a generative or a diffusion model."""

    info: dict[str, Any]
    """What was loaded, as for a dual encoder."""

    key: str
    """What identifies the scores: equal keys give equal scores of equal pairs."""

    channels: tuple[str, ...]
    """Names of the scores of a pair; the first is the one that protocols measure."""

    passes: int
    """Forward passes of the large network that a pair takes, for saying beforehand what a run costs."""

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """What the model reads of each text, as for a dual encoder."""
        ...

    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """Scores, float32 (pairs, channels), of pairs (place in `images`, text); what depends on the image alone is
        computed once. `contests` are groups of places in `pairs` that will be compared with one another."""
        ...


def load_model(spec: str, device: str | None) -> DualEncoder:
    """Load the model that `family:name[@weights]` names.

    Raises UserError when the family, model or weights do not exist or do not fit one another.
    """
    family, colon, rest = spec.partition(":")
    if not colon or not rest:
        raise UserError(
            f"Expected --model to be family:name or family:name@weights, such as open_clip:ViT-B-32@openai, got '{spec}'."
        )
    if family not in FAMILIES:
        raise UserError(f"Unknown model family '{family}': {did_you_mean(family, list(FAMILIES))}")
    module, function = FAMILIES[family].loader.split(":")
    model: DualEncoder = getattr(import_module(module), function)(rest, device)
    return model
