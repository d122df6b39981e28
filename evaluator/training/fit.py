"""`fit`: the loop of every recipe for dual encoders. The same seed and steps give the same model, wherever it is stopped."""

import logging
import math
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

    Continues from the checkpoint's state. bags: a text with the same words as a true one, in any order, counts as true.
    Raises UserError where loss or gradient are no longer finite; the state of the last good step that was kept stays.
    """
    steps = Steps(data, recipe.batch, recipe.epochs, recipe.seed)
    true = _bagged(data) if bags else data.true
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
            loss = step_loss(learner, data, true, steps[step], recipe, step)
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


def step_loss(
    learner: Learner, data: TrainingData, true: np.ndarray, step: Step, recipe: Recipe, number: int
) -> Tensor:
    """The loss of a step: contrastive, with negatives as columns (`negclip`) or against each caption (`svlc`), and analogies.

    true: int64 (images, t), the texts that are true of each image, as in TrainingData.
    """
    n = len(step.images)
    negated, said = np.flatnonzero(step.negatives >= 0), np.flatnonzero(step.positives >= 0)
    rows = np.concatenate([step.captions, step.negatives[negated], step.positives[said]])
    images, texts = learner.embed(step.images, rows, number)
    scale, device = learner.scale(), images.device
    logits = scale * images @ texts.T
    columns = n + len(negated)
    as_columns = recipe.negative_loss == NEGCLIP
    facts = (rows[None, :columns, None] == true[step.images][:, None, :]).any(-1)
    shown = columns if as_columns else n
    loss = contrastive(
        logits[:, :shown], torch.from_numpy(facts[:, :shown]).to(device), recipe.negative_weight if as_columns else 1.0
    )
    if len(negated) and not as_columns:
        pairs = logits[negated, negated], logits[negated, n + np.arange(len(negated))]
        loss = loss + recipe.negative_weight * hard_negative(*pairs)
    if len(said) and recipe.positive_loss == ANALOGY:
        pairs = logits[said, said], logits[said, columns + np.arange(len(said))]
        loss = loss + recipe.positive_weight * hard_positive(*pairs)
    return loss


def _bagged(data: TrainingData) -> np.ndarray:
    """The texts that have the words of a true text of each image, int64 (n, t)."""
    bags = [tuple(sorted(text.lower().split())) for text in data.texts]
    members: dict[tuple[str, ...], list[int]] = {}
    for i, bag in enumerate(bags):
        members.setdefault(bag, []).append(i)
    rows = [sorted({j for i in row[row >= 0] for j in members[bags[i]]}) for row in data.true]
    found = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for i, row in enumerate(rows):
        found[i, : len(row)] = row
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
