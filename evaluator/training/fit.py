"""`fit`: the loop of every recipe. The same seed and steps give the same model, wherever it is stopped."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from evaluator.runs.tracking import LogStep
from evaluator.scoring.distributed import Process
from evaluator.training.checkpoint import Checkpoint
from evaluator.training.data import TrainingData
from evaluator.training.processes import average_gradients, check_same
from evaluator.training.recipe import Recipe
from evaluator.training.steps import Step, Steps
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream

logger = logging.getLogger(__name__)
_SECONDS = 60
"""The state of each epoch's end is kept, and one when so many seconds have passed since the last time."""


Log = Callable[[int], AbstractContextManager[LogStep]]
"""Opened with the number of steps that are done already."""


def no_log(done: int) -> AbstractContextManager[LogStep]:
    """Nothing is logged."""
    return nullcontext(lambda step, values: None)


class Learner(Protocol):
    """What is trained, and by which loss. A kind of model has its own: `Contrastive` for dual encoders."""

    @property
    def network(self) -> nn.Module:
        """What has the trained weights. The state that a training is continued from holds all its tensors."""
        ...

    @property
    def device(self) -> torch.device:
        """Where it is."""
        ...

    def loss(self, step: Step, number: int) -> Tensor:
        """The loss of a step, a scalar with gradients. It may depend on chance by torch's seed and the step's number alone."""
        ...

    def settle(self) -> None:
        """Called after each step, when the weights have changed."""
        ...


class DivergedError(UserError):
    """The loss or the gradient of a step, from 1, is no longer finite.

    kept: the last good step that was kept, 0 for none. losses: the mean loss of each epoch before it.
    """

    def __init__(self, message: str, step: int, kept: int = 0, losses: Sequence[float] = ()):
        super().__init__(message)
        self.step, self.kept, self.losses = step, kept, list(losses)


def fit(
    learner: Learner, data: TrainingData, recipe: Recipe, checkpoint: Checkpoint, progress: Progress = SILENT, log: Log = no_log
) -> list[float]:  # fmt: skip
    """Train, and return the mean loss of each epoch.

    log: takes `loss`, `rate`, `gradient norm` before it is clipped, and `images per second` of each step. Continues from the checkpoint's
    state. Raises DivergedError where loss or gradient are no longer finite; the network then has the weights of the last good step that
    was kept. A step is good if the loss after it is finite. Of several processes only the main one keeps the state.
    """
    steps = Steps(data, recipe.batch, recipe.epochs, recipe.seed, recipe.steps)
    network, process = learner.network, Process.from_environment()
    chance = ("torch", process.rank) if process.rank else ("torch",)
    optimizer = torch.optim.AdamW(
        _groups(network, recipe.decay), lr=recipe.rate, betas=(0.9, 0.98), fused=True, weight_decay=recipe.decay
    )
    schedule = _schedule(optimizer, recipe, len(steps))
    done, total, losses = checkpoint.resume(network, optimizer, schedule)
    check_same(done, learner.device)
    if done:
        logger.info(f"Continuing after step {done:,} of {len(steps):,}.")
    state, when = None, time.monotonic()
    with log(done) as log_step, progress.track("training", len(steps), done) as advance:
        for step in range(done, len(steps)):
            began = time.monotonic()
            torch.manual_seed(Stream(recipe.seed, *chance, step).below(2**32))  # dropout
            loss = learner.loss(steps[step], step)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            average_gradients(network)
            norm = nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            value = loss.item()
            if not (math.isfinite(value) and math.isfinite(norm.item())):
                kept, _, losses = checkpoint.resume(network, optimizer, schedule)
                raise DivergedError(
                    f"Training diverged at step {step + 1:,} of {len(steps):,}: its loss is {value:.3g} and its gradient "
                    f"{norm.item():.3g}.",
                    step + 1,
                    kept,
                    losses,
                )
            if state is not None:  # the step before was good
                checkpoint.keep(state)
                state = None
            values = {"loss": value, "rate": optimizer.param_groups[0]["lr"], "gradient norm": norm.item()}
            optimizer.step()
            schedule.step()
            learner.settle()
            log_step(step + 1, {**values, "images per second": recipe.batch / (time.monotonic() - began)})
            total += value
            advance(note=f"loss {value:.2f}")
            shown = step % steps.epoch + 1
            ended = shown == steps.epoch or step + 1 == len(steps)
            if ended:
                losses.append(round(total / shown, 4))
                total = 0.0
            if process.is_main and (ended or time.monotonic() - when > _SECONDS):
                state = checkpoint.pack(network, optimizer, schedule, step + 1, total, losses)
                when = time.monotonic()
    if state is not None:
        checkpoint.keep(state)
    return losses


def _schedule(optimizer: torch.optim.Optimizer, recipe: Recipe, steps: int) -> Any:
    if recipe.warmup and recipe.rate:
        one = math.isclose(recipe.warmup * steps, 1)  # of which OneCycleLR makes a division by zero
        rising = 1.5 / steps if one else recipe.warmup
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=steps, pct_start=rising)
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
