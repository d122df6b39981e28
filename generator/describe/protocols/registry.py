"""The registry of protocols. To add one, write a file with a class that derives from `Protocol`, and enter it here."""

from importlib import import_module
from typing import TYPE_CHECKING

from generator.dataset.errors import UserError, did_you_mean

if TYPE_CHECKING:  # `gen --help` lists the protocols and must not load them
    from generator.describe.protocols.protocol import Protocol

_HERE = "generator.describe.protocols"
_REGISTRY = {
    "binary": f"{_HERE}.binary:Binary",
    "retrieval": f"{_HERE}.retrieval:Retrieval",
    "systematicity": f"{_HERE}.systematicity:Systematicity",
    "productivity": f"{_HERE}.productivity:Productivity",
    "integration": f"{_HERE}.integration:Integration",
    "skill": f"{_HERE}.skill:Skill",
    "hard_positives": f"{_HERE}.hard_positives:HardPositives",
    "confusion": f"{_HERE}.confusion:Confusion",
    "context": f"{_HERE}.context:Context",
    "gzsl": f"{_HERE}.gzsl:Gzsl",
    "pairs": f"{_HERE}.pairs:Pairs",
}


def protocol_names() -> tuple[str, ...]:
    """The names of all protocols, in the order in which benchmarks hold them."""
    return tuple(_REGISTRY)


def register(name: str, location: str) -> None:
    """Add a protocol: its name, and its class as `module:Class`, which is imported when it is first used.

    Raises ValueError if the name is taken.
    """
    if name in _REGISTRY:
        raise ValueError(f"The protocol '{name}' is already registered as {_REGISTRY[name]}.")
    _REGISTRY[name] = location


def find_protocol(name: str) -> "type[Protocol]":
    """The class of a protocol. Raises UserError for an unknown name."""
    if name not in _REGISTRY:
        raise UserError(f"Unknown protocol '{name}'; {did_you_mean(name, list(_REGISTRY))}")
    module, _, attribute = _REGISTRY[name].partition(":")
    found: type[Protocol] = getattr(import_module(module), attribute)
    return found
