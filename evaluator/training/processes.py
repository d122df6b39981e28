"""A training shared by several processes, as `accelerate launch` and `torchrun` start them: each computes a part of a
step.

A learner computes the rows of its `share`; `gather` returns those of all processes, in the order that one process would
give. So every process has the loss of the whole step, and the mean of their gradients is the gradient of one process.
"""

import torch
from torch import Tensor, nn

from evaluator.models.network import best_device
from evaluator.scoring.store import Process
from generator.base.errors import UserError


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
    process = Process.from_environment()
    if process.count == 1:
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
