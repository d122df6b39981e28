"""Registry of the protocols, which make items from scenes. To add a protocol, write a file with a
subclass of `Protocol`, and enter it here. Benchmarks hold the protocols in this order."""

from typing import TYPE_CHECKING

from generator.base.registry import Registry

if TYPE_CHECKING:  # `gen --help` lists the protocols and must not load them
    from generator.describe.protocol import Protocol


_HERE = "generator.describe.protocols"
_REGISTRY: Registry["type[Protocol]"] = Registry(
    "protocol",
    {
        "binary": f"{_HERE}.two_objects:Binary",
        "retrieval": f"{_HERE}.two_objects:Retrieval",
        "systematicity": f"{_HERE}.crepe:Systematicity",
        "productivity": f"{_HERE}.crepe:Productivity",
        "integration": f"{_HERE}.compass:Integration",
        "skill": f"{_HERE}.compass:Skill",
        "hard_positives": f"{_HERE}.hard_positives:HardPositives",
        "ladder": f"{_HERE}.ladder:Ladder",
        "confusion": f"{_HERE}.two_objects:Confusion",
        "context": f"{_HERE}.two_objects:Context",
        "gzsl": f"{_HERE}.gzsl:Gzsl",
        "pairs": f"{_HERE}.pairs:Pairs",
        "frames": f"{_HERE}.frames:Frames",
        "views": f"{_HERE}.views:Views",
        "steps": f"{_HERE}.steps:Steps",
    },
)
protocol_names, register, find_protocol = _REGISTRY.names, _REGISTRY.register, _REGISTRY.find
