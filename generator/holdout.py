"""Held-out bindings: which attribute values never meet which objects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.dataset.errors import UserError, did_you_mean
from generator.streams import Stream
from generator.vocabulary import Vocabulary

_SPEC = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?(?P<rows>\d+)x(?P<columns>\d+)")


@dataclass(frozen=True)
class Holdout:
    """A block of held-out bindings: every value of `values` with every object of `objects`.

    `kind` is the attribute kind under test; a binding is a pair (value, object), e.g. ("red", "cube").
    """

    kind: str
    category: str
    values: tuple[str, ...]
    objects: tuple[str, ...]
    block_seed: int

    def holds_out(self, value: str, thing: str) -> bool:
        """Whether the binding is held out."""
        return value in self.values and thing in self.objects

    def to_dict(self) -> dict[str, object]:
        """The block as JSON-ready data, with every held-out binding spelled out."""
        return {
            "kind": self.kind,
            "category": self.category,
            "values": list(self.values),
            "objects": list(self.objects),
            "block_seed": self.block_seed,
            "bindings": [[value, thing] for value in self.values for thing in self.objects],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Holdout":
        """The inverse of `to_dict`."""
        return cls(data["kind"], data["category"], tuple(data["values"]), tuple(data["objects"]), data["block_seed"])


def draw_block(spec: str, vocabulary: Vocabulary, block_seed: int) -> Holdout:
    """Choose by seed the block that `spec` asks for: `3x3`, or `color:shape=3x3` with the kinds named.

    Bindings of the block occur in no training image or text (Peng et al. 2026, BindSplit, section 4.1).
    Raises UserError when `spec` is malformed, or when the block would leave a value or an object without a seen
    binding, or a split without a scene.
    """
    match = _SPEC.fullmatch(spec.strip())
    if not match:
        raise UserError(
            f"Expected --holdout to be values x objects such as 3x3 or "
            f"{vocabulary.tested}:{vocabulary.category}=3x3, got '{spec}'."
        )
    kind = match["kind"] or vocabulary.tested
    if kind not in vocabulary.attributes:
        raise UserError(
            f"--holdout {spec}: unknown attribute kind '{kind}'; {did_you_mean(kind, list(vocabulary.attributes))}"
        )
    if (match["category"] or vocabulary.category) != vocabulary.category:
        raise UserError(
            f"--holdout {spec}: objects of this world are called '{vocabulary.category}', not '{match['category']}'."
        )
    values, objects = vocabulary.values(kind), list(vocabulary.objects)
    rows, columns = int(match["rows"]), int(match["columns"])
    _check_size(spec, rows, kind, len(values), "object")
    _check_size(spec, columns, vocabulary.category, len(objects), f"value of {kind}")
    stream = Stream("block", block_seed, kind, rows, columns)
    chosen = tuple(stream.sample(values, rows))
    return Holdout(kind, vocabulary.category, chosen, tuple(stream.sample(objects, columns)), block_seed)


def _check_size(spec: str, size: int, what: str, available: int, starved: str) -> None:
    if available < 3:
        raise UserError(
            f"--holdout {spec}: {what} has only {available} values, and a block needs at least 3; use another kind."
        )
    if size < 2:
        raise UserError(
            f"--holdout {spec}: with {size} {what} held out no scene of two different objects can have both bindings "
            f"held out, so the unseen split would be empty; hold out at least 2."
        )
    if size >= available:
        raise UserError(
            f"--holdout {spec}: {size} of the {available} values of {what} would leave a held-out {starved} "
            f"without a seen binding; hold out at most {available - 1}."
        )
