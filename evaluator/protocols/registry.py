"""The registry of protocols. To add one, write a file with a class that derives from `Protocol`, and enter it here."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from generator.dataset.errors import UserError, did_you_mean

if TYPE_CHECKING:  # `score --help` lists the protocols and must not load them
    from evaluator.protocols.protocol import Protocol

_HERE = "evaluator.protocols"
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
    """The names of all protocols, in the order of the results."""
    return tuple(_REGISTRY)


def register(name: str, location: str) -> None:
    """Add a protocol: its name, and its class as `module:Class`, which is imported when it is first used.

    Raises ValueError if the name is taken.
    """
    if name in _REGISTRY:
        raise ValueError(f"The protocol '{name}' is already registered as {_REGISTRY[name]}.")
    _REGISTRY[name] = location


def find_protocol(name: str) -> "Protocol":
    """The protocol of a name. Raises UserError for an unknown one."""
    if name not in _REGISTRY:
        raise UserError(f"Unknown protocol '{name}': {did_you_mean(name, list(_REGISTRY))}")
    protocol: Protocol = resolve_name(_REGISTRY[name])()
    return protocol
