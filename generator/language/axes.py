"""Axes of relations: a relation and its opposite, and which axes a caption may combine."""

from generator.language.truth import Facts
from generator.vocabulary.relation_rules import ORDERS
from generator.vocabulary.schema import Vocabulary

Axis = tuple[str, ...]


class Axes:
    """The axes of a vocabulary, numbered from 0: (left, right), (behind, front), (far, near), (beneath, on).

    `relations[axis]` holds the relations of an axis in alphabetical order. `slots[axis]` is the slot that an axis fills:
    a caption gives an object at most one relation of each slot. Distance and stacking share a slot, because an object
    that rests on another is near it.
    """

    def __init__(self, vocabulary: Vocabulary):
        declared = vocabulary.relations
        self.relations: list[Axis] = list(
            dict.fromkeys(tuple(sorted({name, relation.opposite})) for name, relation in declared.items())
        )
        planned_by = [declared[names[0]].axis.planned_by for names in self.relations]
        self._is_direction = [each in ORDERS for each in planned_by]
        stacking = [axis for axis, each in enumerate(planned_by) if each == "stacks"]
        self._stacking = stacking[0] if stacking else None
        nearness = [axis for axis, each in enumerate(planned_by) if each in ("clumps", "stacks")]
        self.slots = [nearness[0] if axis in nearness else axis for axis in range(len(self.relations))]
        self._axis_of = {name: axis for axis, names in enumerate(self.relations) for name in names}

    @property
    def general(self) -> list[int]:
        """The axes that apply to any two objects: all but stacking."""
        return [axis for axis in range(len(self.relations)) if axis != self._stacking]

    def most_false(self) -> int:
        """How many relations can be false of a pair of which one holds: of each axis one, of stacking both."""
        return len(self.relations) + (self._stacking is not None)

    def of_the_same_pairs(self, axis: int) -> list[int]:
        """The axes that apply to the pairs that this one applies to: stacking alone, or all others; itself included."""
        return [axis] if axis == self._stacking else self.general

    def axis_of(self, relation: str) -> int:
        """The axis of a relation."""
        return self._axis_of[relation]

    def interchangeable(self, axis: int) -> list[int]:
        """The axis itself and, for a direction, the other directions.

        They are decided for the same pairs of objects, and each of their relations is equally likely.
        """
        direction = self._is_direction[axis]
        return [n for n in range(len(self.relations)) if n == axis or (direction and self._is_direction[n])]

    def between(self, facts: Facts, axis: int, i: int, j: int) -> tuple[int, str] | None:
        """The axis and relation in which object i stands to object j; None where the scene decides neither relation.

        Directions between two stacked objects are undecided. For such a pair a direction is answered with the stacking
        relation, never with distance: stacked objects are always near, and `near` would otherwise be true more often
        than `far`.
        """
        for candidate in (axis, self._stacking if self._is_direction[axis] else None):
            if candidate is not None:
                found = next((name for name in self.relations[candidate] if facts.holds[name][i][j]), None)
                if found is not None:
                    return candidate, found
        return None
