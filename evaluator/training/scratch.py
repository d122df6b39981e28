"""Train a small model on a benchmark's train split or a corpus alone, so that "unseen" is certain (protocols, section 9).

The model is one of open_clip, transformers or diffusers and is saved as one, so that any program that reads their folders can use it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import open_clip
import torch
from torch import Tensor

from evaluator.models.device import best_device
from evaluator.runs.tracking import Tracker
from evaluator.training.contrastive import Contrastive
from evaluator.training.data import TrainingData
from evaluator.training.denoising import Denoising
from evaluator.training.fit import Learner
from evaluator.training.matching import Matching
from evaluator.training.networks import DUAL, TINY, check_size, network_config
from evaluator.training.new_cross_encoder import new_vilt
from evaluator.training.new_diffusion import new_diffusion
from evaluator.training.recipe import Recipe
from evaluator.training.saving import new_open_clip
from evaluator.training.session import Training, train_into
from evaluator.training.source import Source
from evaluator.training.towers import Towers
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream

CROSS, DIFFUSION = "cross", "diffusion"
"""Architectures beside those of evaluator.training.networks."""
_UNTOLD = 0.1
"""The share of images that a diffusion model sees without a caption."""


def train_scratch(
    source: Source,
    recipe: Recipe,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
    architecture: str = DUAL,
    size: str = TINY,
    trackers: Sequence[Tracker] = (),
) -> dict[str, Any]:
    """Train a new model on a source and write its folder `out`; returns the record of the training.

    architecture: CROSS, DIFFUSION, or one of evaluator.training.networks, which has the sizes too. The
    model's context is as long as the longest text needs. Raises UserError as `train_into` does, and for a diffusion model, which learns
    from captions alone, where the recipe names negatives.
    """
    if architecture == DIFFUSION and recipe.negatives:
        raise UserError("A diffusion model learns from captions, not from negatives; leave --negatives out.")
    new = _learner(architecture, size)
    return train_new("scratch", source, recipe, out, device, progress, new, architecture, size, trackers)


def train_new(
    method: str, source: Source, recipe: Recipe, out: Path, device: str | None, progress: Progress,
    new: "New", architecture: str, size: str, trackers: Sequence[Tracker] = (),
) -> dict[str, Any]:  # fmt: skip
    """Train a new model on a source. new: makes it, and its learner."""
    target = best_device(device)

    def make(data: TrainingData) -> Training:
        torch.manual_seed(recipe.seed)
        model, learner = new(data, recipe, target)
        return Training(method, recipe, model, learner, more=(("architecture", architecture), ("size", size)))

    return train_into(out, source, recipe, make, progress, trackers)


def new_dual_encoder(
    data: TrainingData, recipe: Recipe, device: torch.device, architecture: str = DUAL, size: str = TINY, bags: bool = False
) -> tuple[Any, Learner]:  # fmt: skip
    """A model of open_clip, and its learner. bags: see evaluator.training.contrastive."""
    config = network_config(architecture, size)
    text = {**config["text_cfg"], "context_length": max(config["text_cfg"]["context_length"], _longest(data.texts))}
    model = new_open_clip({**config, "text_cfg": text}, device)
    towers = Towers(model, data, Augmentation(recipe, data.mirrored), recipe.precision)
    return model, Contrastive(towers, data, recipe, bags)


def new_cross_encoder(
    data: TrainingData, recipe: Recipe, device: torch.device, size: str = TINY
) -> tuple[Any, Learner]:
    """A ViLT that knows the words of the data, and its learner."""
    model = new_vilt(data.texts, device, size)
    return model, Matching(model, data, recipe, Augmentation(recipe, data.mirrored))


def new_denoiser(data: TrainingData, recipe: Recipe, device: torch.device, size: str = TINY) -> tuple[Any, Learner]:
    """A diffusion model that knows the words of the data, and its learner."""
    model = new_diffusion(data.texts, device, size)
    return model, Denoising(model, data, recipe, True, Augmentation(recipe, data.mirrored), _UNTOLD)


New = Callable[[TrainingData, Recipe, torch.device], tuple[Any, Learner]]


def _learner(architecture: str, size: str) -> New:
    """What makes a model of this kind. Raises UserError for a kind that there is not."""
    check_size(size)
    if architecture == CROSS:
        return partial(new_cross_encoder, size=size)
    if architecture == DIFFUSION:
        return partial(new_denoiser, size=size)
    network_config(architecture, size)
    return partial(new_dual_encoder, architecture=architecture, size=size)


def _longest(texts: Sequence[str]) -> int:
    """Tokens of the longest text, its start and end included."""
    tokenizer = open_clip.SimpleTokenizer()
    return max((len(tokenizer.encode(text)) + 2 for text in texts), default=0)


class Augmentation:
    """Mirrors images at random, where nothing that is said depends on it, and shifts the batch; this keeps every binding."""

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
