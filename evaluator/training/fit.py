"""`fit`: the training loop of all methods, with its checkpoint and its distribution over processes.

The same seed and steps give the same model, wherever a training is stopped and resumed. Several
processes, started by
`accelerate launch` or `torchrun`, each compute a part of a step: a learner computes the rows of its
`share`, and
`gather` returns the rows of all processes, in the order of a single process. Every process thus has
the loss of the
whole step, and the mean of the processes' gradients equals the gradient of a single process.
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
"""Time between two checkpoints. The last step is saved too."""
Log = Callable[[int], AbstractContextManager[LogStep]]
"""Opens a log, given the number of finished steps."""


def no_log(done: int) -> AbstractContextManager[LogStep]:
    """A log that discards everything."""
    return nullcontext(lambda step, values: None)


class Learner(ABC):
    """A network and its training loss. Each kind of model has a learner, such as `Contrastive` for
    dual encoders.

    network: has the trained weights; checkpoints save all its tensors. device: of the network.
    """

    network: nn.Module
    device: torch.device

    @abstractmethod
    def loss(self, step: Step, number: int) -> Tensor:
        """The loss of a step, a scalar with gradients. Its randomness depends only on torch's seed
        and `number`."""

    def settle(self) -> None:
        """Hook after each update of the weights."""
        return


class Checkpoint:
    """The state of a training in the file `path`. A new state replaces the old one only when it is
    complete.

    identity: JSON-ready; everything that determines the training. A state with another identity is
        refused.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        self.path, self._identity = path, dict(identity)

    def keep(self, parts: Mapping[str, Any], step: int, total: float, losses: list[float]) -> None:
        """Write the state after `step` steps. Raises OSError if it cannot be written; the previous
        state stays.

        parts: by name, the model, optimizer and schedule. total: sum of the losses of this epoch.
            losses: mean losses
        of finished epochs.
        """
        state = {"identity": self._identity, "step": step, "total": total, "losses": losses}
        data = io.BytesIO()  # torch does not say why a file cannot be written
        torch.save({**state, **{name: part.state_dict() for name, part in parts.items()}}, data)
        write_bytes(self.path, data.getvalue())

    def resume(self, parts: Mapping[str, Any]) -> tuple[int, float, list[float]]:
        """Load the state into `parts`; returns its step, total and losses, or zeros and [] if there
        is no state.

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
                f"The state {self.path} is damaged ({type(error).__name__}); remove it to train "
                f"anew."
            ) from None
        if not same:
            raise UserError(
                f"{self.path} is the state of another training (its recipe, data or device "
                f"differ); run that one "
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
    """Train, and return the mean loss of each epoch. Resumes from the checkpoint.

    log: gets `loss`, `rate`, `gradient norm` before clipping, and `images per second` of each step.
        Raises UserError if
    the loss or the gradient is not finite, and then deletes the checkpoint. Only the main process
    writes checkpoints.
    """
    steps = Steps(data, recipe.batch, recipe.epochs, recipe.seed, recipe.steps)
    network, process = learner.network, Process.from_environment()
    betas = (0.9, 0.98) if recipe.decay else (0.9, 0.999)  # as CLIP; else the defaults of Adam
    optimizer = torch.optim.AdamW(
        _groups(network, recipe.decay), lr=recipe.rate, betas=betas, fused=True
    )
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
            torch.manual_seed(
                Stream(recipe.seed, "torch", process.rank, step).below(2**32)
            )  # dropout
            loss = learner.loss(steps[step], step)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            average_gradients(network)
            norm = nn.utils.clip_grad_norm_(network.parameters(), 1.0).item()
            value = loss.item()
            if not (math.isfinite(value) and math.isfinite(norm)):
                checkpoint.forget()
                raise UserError(
                    f"Training diverged at step {step + 1:,} of {len(steps):,}: its loss is "
                    f"{value:.3g} and its gradient {norm:.3g}; choose a lower --rate."
                )
            values = {"loss": value, "rate": optimizer.param_groups[0]["lr"], "gradient norm": norm}
            optimizer.step()
            schedule.step()
            learner.settle()
            log_step(
                step + 1, {**values, "images per second": recipe.batch / (time.monotonic() - began)}
            )
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
        one = math.isclose(recipe.warmup * steps, 1)  # OneCycleLR would divide by zero
        rising = 1.5 / steps if one else recipe.warmup
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer, recipe.rate, total_steps=steps, pct_start=rising, cycle_momentum=False
        )
    return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)


def _groups(network: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Parameter groups: weight decay for matrices; none for vectors, embeddings and the
    temperature."""
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            is_matrix = (
                parameter.ndim >= 2 and "embedding" not in name and "logit_scale" not in name
            )
            (decaying if is_matrix else others).append(parameter)
    return [{"params": decaying, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def join(network: nn.Module, device: torch.device, batch: int) -> None:
    """Set up distributed training of a network, if there are several processes; call before the
    first step. batch: images per step.

    On GPUs, batch normalisation then uses the statistics of all processes. Raises UserError if a
    process would have no image of a step or would share a GPU, and on a CPU for a network with
    batch normalisation.
    """
    process = Process.from_environment()
    if process.count == 1:
        return
    if batch < process.count:
        raise UserError(
            f"Expected at least one image for each of the {process.count} processes, got a batch "
            f"of {batch}; choose a "
            "larger --batch, or start fewer processes."
        )
    if device.type == "cpu":
        if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules()):
            raise UserError(
                "The model has batch normalisation, which several processes can share only on "
                "GPUs; train it in one "
                "process, or take a transformer such as --architecture dual-vit."
            )
    elif device.index != best_device(None).index:
        raise UserError(
            f"The {process.count} processes need a GPU each, not all {device}; leave --device out."
        )
    from accelerate import PartialState

    PartialState(cpu=device.type == "cpu")
    nn.SyncBatchNorm.convert_sync_batchnorm(network)


def share(n: int) -> slice:
    """The slice of the n rows of a step that this process computes."""
    process = Process.from_environment()
    return _share(n, process.rank, process.count)


def gather(own: Tensor, n: int) -> Tensor:
    """The n rows of a step from all processes. own: the rows of this process's share.

    The gradient flows only to `own`, multiplied by the number of processes. The mean over processes
    is then the gradient of a single process, for the computation before the rows and for the one
    after them.
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
    """Replace the gradients of the network by their mean over the processes."""
    if Process.from_environment().count == 1:
        return
    from accelerate.utils import reduce

    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    means = reduce(torch.cat([each.flatten() for each in gradients]), "mean")
    for gradient, mean in zip(
        gradients, means.split([each.numel() for each in gradients]), strict=True
    ):
        gradient.copy_(mean.view(gradient.shape))


def check_same(done: int, device: torch.device) -> None:
    """Raise UserError if the processes would resume after different numbers of steps."""
    process = Process.from_environment()
    if len(found := gather(torch.tensor([done], device=device), process.count).unique()) > 1:
        raise UserError(
            f"The processes would continue after different steps "
            f"({', '.join(map(str, found.tolist()))}); give an "
            "--out on a disk that all of them share."
        )


def wait() -> None:
    """Barrier: return when all processes have called this function."""
    if Process.from_environment().count > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()


def _share(n: int, rank: int, count: int) -> slice:
    return slice(rank * n // count, (rank + 1) * n // count)
