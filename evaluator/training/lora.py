"""Low-rank adaptation (Hu et al. 2022) of a network's linear layers, by the library peft."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from generator.base.errors import UserError


@dataclass(frozen=True)
class Lora:
    """The rank r of the changes, and alpha: they are scaled by alpha / r."""

    rank: int
    alpha: float

    def __post_init__(self) -> None:
        if self.rank < 1 or not 0 < self.alpha < float("inf"):
            raise UserError(f"Expected a LoRA rank from 1 and an alpha above 0, got {self.rank} and {self.alpha}.")


def with_lora(network: nn.Module, lora: Lora, seed: int) -> Callable[[], object]:
    """Freeze a network and add trainable changes to its linear and attention layers, in place.

    The first output does not change. Returns a function that adds the changes to the weights, so that the network has its own
    layers again.
    """
    import peft

    names = [name for name, module in network.named_modules() if type(module) in (nn.Linear, nn.MultiheadAttention)]
    # the projection of an attention layer is part of it
    names = [name for name in names if not any(name.startswith(f"{other}.") for other in names)]
    torch.manual_seed(seed)
    adapted = peft.get_peft_model(
        network, peft.LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=names, lora_dropout=0.0)
    )
    return lambda: adapted.merge_and_unload()


def parse_lora(given: str) -> Lora:
    """`RANK/ALPHA`, or `RANK` alone for an alpha of twice the rank. Raises UserError for anything else.

    >>> parse_lora("8/16") == parse_lora("8")
    True
    """
    rank, _, alpha = given.partition("/")
    try:
        return Lora(int(rank), float(alpha) if alpha else 2.0 * int(rank))
    except ValueError:
        raise UserError(f"Expected --lora to be rank/alpha such as 16/32, got '{given}'.") from None
