"""The protocols: each selects the scores that it needs and computes outcomes and rows of results.
To add a protocol, write a file with a subclass of `Protocol` and register it here."""

from typing import TYPE_CHECKING

from generator.base.registry import Registry

if TYPE_CHECKING:  # `score --help` lists the protocols and must not load them
    from evaluator.protocols.results import Protocol


_HERE = "evaluator.protocols"
_REGISTRY: Registry["type[Protocol]"] = Registry(
    "protocol",
    {
        "binary": f"{_HERE}.binary:Binary",
        "retrieval": f"{_HERE}.retrieval:Retrieval",
        "systematicity": f"{_HERE}.crepe:Systematicity",
        "productivity": f"{_HERE}.crepe:Productivity",
        "integration": f"{_HERE}.compass:Integration",
        "skill": f"{_HERE}.compass:Skill",
        "hard_positives": f"{_HERE}.hard_positives:HardPositives",
        "ladder": f"{_HERE}.ladder:Ladder",
        "confusion": f"{_HERE}.gzsl:Confusion",
        "context": f"{_HERE}.binary:Context",
        "gzsl": f"{_HERE}.gzsl:Gzsl",
        "pairs": f"{_HERE}.pairs:Pairs",
        "frames": f"{_HERE}.frames:Frames",
        "views": f"{_HERE}.views:Views",
        "steps": f"{_HERE}.steps:Steps",
    },
)
protocol_names, register, check_protocol = _REGISTRY.names, _REGISTRY.register, _REGISTRY.check


def find_protocol(name: str) -> "Protocol":
    """Find a registered protocol.

    Args:
        name: Its name, such as `binary`.

    Returns:
        An instance; protocols have no state.

    Raises:
        UserError: The name is unknown.
    """
    return _REGISTRY.find(name)()
