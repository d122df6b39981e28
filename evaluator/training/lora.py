"""Fine-tuning in less memory: low-rank adaptation (Hu et al. 2022) by the library peft, and activations computed
twice."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from generator.base.extras import check_installed


def with_lora(network: nn.Module, rank: int, alpha: float, seed: int) -> Callable[[], object]:
    """Freeze a network and add trainable changes of a rank to its linear and attention layers, in place, scaled by
    alpha / rank.

    The first output does not change. Returns a function that adds the changes to the weights, so that the network has
    its own layers again. Raises UserError where peft is not installed.
    """
    check_installed("peft")
    import peft

    names = [name for name, module in network.named_modules() if type(module) in (nn.Linear, nn.MultiheadAttention)]
    # the projection of an attention layer is part of it
    names = [name for name in names if not any(name.startswith(f"{other}.") for other in names)]
    torch.manual_seed(seed)
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=names, lora_dropout=0.0)
    adapted = peft.get_peft_model(network, config)
    return lambda: adapted.merge_and_unload()


def checkpoint_activations(network: Any) -> None:
    """Have a network compute activations again for the gradient instead of keeping them."""
    if hasattr(network, "set_grad_checkpointing"):
        network.set_grad_checkpointing(True)
    else:
        network.gradient_checkpointing_enable({"use_reentrant": False})
