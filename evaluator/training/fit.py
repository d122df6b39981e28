"""`fit`: the loop of every recipe for dual encoders. The same seed and steps give the same model, wherever it is stopped."""

import logging
import math
import re
import time
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from evaluator.training.checkpoint import Checkpoint
from evaluator.training.data import TrainingData
from evaluator.training.losses import contrastive, hard_negative, hard_positive
from evaluator.training.recipe import ANALOGY, NEGCLIP, Recipe
from evaluator.training.steps import Step, Steps
from generator.dataset.errors import UserError
from generator.dataset.progress import SILENT, Progress
from generator.dataset.streams import Stream

logger = logging.getLogger(__name__)
_WORD = re.compile(r"\w+")
_SECONDS = 60
"""The state is kept after each epoch, and when so many seconds have passed since the last time."""


class Learner(Protocol):
    """What is trained: `Towers`, or a layer over frozen embeddings."""

    @property
    def network(self) -> nn.Module: ...
    @property
    def device(self) -> torch.device: ...
    def scale(self) -> Tensor: ...
    def settle(self) -> None: ...
    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]: ...


def fit(
    learner: Learner, data: TrainingData, recipe: Recipe, checkpoint: Checkpoint, progress: Progress = SILENT,
    bags: bool = False,
) -> list[float]:  # fmt: skip
    """Train, and return the mean loss of each epoch.

    Continues from the checkpoint's state. bags: a text counts as true of an image if each of its words is in a true text, in any
    order, so that nothing is learnt of what belongs together.
    Raises UserError where loss or gradient are no longer finite; the state of the last good step that was kept stays.
    """
    steps = Steps(data, recipe.batch, recipe.epochs, recipe.seed)
    facts = ByWords(data) if bags else Facts(data)
    network = learner.network
    optimizer = torch.optim.AdamW(
        _groups(network, recipe.decay), lr=recipe.rate, betas=(0.9, 0.98), fused=True, weight_decay=recipe.decay
    )
    schedule = _schedule(optimizer, recipe, len(steps))
    done, total, losses = checkpoint.resume(network, optimizer, schedule)
    if done:
        logger.info(f"Continuing after step {done:,} of {len(steps):,}.")
    kept, when = done, time.monotonic()
    with progress.track("training", len(steps), done) as advance:
        for step in range(done, len(steps)):
            torch.manual_seed(Stream(recipe.seed, "torch", step).below(2**32))  # dropout
            loss = step_loss(learner, facts, steps[step], recipe, step)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            value = loss.item()
            if not (math.isfinite(value) and math.isfinite(norm.item())):
                raise UserError(
                    f"Training diverged at step {step + 1:,} of {len(steps):,}: its loss is {value:.3g} and its gradient "
                    f"{norm.item():.3g}. The state after step {kept:,} stays in {checkpoint.path}; choose a lower --rate "
                    "and another --out."
                )
            optimizer.step()
            schedule.step()
            learner.settle()
            total += value
            advance(note=f"loss {value:.2f}")
            ended = (step + 1) % steps.epoch == 0
            if ended:
                losses.append(round(total / steps.epoch, 4))
                total = 0.0
            if ended or time.monotonic() - when > _SECONDS:
                checkpoint.keep(network, optimizer, schedule, step + 1, total, losses)
                kept, when = step + 1, time.monotonic()
    return losses


def step_loss(learner: Learner, facts: "Facts", step: Step, recipe: Recipe, number: int) -> Tensor:
    """The loss of a step: contrastive, with negatives as columns (`negclip`) or against each caption (`svlc`), and analogies."""
    n = len(step.images)
    negated, said = np.flatnonzero(step.negatives >= 0), np.flatnonzero(step.positives >= 0)
    rows = np.concatenate([step.captions, step.negatives[negated], step.positives[said]])
    images, texts = learner.embed(step.images, rows, number)
    scale, device = learner.scale(), images.device
    logits = scale * images @ texts.T
    columns = n + len(negated)
    as_columns = recipe.negative_loss == NEGCLIP
    shown = columns if as_columns else n
    true = torch.from_numpy(facts.true(step.images, rows[:shown])).to(device)
    loss = contrastive(logits[:, :shown], true, recipe.negative_weight if as_columns else 1.0)
    if len(negated) and not as_columns:
        pairs = logits[negated, negated], logits[negated, n + np.arange(len(negated))]
        loss = loss + recipe.negative_weight * hard_negative(*pairs)
    if len(said) and recipe.positive_loss == ANALOGY:
        pairs = logits[said, said], logits[said, columns + np.arange(len(said))]
        loss = loss + recipe.positive_weight * hard_positive(*pairs)
    return loss


class Facts:
    """Which texts are true of which images, by their indices in the data."""

    def __init__(self, data: TrainingData):
        self._true = data.true

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """bool (n, m) of n images and m texts."""
        found: np.ndarray = (texts[None, :, None] == self._true[images][:, None, :]).any(-1)
        return found


class ByWords(Facts):
    """As `Facts` for a bag of words: a text is true of an image if each of its words is in a text that is."""

    def __init__(self, data: TrainingData):
        super().__init__(data)
        words: dict[str, int] = {}
        rows = [[words.setdefault(word, len(words)) for word in _WORD.findall(text.lower())] for text in data.texts]
        self._texts = np.zeros((len(rows), len(words)), np.float32)
        for i, row in enumerate(rows):
            self._texts[i, row] = 1
        self._lacks = np.stack([self._texts[row[row >= 0]].sum(0) == 0 for row in data.true]).astype(np.float32)

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """bool (n, m) of n images and m texts."""
        found: np.ndarray = self._lacks[images] @ self._texts[texts].T == 0
        return found


def _schedule(optimizer: torch.optim.Optimizer, recipe: Recipe, steps: int) -> Any:
    if recipe.warmup and recipe.rate:
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=steps, pct_start=recipe.warmup)
    return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)


def _groups(network: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Matrices decay; vectors, embeddings and the temperature do not."""
    parameters = [(name, p) for name, p in network.named_parameters() if p.requires_grad]

    def decays(name: str, p: nn.Parameter) -> bool:
        return p.ndim >= 2 and "embedding" not in name and "logit_scale" not in name

    def group(chosen: Iterable[nn.Parameter], decay: float) -> dict[str, Any]:
        return {"params": list(chosen), "weight_decay": decay}

    return [
        group((p for name, p in parameters if decays(name, p)), decay),
        group((p for name, p in parameters if not decays(name, p)), 0.0),
    ]
