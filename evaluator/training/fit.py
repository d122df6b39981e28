"""`fit`: the loop of every method, and the state that it continues from.

The same seed and steps give the same model, wherever a training is stopped.
"""

import io
import logging
import math
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from evaluator.models.hub import check_files
from evaluator.models.network import weights_digest
from evaluator.runs.tracking import LogStep
from evaluator.scoring.store import Process
from evaluator.training.data import Step, Steps, TrainingData
from evaluator.training.processes import average_gradients, check_same
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.base.files import write_bytes
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream

logger = logging.getLogger(__name__)
_SECONDS = 60
"""The state is kept at the end of each epoch, and when this much time has passed."""
_COPIES = 3
"""Adam keeps two numbers beside each weight."""
_ROOM = 1 << 20
Log = Callable[[int], AbstractContextManager[LogStep]]
"""Opened with the number of steps that are done already."""


def no_log(done: int) -> AbstractContextManager[LogStep]:
    """Nothing is logged."""
    return nullcontext(lambda step, values: None)


class Learner(Protocol):
    """A network and the loss that it is trained by. A kind of model has its own: `Contrastive` for dual encoders."""

    @property
    def network(self) -> nn.Module:
        """The network with the trained weights. The state has all its tensors."""
        ...

    @property
    def device(self) -> torch.device:
        """Where it is."""
        ...

    def loss(self, step: Step, number: int) -> Tensor:
        """The loss of a step, a scalar with gradients. Chance follows torch's seed and the step's number alone."""
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


class Checkpoint:
    """The state after some step, in the file `path`; an older state stays until the new one is whole.

    identity: all that decides the training, JSON-ready. A state of another training is refused.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        self.path, self._identity = path, dict(identity)

    def check_space(self, model: nn.Module) -> None:
        """Raise UserError where the disk has no room for the model, its state, and the state before that."""
        weights = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
        there = self.path.stat().st_size if self.path.exists() else 0
        needed = weights + 2 * _COPIES * weights + _ROOM - there
        free = shutil.disk_usage(self.path.parent).free
        if free < needed:
            raise UserError(
                f"{self.path.parent} has {free / 1e6:,.0f} MB free and the training needs about {needed / 1e6:,.0f} "
                "MB for the model and for the state that it continues from: free some space, or choose another --out."
            )

    def pack(self, parts: Mapping[str, Any], step: int, total: float, losses: list[float]) -> bytes:
        """The state after so many steps, for `keep`. parts: what is trained and what trains it, the network as "model".

        total: the sum of the losses of this epoch. losses: those of the epochs that are done.
        """
        state = {"identity": self._identity, "step": step, "total": total, "losses": list(losses)}
        state |= {name: part.state_dict() for name, part in parts.items()}
        data = io.BytesIO()  # torch does not say why a file cannot be written
        torch.save({**state, "weights": weights_digest(parts["model"])}, data)
        return data.getvalue()

    def keep(self, state: bytes) -> None:
        """Write a state. Where it cannot be written, the one before is kept. Raises OSError."""
        write_bytes(self.path, state)

    def resume(self, parts: Mapping[str, Any]) -> tuple[int, float, list[float]]:
        """Take up the state, if there is one; returns step, total and losses, as `pack` was given them.

        Raises UserError when it is damaged, or of another training.
        """
        if not self.path.exists():
            return 0, 0.0, []
        check_files(self.path)
        whole = True
        try:
            state = torch.load(self.path, weights_only=True, map_location="cpu")
            if same := state["identity"] == self._identity:
                for name, part in parts.items():
                    part.load_state_dict(state[name])
                whole = weights_digest(parts["model"]) == state["weights"]
        except Exception as error:  # torch, pickle and zipfile have errors of their own
            raise UserError(
                f"The state {self.path} is damaged ({type(error).__name__}); remove it to train anew."
            ) from None
        if not same:
            raise UserError(
                f"{self.path} is the state of another training (its recipe, data or device differ); run that one "
                "again to continue it, remove the file, or choose another --out."
            )
        if not whole:
            raise UserError(f"The state {self.path} is damaged (its weights changed); remove it to train anew.")
        return int(state["step"]), float(state["total"]), list(state["losses"])


def fit(
    learner: Learner,
    data: TrainingData,
    recipe: Recipe,
    checkpoint: Checkpoint,
    progress: Progress = SILENT,
    log: Log = no_log,
) -> list[float]:
    """Train, and return the mean loss of each epoch. Continues from the checkpoint's state.

    log: takes `loss`, `rate`, `gradient norm` before it is clipped, and `images per second` of each step. Raises
    DivergedError where loss or gradient are no longer finite; the network then has the weights of the last good step
    that was kept. A step is good if the loss after it is finite. Of several processes only the main one keeps the
    state.
    """
    steps = Steps(data, recipe.batch, recipe.epochs, recipe.seed, recipe.steps)
    network, process = learner.network, Process.from_environment()
    chance = ("torch", process.rank) if process.rank else ("torch",)
    optimizer = torch.optim.AdamW(
        _groups(network, recipe.decay), lr=recipe.rate, betas=(0.9, 0.98), fused=True, weight_decay=recipe.decay
    )
    schedule = _schedule(optimizer, recipe, len(steps))
    parts = {"model": network, "optimizer": optimizer, "schedule": schedule}
    done, total, losses = checkpoint.resume(parts)
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
            norm = nn.utils.clip_grad_norm_(network.parameters(), 1.0).item()
            value = loss.item()
            if not (math.isfinite(value) and math.isfinite(norm)):
                kept, _, losses = checkpoint.resume(parts)
                said = (
                    f"Training diverged at step {step + 1:,} of {len(steps):,}: its loss is {value:.3g} and its "
                    f"gradient {norm:.3g}."
                )
                raise DivergedError(said, step + 1, kept, losses)
            if state is not None:  # the step before was good
                checkpoint.keep(state)
                state = None
            values = {"loss": value, "rate": optimizer.param_groups[0]["lr"], "gradient norm": norm}
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
                state = checkpoint.pack(parts, step + 1, total, losses)
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
    trained = [(name, p) for name, p in network.named_parameters() if p.requires_grad]

    def decays(name: str, p: nn.Parameter) -> bool:
        return p.ndim >= 2 and "embedding" not in name and "logit_scale" not in name

    def group(chosen: Iterable[nn.Parameter], decay: float) -> dict[str, Any]:
        return {"params": list(chosen), "weight_decay": decay}

    return [
        group((p for name, p in trained if decays(name, p)), decay),
        group((p for name, p in trained if not decays(name, p)), 0.0),
    ]
