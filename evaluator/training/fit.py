"""`fit`: the training loop of all methods, with its checkpoint and its distribution over processes.

The same seed and steps give the same model, wherever a training is stopped and resumed.

Several processes, started by `accelerate launch` or `torchrun`, each compute a part of a step: a
learner computes the rows of its `share`, and `gather` returns the rows of all processes, in the
order of a single process. Every process thus has the loss of the whole step, and the mean of the
processes' gradients equals the gradient of a single process.
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
_CHECKPOINT_SECONDS = 60
"""Least time between two checkpoints. The last step is saved too."""
_MAX_GRADIENT_NORM = 1.0
"""Norm of all gradients together, above which they are clipped."""
Log = Callable[[int], AbstractContextManager[LogStep]]
"""Opens a log, given the number of finished steps."""


def no_log(done: int) -> AbstractContextManager[LogStep]:
    """A log that discards everything."""
    return nullcontext(lambda step, values: None)


class Learner(ABC):
    """A network and its training loss. Each kind of model has a learner, such as `Contrastive` for
    dual encoders. The shortest is `evaluator.training.matching.Matching`."""

    network: nn.Module
    """Has the trained weights. Checkpoints save all its tensors."""
    device: torch.device
    """Of the network."""

    @abstractmethod
    def loss(self, step: Step, number: int) -> Tensor:
        """Compute the loss of a step.

        Args:
            step: The images and texts, as indices in the training data.
            number: Of the step, from 0. Randomness may depend only on torch's seed and on it.

        Returns:
            A scalar with gradients.
        """

    def after_update(self) -> None:
        """Hook that runs after each update of the weights, such as to clamp a parameter."""
        return


class Checkpoint:
    """The state of a training in a file. A complete new state replaces the old one."""

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        """Nothing is read or written yet.

        Args:
            path: The file.
            identity: JSON-ready; everything that determines the training. A state with another
                identity is refused.
        """
        self.path = path
        self._identity = dict(identity)

    def save(self, parts: Mapping[str, Any], step: int, total: float, losses: list[float]) -> None:
        """Write the state.

        Args:
            parts: By name, the model, optimizer and schedule.
            step: Number of finished steps.
            total: Sum of the losses of this epoch.
            losses: Mean losses of the finished epochs.

        Raises:
            OSError: The file cannot be written. The previous state stays.
        """
        state = {"identity": self._identity, "step": step, "total": total, "losses": losses}
        for name, part in parts.items():
            state[name] = part.state_dict()
        # torch writes into memory, because its own errors do not say why a file cannot be written.
        data = io.BytesIO()
        torch.save(state, data)
        write_bytes(self.path, data.getvalue())

    def resume(self, parts: Mapping[str, Any]) -> tuple[int, float, list[float]]:
        """Load the state into `parts`.

        Returns:
            Step, total and losses, as given to `save`; zeros and [] if there is no state.

        Raises:
            UserError: The state is damaged, or is one of another training.
        """
        if not self.path.exists():
            return 0, 0.0, []
        check_files(self.path)
        try:
            state = torch.load(self.path, weights_only=True, map_location="cpu")
            is_same = state["identity"] == self._identity
            if is_same:
                for name, part in parts.items():
                    part.load_state_dict(state[name])
        except Exception as error:
            # torch, pickle and zipfile each raise errors of their own.
            raise UserError(
                f"The state {self.path} is damaged ({type(error).__name__}); remove it to train "
                f"anew."
            ) from None
        if not is_same:
            raise UserError(
                f"{self.path} is the state of another training (its recipe, data or device "
                f"differ); run that one again to continue it, remove the file, or choose another "
                f"--out."
            )
        return int(state["step"]), float(state["total"]), list(state["losses"])

    def remove(self) -> None:
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
    """Train, continuing from the checkpoint.

    Args:
        learner: Has the network and the loss.
        data: The training data.
        recipe: The hyperparameters.
        checkpoint: Where the state is saved, by the main process.
        progress: Shows the steps and their loss.
        log: Gets `loss`, `rate`, `gradient norm` before clipping, and `images per second` of each
            step.

    Returns:
        The mean loss of each epoch.

    Raises:
        UserError: The loss or the gradient is not finite. The checkpoint is then removed.
    """
    steps = _steps(data, recipe)
    process = Process.from_environment()
    optimizer = _optimizer(learner.network, recipe)
    schedule = _schedule(optimizer, recipe, len(steps))
    parts = {"model": learner.network, "optimizer": optimizer, "schedule": schedule}
    done, total, losses = _resume(checkpoint, parts, steps=steps, device=learner.device)

    saved_at = time.monotonic()
    with log(done) as log_step, progress.track("training", len(steps), done) as advance:
        for step in range(done, len(steps)):
            started = time.monotonic()
            # A seed for each step, so that dropout is the same after a resume.
            stream = Stream(recipe.seed, "torch", process.rank, step)
            torch.manual_seed(stream.below(2**32))
            loss, norm = _compute_gradients(learner, optimizer, steps=steps, step=step)
            if not (math.isfinite(loss) and math.isfinite(norm)):
                # Continuing would only repeat this step.
                checkpoint.remove()
                raise _divergence(f"step {step + 1:,} of {len(steps):,}", loss, norm)
            rate = _update(learner, optimizer, schedule)

            images_per_second = recipe.batch / (time.monotonic() - started)
            measures = {"loss": loss, "rate": rate, "gradient norm": norm}
            log_step(step + 1, {**measures, "images per second": images_per_second})
            total += loss
            advance(note=f"loss {loss:.2f}")
            steps_of_epoch = step % steps.epoch + 1
            is_last = step + 1 == len(steps)
            if is_last or steps_of_epoch == steps.epoch:
                losses.append(round(total / steps_of_epoch, 4))
                total = 0.0
            is_due = time.monotonic() - saved_at > _CHECKPOINT_SECONDS
            if process.is_main and (is_last or is_due):
                checkpoint.save(parts, step + 1, total, losses)
                saved_at = time.monotonic()
    return losses


def _steps(data: TrainingData, recipe: Recipe) -> Steps:
    """The batches of a training."""
    return Steps(
        data, batch=recipe.batch, epochs=recipe.epochs, seed=recipe.seed, count=recipe.steps
    )


def _optimizer(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW with the rate and the decay of a recipe."""
    # With weight decay as CLIP was trained (Radford et al. 2021, table 18); else Adam's defaults.
    betas = (0.9, 0.98) if recipe.decay else (0.9, 0.999)
    groups = parameter_groups(network, recipe.decay)
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=betas, fused=True)


def _compute_gradients(
    learner: Learner, optimizer: torch.optim.Optimizer, *, steps: Steps, step: int
) -> tuple[float, float]:
    """Compute the gradients of a step, averaged over processes and clipped.

    Returns:
        The loss, and the norm of the gradient before clipping.
    """
    loss = learner.loss(steps[step], step)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    average_gradients(learner.network)
    parameters = learner.network.parameters()
    norm = nn.utils.clip_grad_norm_(parameters, _MAX_GRADIENT_NORM)
    return loss.item(), norm.item()


def _divergence(place: str, loss: float, norm: float) -> UserError:
    """The error of a training whose loss or gradient is not finite. place: the step."""
    return UserError(
        f"Training diverged at {place}: its loss is "
        f"{loss:.3g} and its gradient {norm:.3g}; choose a lower --rate."
    )


def _update(learner: Learner, optimizer: torch.optim.Optimizer, schedule: Any) -> float:
    """Change the parameters by their gradients; returns the learning rate of the step."""
    # The schedule changes the rate, so it is read before.
    rate: float = optimizer.param_groups[0]["lr"]
    optimizer.step()
    schedule.step()
    learner.after_update()
    return rate


def _resume(
    checkpoint: Checkpoint, parts: Mapping[str, Any], *, steps: Steps, device: torch.device
) -> tuple[int, float, list[float]]:
    """Load the checkpoint, and say where the training continues.

    Returns:
        As Checkpoint.resume.
    """
    done, total, losses = checkpoint.resume(parts)
    check_same_step(done, device)
    if done:
        logger.info(f"Continuing after step {done:,} of {len(steps):,}.")
    return done, total, losses


def _schedule(optimizer: torch.optim.Optimizer, recipe: Recipe, steps: int) -> Any:
    """The learning rate over the steps: one cycle, or constant without warm-up."""
    if not (recipe.warmup and recipe.rate):
        return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    # With a single rising step OneCycleLR would divide by zero.
    has_one_rising_step = math.isclose(recipe.warmup * steps, 1)
    rising_share = 1.5 / steps if has_one_rising_step else recipe.warmup
    return torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, total_steps=steps, pct_start=rising_share, cycle_momentum=False
    )


def parameter_groups(network: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Split the trained parameters by weight decay.

    Args:
        network: Parameters without gradients are left out.
        decay: Weight decay of matrices. Vectors, embeddings and the temperature have none.

    Returns:
        Two parameter groups for an optimizer: with decay, and without.
    """
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        is_table = "embedding" in name or "logit_scale" in name
        if parameter.ndim >= 2 and not is_table:
            decaying.append(parameter)
        else:
            others.append(parameter)
    return [{"params": decaying, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def join(network: nn.Module, device: torch.device, batch: int) -> None:
    """Set up distributed training, if there are several processes. Call it before the first step.

    On GPUs, batch normalisation then uses the statistics of all processes.

    Args:
        network: The trained network.
        device: Of the network.
        batch: Images per step.

    Raises:
        UserError: A process would have no image of a step, or would share a GPU; or the network has
            batch normalisation and is on a CPU.
    """
    process = Process.from_environment()
    if process.count == 1:
        return
    if batch < process.count:
        raise UserError(
            f"Expected at least one image for each of the {process.count} processes, got a batch "
            f"of {batch}; choose a larger --batch, or start fewer processes."
        )
    if device.type == "cpu":
        if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules()):
            raise UserError(
                "The model has batch normalisation, which several processes can share only on "
                "GPUs; train it in one process, or take a transformer such as --architecture "
                "dual-vit."
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
    """Join the rows of a step from all processes.

    The gradient flows only to `own`, multiplied by the number of processes. The mean over processes
    is then the gradient of a single process, for the computation before the rows and for the one
    after them.

    Args:
        own: The rows of this process's share, float (rows, …).
        n: Number of rows of all processes.

    Returns:
        Float (n, …), in the order of a single process.
    """
    process = Process.from_environment()
    if process.count == 1:
        return own
    from accelerate.utils import gather as gather_equal

    # accelerate gathers tensors of one shape, so shorter shares are padded.
    longest = math.ceil(n / process.count)
    padded = own.new_zeros(longest, *own.shape[1:])
    padded[: len(own)] = own.detach()
    rows_by_rank = gather_equal(padded).view(process.count, *padded.shape)
    parts = []
    for rank, rows in enumerate(rows_by_rank):
        part = _share(n, rank, process.count)
        parts.append(rows[: part.stop - part.start])
    # The value is `own`; its gradient counts once for each process.
    parts[process.rank] = own + (process.count - 1) * (own - own.detach())
    return torch.cat(parts)


def average_gradients(network: nn.Module) -> None:
    """Replace the gradients of the network by their mean over the processes."""
    if Process.from_environment().count == 1:
        return
    from accelerate.utils import reduce

    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    # One message for all gradients: many small ones would wait for the network each.
    means = reduce(torch.cat([gradient.flatten() for gradient in gradients]), "mean")
    sizes = [gradient.numel() for gradient in gradients]
    for gradient, mean in zip(gradients, means.split(sizes), strict=True):
        gradient.copy_(mean.view(gradient.shape))


def check_same_step(done: int, device: torch.device) -> None:
    """Check that all processes resume after the same step.

    Args:
        done: Number of steps that this process has finished.
        device: Of the network.

    Raises:
        UserError: The processes differ, because they see different files.
    """
    process = Process.from_environment()
    steps = gather(torch.tensor([done], device=device), process.count).unique()
    if len(steps) > 1:
        numbers = ", ".join(map(str, steps.tolist()))
        raise UserError(
            f"The processes would continue after different steps ({numbers}); give an --out on a "
            f"disk that all of them share."
        )


def wait() -> None:
    """Barrier: return when all processes have called this function."""
    if Process.from_environment().count > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()


def _share(n: int, rank: int, count: int) -> slice:
    return slice(rank * n // count, (rank + 1) * n // count)
