"""Train a small dual encoder on a benchmark's train split alone, so that "unseen" is certain (protocols, section 9).

The model is an open_clip model and is saved as one, so that any program that reads open_clip's folders can use it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import open_clip
import torch
from torch import Tensor

from evaluator.models.device import best_device
from evaluator.training.contrastive import Contrastive
from evaluator.training.data import TrainingData
from evaluator.training.recipe import Recipe
from evaluator.training.saving import new_open_clip
from evaluator.training.session import Training, train_into
from evaluator.training.source import Source, benchmark_source
from evaluator.training.towers import Towers
from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World
from generator.dataset.streams import Stream

# A ResNet with a fine grid under attention pooling, and a causal text transformer with learnt positions: the embedding
# can depend on the positions of objects and on the order of words.
SMALL: dict[str, Any] = {
    "embed_dim": 128,
    "vision_cfg": {"layers": [1, 1, 1, 1], "width": 32, "head_width": 32, "image_size": 64},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 128, "heads": 4, "layers": 2},
}


def train_scratch(
    world: World,
    benchmark: Benchmark,
    recipe: Recipe,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Train on the train split and write the model folder `out`; returns the record of the training.

    The model's context is as long as the longest text needs. Raises UserError as `train_into` does.
    """
    return train_new("scratch", benchmark_source(world, benchmark, recipe), recipe, out, device, progress)


def train_new(
    method: str, source: Source, recipe: Recipe, out: Path, device: str | None, progress: Progress, bags: bool = False
) -> dict[str, Any]:
    """Train a new model on a source. bags: see evaluator.training.contrastive."""
    target = best_device(device)

    def make(data: TrainingData) -> Training:
        text = {**SMALL["text_cfg"], "context_length": max(SMALL["text_cfg"]["context_length"], _longest(data.texts))}
        torch.manual_seed(recipe.seed)
        model = new_open_clip({**SMALL, "text_cfg": text}, target)
        augment = Augmentation(recipe, data.mirrored)
        return Training(
            method, recipe, model, Contrastive(Towers(model, data, augment, recipe.precision), data, recipe, bags)
        )

    return train_into(out, source, recipe, make, progress)


def _longest(texts: Sequence[str]) -> int:
    """Tokens of the longest text, its start and end included."""
    tokenizer = open_clip.SimpleTokenizer()
    return max((len(tokenizer.encode(text)) + 2 for text in texts), default=0)


class Augmentation:
    """Mirrors images at random, where nothing that is said depends on it, and shifts the batch; this keeps every binding."""

    def __init__(self, recipe: Recipe, mirrored: bool):
        self._flip, self._shift, self._seed = recipe.flip and mirrored, recipe.shift, recipe.seed

    def __call__(self, batch: Tensor, step: int) -> Tensor:
        """Images (n, 3, h, w) of a step, changed by its number alone."""
        stream = Stream(self._seed, "images", step)
        if self._flip:
            mirrored = torch.tensor([stream.below(2) for _ in batch], dtype=torch.bool).view(-1, 1, 1, 1)
            batch = torch.where(mirrored, batch.flip(-1), batch)
        if self._shift:
            down, right = (stream.below(2 * self._shift + 1) - self._shift for _ in range(2))
            batch = torch.roll(batch, (down, right), (-2, -1))
        return batch.contiguous(memory_format=torch.channels_last)
