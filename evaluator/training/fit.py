"""`fit`: the loop of every method, the state that it continues from, and the processes that share a training.

The same seed and steps give the same model, wherever a training is stopped. Several processes, as `accelerate launch`
and `torchrun` start them, each compute a part of a step: a learner computes the rows of its `share`, and `gather`
returns those of all processes, in the order that one process would give. So every process has the loss of the whole
step, and the mean of their gradients is the gradient of one process.
"""

import io
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from evaluator.models.hub import check_files
from evaluator.models.network import best_device
from evaluator.runs.tracking import LogStep
from evaluator.scoring.store import Process
from evaluator.training.data import Step, Steps, TrainingData
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.base.files import write_bytes
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream

logger = logging.getLogger(__name__)
_SECONDS = 60
"""The state is kept when this much time has passed, and after the last step."""
Log = Callable[[int], AbstractContextManager[LogStep]]
"""Opened with the number of steps that are done already."""


def no_log(done: int) -> AbstractContextManager[LogStep]:
    """Nothing is logged."""
    return nullcontext(lambda step, values: None)


class Learner(ABC):
    """A network and the loss that it is trained by. A kind of model has its own: `Contrastive` for dual encoders.

    network: it has the trained weights; the state has all its tensors. device: where it is.
    """

    network: nn.Module
    device: torch.device

    @abstractmethod
    def loss(self, step: Step, number: int) -> Tensor:
        """The loss of a step, a scalar with gradients. Chance follows torch's seed and the step's number alone."""

    def settle(self) -> None:
        """Called after each step, when the weights have changed."""
        return


class Checkpoint:
    """The state after some step, in the file `path`; an older state stays until the new one is whole.

    identity: all that decides the training, JSON-ready. A state of another training is refused.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        self.path, self._identity = path, dict(identity)

    def keep(self, parts: Mapping[str, Any], step: int, total: float, losses: list[float]) -> None:
        """Write the state after so many steps. Where it cannot be written, the one before is kept. Raises OSError.

        parts: what is trained and what trains it. total: the sum of the losses of this epoch. losses: those of the
        epochs that are done.
        """
        state = {"identity": self._identity, "step": step, "total": total, "losses": losses}
        data = io.BytesIO()  # torch does not say why a file cannot be written
        torch.save({**state, **{name: part.state_dict() for name, part in parts.items()}}, data)
        write_bytes(self.path, data.getvalue())

    def resume(self, parts: Mapping[str, Any]) -> tuple[int, float, list[float]]:
        """Take up the state, if there is one; returns step, total and losses, as `keep` was given them.

        Raises UserError when it is damaged, or of another training.
        """
        if not self.path.exists():
            return 0, 0.0, []
        check_files(self.path)
        try:
            state = torch.load(self.path, weights_only=True, map_location="cpu")
            if same := state["identity"] == self._identity:
                for name, part in parts.items():
                    part.load_state_dict(state[name])
        except Exception as error:  # torch, pickle and zipfile have errors of their own
            raise UserError(
                f"The state {self.path} is damaged ({type(error).__name__}); remove it to train anew."
            ) from None
        if not same:
            raise UserError(
                f"{self.path} is the state of another training (its recipe, data or device differ); run that one "
                "again to continue it, remove the file, or choose another --out."
            )
        return int(state["step"]), float(state["total"]), list(state["losses"])

    def forget(self) -> None:
        """Remove the state, if there is one."""
        self.path.unlink(missing_ok=True)


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
    UserError where loss or gradient are no longer finite; nothing is kept of such a training. Of several processes
    only the main one keeps the state.
    """
    steps = Steps(data, recipe.batch, recipe.epochs, recipe.seed, recipe.steps)
    network, process = learner.network, Process.from_environment()
    betas = (0.9, 0.98) if recipe.decay else (0.9, 0.999)  # those of CLIP; of Adam, as papers mean it
    optimizer = torch.optim.AdamW(_groups(network, recipe.decay), lr=recipe.rate, betas=betas, fused=True)
    schedule = _schedule(optimizer, recipe, len(steps))
    parts = {"model": network, "optimizer": optimizer, "schedule": schedule}
    done, total, losses = checkpoint.resume(parts)
    check_same(done, learner.device)
    if done:
        logger.info(f"Continuing after step {done:,} of {len(steps):,}.")
    kept = time.monotonic()
    with log(done) as log_step, progress.track("training", len(steps), done) as advance:
        for step in range(done, len(steps)):
            began = time.monotonic()
            torch.manual_seed(Stream(recipe.seed, "torch", process.rank, step).below(2**32))  # dropout
            loss = learner.loss(steps[step], step)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            average_gradients(network)
            norm = nn.utils.clip_grad_norm_(network.parameters(), 1.0).item()
            value = loss.item()
            if not (math.isfinite(value) and math.isfinite(norm)):
                checkpoint.forget()
                raise UserError(
                    f"Training diverged at step {step + 1:,} of {len(steps):,}: its loss is {value:.3g} and its "
                    f"gradient {norm:.3g}; choose a lower --rate."
                )
            values = {"loss": value, "rate": optimizer.param_groups[0]["lr"], "gradient norm": norm}
            optimizer.step()
            schedule.step()
            learner.settle()
            log_step(step + 1, {**values, "images per second": recipe.batch / (time.monotonic() - began)})
            total += value
            advance(note=f"loss {value:.2f}")
            shown = step % steps.epoch + 1
            last = step + 1 == len(steps)
            if last or shown == steps.epoch:
                losses.append(round(total / shown, 4))
                total = 0.0
            if process.is_main and (last or time.monotonic() - kept > _SECONDS):
                checkpoint.keep(parts, step + 1, total, losses)
                kept = time.monotonic()
    return losses


def _schedule(optimizer: torch.optim.Optimizer, recipe: Recipe, steps: int) -> Any:
    if recipe.warmup and recipe.rate:
        one = math.isclose(recipe.warmup * steps, 1)  # of which OneCycleLR makes a division by zero
        rising = 1.5 / steps if one else recipe.warmup
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer, recipe.rate, total_steps=steps, pct_start=rising, cycle_momentum=False
        )
    return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)


def _groups(network: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Matrices decay; vectors, embeddings and the temperature do not."""
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            is_matrix = parameter.ndim >= 2 and "embedding" not in name and "logit_scale" not in name
            (decaying if is_matrix else others).append(parameter)
    return [{"params": decaying, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def join(network: nn.Module, device: torch.device, batch: int) -> None:
    """Train a network together with the other processes, if there are any; called before the first step. batch: images
    of a step.

    On GPUs, batch normalisation then takes the statistics of all processes. Raises UserError where a process would have
    no image of a step or the GPU of another one, and on a CPU for a network with batch normalisation.
    """
    process = Process.from_environment()
    if process.count == 1:
        return
    if batch < process.count:
        raise UserError(
            f"Expected at least one image for each of the {process.count} processes, got a batch of {batch}; choose a "
            "larger --batch, or start fewer processes."
        )
    if device.type == "cpu":
        if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules()):
            raise UserError(
                "The model has batch normalisation, which several processes share on GPUs alone; train it in one "
                "process, or take a transformer such as --architecture dual-vit."
            )
    elif device.index != best_device(None).index:
        raise UserError(f"The {process.count} processes need a GPU each, not all {device}; leave --device out.")
    from accelerate import PartialState

    PartialState(cpu=device.type == "cpu")
    nn.SyncBatchNorm.convert_sync_batchnorm(network)


def share(n: int) -> slice:
    """The rows of this process among n rows of a step."""
    process = Process.from_environment()
    return _share(n, process.rank, process.count)


def gather(own: Tensor, n: int) -> Tensor:
    """The n rows of all processes, of which this one has computed `own`, those of its share.

    The gradient goes to its own rows alone, and is as many times too large as there are processes: the mean over
    processes is then the gradient of one process, for what comes before and for what comes after the rows.
    """
    process = Process.from_environment()
    if process.count == 1:
        return own
    from accelerate.utils import gather as gather_equal

    longest = -(-n // process.count)
    padded = own.new_zeros(longest, *own.shape[1:])
    padded[: len(own)] = own.detach()
    rows = gather_equal(padded).view(process.count, *padded.shape)
    shares = [_share(n, rank, process.count) for rank in range(process.count)]
    parts = [each[: part.stop - part.start] for each, part in zip(rows, shares, strict=True)]
    parts[process.rank] = own + (process.count - 1) * (own - own.detach())
    return torch.cat(parts)


def average_gradients(network: nn.Module) -> None:
    """Replace the gradients by their mean over the processes."""
    if Process.from_environment().count == 1:
        return
    from accelerate.utils import reduce

    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    means = reduce(torch.cat([each.flatten() for each in gradients]), "mean")
    for gradient, mean in zip(gradients, means.split([each.numel() for each in gradients]), strict=True):
        gradient.copy_(mean.view(gradient.shape))


def check_same(done: int, device: torch.device) -> None:
    """Raise UserError where the processes continue after different numbers of steps."""
    process = Process.from_environment()
    if len(found := gather(torch.tensor([done], device=device), process.count).unique()) > 1:
        raise UserError(
            f"The processes would continue after different steps ({', '.join(map(str, found.tolist()))}); give an "
            "--out on a disk that all of them share."
        )


def wait() -> None:
    """Return when all processes are here, which have met."""
    if Process.from_environment().count > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()


def _share(n: int, rank: int, count: int) -> slice:
    return slice(rank * n // count, (rank + 1) * n // count)
