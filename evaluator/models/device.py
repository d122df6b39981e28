"""Where models run."""

import torch

from generator.dataset.errors import UserError


def best_device(name: str | None) -> torch.device:
    """The device of that name, or the first GPU, or the CPU. Raises UserError when the named one is not there."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
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
