"""Where models run, and in what precision."""

import os

import torch

from generator.dataset.errors import UserError

_NO_MEMORY = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")


def best_device(name: str | None) -> torch.device:
    """The device of that name, or the GPU of this process (LOCAL_RANK, else the first), or the CPU.

    Raises UserError when the named one is not there.
    """
    if name is None:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        local = os.environ.get("LOCAL_RANK", "")
        return torch.device("cuda", int(local) % torch.cuda.device_count()) if local.isdigit() else torch.device("cuda")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise UserError(
            f"The device '{name}' is not available; leave --device out to take the best one that is."
        ) from None
    return device


def half_precision(device: torch.device) -> torch.autocast:
    """bfloat16 where the device computes in it: every GPU of the last years, and processors with AVX-512 BF16."""
    quick = device.type == "cuda" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return torch.autocast(device.type, torch.bfloat16, enabled=quick)


def chosen_precision(asked: str, device: torch.device, encodes_apart: bool) -> str:
    """`float32` or `bfloat16`: what `auto` means for a model on a device.

    The image side of a dual encoder is computed in bfloat16 on a GPU. Whatever reads a text stays in float32, since
    texts are compared with one another and rounding would break ties; so does a model that reads both together.
    """
    if asked != "auto":
        return asked
    return "bfloat16" if encodes_apart and device.type == "cuda" else "float32"


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Mixed precision for what is computed inside it; `float32` leaves everything as the model has it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in str(error) for sign in _NO_MEMORY)
    )
