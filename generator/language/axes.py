"""Relations that exclude one another, and which of them a caption may ask about together."""

from generator.language.truth import Facts
from generator.vocabulary.relation_rules import ORDERS
from generator.vocabulary.schema import Vocabulary

Axis = tuple[str, ...]


class Axes:
    """The axes of a vocabulary, each a relation and its opposite: (left, right), (behind, front), (far, near), (beneath, on).

    `names` are their relations; `slots` says for each which place it takes of an object: an object of a caption is in
    one relation of each slot. What rests on another is near it, so that these two axes share a slot.
    """

    def __init__(self, vocabulary: Vocabulary):
        relations = vocabulary.relations
        self.names: list[Axis] = list(
            dict.fromkeys(tuple(sorted({name, relation.opposite})) for name, relation in relations.items())
        )
        planned_by = [relations[names[0]].axis.planned_by for names in self.names]
        self._directions = [each in ORDERS for each in planned_by]
        stacks = [axis for axis, each in enumerate(planned_by) if each == "stacks"]
        self._stacks = stacks[0] if stacks else None
        nearness = [axis for axis, each in enumerate(planned_by) if each in ("clumps", "stacks")]
        self.slots = [nearness[0] if axis in nearness else axis for axis in range(len(self.names))]

    @property
    def asked(self) -> list[int]:
        """The axes that any two objects can be asked about: all but the one that only stacks know."""
        return [axis for axis in range(len(self.names)) if axis != self._stacks]

    def of(self, relation: str) -> int:
        """The axis of a relation."""
        return next(axis for axis, names in enumerate(self.names) if relation in names)

    def alike(self, axis: int) -> list[int]:
        """The axis itself and those that are decided for the same pairs, each relation as likely: the other directions."""
        both = self._directions[axis]
        return [n for n in range(len(self.names)) if n == axis or (both and self._directions[n])]

    def between(self, facts: Facts, axis: int, i: int, j: int) -> tuple[int, str] | None:
        """The axis and relation in which object i stands to object j; None where nothing is decided.

        Two stacked objects stand in no order: which of them rests on the other is said instead, so that stacked objects
        are asked about their distance as seldom as others, and near is the truth as often as far.
        """
        for place in (axis, self._stacks if self._directions[axis] else None):
            if place is not None:
                found = next((name for name in self.names[place] if facts.holds[name][i][j]), None)
                if found is not None:
                    return place, found
        return None
