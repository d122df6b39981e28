"""Torch networks: choice of device and precision, digests of weights, and descriptions for
run.json."""

import hashlib
import os
import re
from typing import Any

import torch

from generator.base.errors import UserError

_ACTIVATION = re.compile("GELU|ReLU|SiLU|Swish|Tanh|Activation")
"""In the class names of activation functions."""


def best_device(name: str | None) -> torch.device:
    """The named device. None means the GPU of this process (number LOCAL_RANK, else the first), or
    the CPU without a GPU.

    Raises UserError when the named device is not available.
    """
    if name is None:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        # torchrun gives each process of a machine a number; each takes its own GPU.
        local_rank = os.environ.get("LOCAL_RANK", "")
        if local_rank.isdigit():
            return torch.device("cuda", int(local_rank) % torch.cuda.device_count())
        return torch.device("cuda")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise UserError(
            f"The device '{name}' is not available; leave --device out to take the best device."
        ) from None
    return device


def training_precision(requested: str, device: torch.device) -> str:
    """Resolve the precision of a training.

    `auto` is bfloat16 on GPUs and on CPUs with AVX-512 BF16; on other CPUs bfloat16 would be slow.

    Args:
        requested: `auto`, `float32` or `bfloat16`.
        device: The device of the network.

    Returns:
        `float32` or `bfloat16`.
    """
    if requested != "auto":
        return requested
    is_fast = device.type == "cuda" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return "bfloat16" if is_fast else "float32"


def chosen_precision(requested: str, device: torch.device, is_dual_encoder: bool) -> str:
    """Resolve the precision of a model that is scored.

    `auto` is bfloat16 for the images of a dual encoder on a GPU. Texts and models that read image
    and text together stay in float32, because protocols compare texts and rounding would break
    ties.

    Args:
        requested: `auto`, `float32` or `bfloat16`.
        device: The device of the model.
        is_dual_encoder: Whether it embeds images and texts separately.

    Returns:
        `float32` or `bfloat16`.
    """
    if requested != "auto":
        return requested
    return "bfloat16" if is_dual_encoder and device.type == "cuda" else "float32"


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Autocast to bfloat16 for `bfloat16`. For `float32` the model computes in its own
    precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def describe_network(
    weights: str, network: torch.nn.Module, device: torch.device
) -> dict[str, Any]:
    """Describe a network, for run.json.

    Args:
        weights: What was loaded.
        network: The network.
        device: Its device.
    """
    parameters = list(network.parameters())
    # Quantized weights are whole numbers; their scales have the precision of the computation.
    dtypes = [parameter.dtype for parameter in parameters if parameter.is_floating_point()]
    dtype = dtypes[0] if dtypes else torch.float32
    return {
        "weights": weights,
        "weights_sha256": weights_digest(network),
        "activation": activations(network),
        "parameters": sum(parameter.numel() for parameter in parameters),
        "precision": str(dtype).removeprefix("torch."),
        "device": str(device),
    }


def weights_digest(network: torch.nn.Module) -> str:
    """SHA-256 (hex) over the names, dtypes, shapes and bytes of all parameters and buffers of the
    state dict.

    The digest does not depend on the file format of the weights.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        if tensor.numel():
            # As bytes, since NumPy has no bfloat16.
            flat = tensor.detach().cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def activations(network: torch.nn.Module) -> str:
    """Class names of the activation functions among a network's modules, such as `QuickGELU`."""
    names = {type(module).__name__ for module in network.modules()}
    return ", ".join(sorted(filter(_ACTIVATION.search, names)))
