"""Which families of models there are, and what a model offers."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

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
    "hf": Family(
        "evaluator.models.hf:load_hf",
        "hf:OWNER/NAME, hf:OWNER/NAME@REVISION, hf:FOLDER, dual encoders of transformers: CLIP, SigLIP, SigLIP 2, ALIGN, AltCLIP, BLIP, Qwen3-VL-Embedding",
    ),
    "vilt": Family("evaluator.models.vilt:load_vilt", "vilt:OWNER/NAME, vilt:FOLDER, ViLT with its retrieval head"),
    "blip": Family("evaluator.models.blip:load_blip", "blip:OWNER/NAME, blip:FOLDER, BLIP with its matching head"),
    "vqa": Family(
        "evaluator.models.vqa:load_vqa",
        "vqa:OWNER/NAME, vqa:FOLDER, a generative model asked whether the image shows the text, yes or no",
    ),
    "blind": Family(
        "evaluator.models.blind:load_blind",
        "blind:ngram, blind:length, blind:lm:OWNER/NAME, blind:lm:FOLDER, baselines that read the text alone",
    ),
    "diffusion": Family(
        "evaluator.models.diffusion.loading:load_diffusion",
        "diffusion:OWNER/NAME, diffusion:FOLDER, diffusion:FOLDER@PRESET, a text-to-image pipeline of diffusers as a classifier",
    ),
    "python": Family(
        "evaluator.models.python:load_python", "python:PACKAGE.MODULE:FACTORY, a model of your own; see docs/models.md"
    ),
}
PLUGINS = "jackalope.models"
"""The group of entry points by which other packages add families."""


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


@runtime_checkable
class FitsTexts(Protocol):
    """What a PairScorer may offer besides: to be fitted on the texts of a run, as `blind:ngram` is."""

    def fit_texts(self, texts: Sequence[str]) -> None:
        """Called once, with all distinct texts of the run, before `key` is read and before anything is scored."""
        ...


def fingerprints(inputs: Iterable[bytes]) -> np.ndarray:
    """What `tokens` may give when there is nothing better: int64 (n, 4), rows equal where inputs are (SHA-256)."""
    return np.array([np.frombuffer(hashlib.sha256(each).digest(), "<i8") for each in inputs], np.int64).reshape(-1, 4)


def families() -> dict[str, Family]:
    """All families by name: those of this package, and those that installed packages add.

    Raises UserError when two packages offer one name.
    """
    known = dict(FAMILIES)
    offered_by = dict.fromkeys(FAMILIES, "jackalope")
    for entry in entry_points(group=PLUGINS):
        package = entry.dist.name if entry.dist else "an unnamed package"
        if entry.name in known:
            raise UserError(
                f"The model family '{entry.name}' is offered by {offered_by[entry.name]} and by {package}; uninstall one of them."
            )
        known[entry.name] = Family(entry.value, f"{entry.name}:NAME, of the package {package}")
        offered_by[entry.name] = package
    return known


def load_model(spec: str, device: str | None) -> Any:
    """Load the DualEncoder or PairScorer that `family:name[@weights]` names.

    Raises UserError when the family, model or weights do not exist or do not fit one another.
    """
    family, colon, rest = spec.partition(":")
    if not colon or not rest:
        raise UserError(
            f"Expected --model to be family:name or family:name@weights, such as open_clip:ViT-B-32@openai, got '{spec}'."
        )
    known = families()
    if family not in known:
        raise UserError(f"Unknown model family '{family}': {did_you_mean(family, list(known))}")
    module, _, function = known[family].loader.partition(":")
    if family in FAMILIES:
        return getattr(import_module(module), function)(rest, device)
    from evaluator.models.python import adapted

    try:
        loader = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"The model family '{family}' cannot be loaded from {known[family].loader} ({error}); mend or uninstall its package."
        ) from None
    return adapted(loader(rest, device), spec, loader, device)
