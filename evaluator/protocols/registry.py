"""The protocols by name. Only the one that is asked for is imported."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from generator.dataset.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from evaluator.protocols.protocol import Protocol

PROTOCOLS = {
    "binary": "evaluator.protocols.binary:Binary",
    "retrieval": "evaluator.protocols.retrieval:Retrieval",
    "systematicity": "evaluator.protocols.systematicity:Systematicity",
    "productivity": "evaluator.protocols.productivity:Productivity",
    "integration": "evaluator.protocols.integration:Integration",
    "skill": "evaluator.protocols.skill:Skill",
    "hard_positives": "evaluator.protocols.hard_positives:HardPositives",
    "confusion": "evaluator.protocols.confusion:Confusion",
    "context": "evaluator.protocols.context:Context",
    "gzsl": "evaluator.protocols.gzsl:Gzsl",
    "pairs": "evaluator.protocols.pairs:Pairs",
}
"""Where the class of each protocol is. Results stand in this order."""


def load_protocol(name: str) -> "Protocol":
    """The protocol of that name. Raises UserError when there is none."""
    if name not in PROTOCOLS:
        raise UserError(f"Unknown protocol '{name}': {did_you_mean(name, list(PROTOCOLS))}")
    protocol: Protocol = resolve_name(PROTOCOLS[name])()
    return protocol
