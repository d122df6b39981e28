"""Stacks: which objects can rest on which, and how far from the middle of the top."""

from collections.abc import Iterator

from generator.vocabulary.relations import ORDERS, Relation
from generator.vocabulary.schema import Vocabulary

_MOST_SLIP = 0.03
_DIAGONAL = 1.5  # more than the square root of 2: slips along two directions add up


def slip(vocabulary: Vocabulary) -> float:
    """How far from the middle of a top an object may rest, along each ground direction, metres.

    It is so small that it leaves no relation in doubt: the upper object rests within the top by the margin, neither of
    the two is left or in front of the other, and both have the same relations to all other objects.
    """
    return max(0.0, min(_MOST_SLIP, *_bounds(vocabulary)))


def _bounds(vocabulary: Vocabulary) -> Iterator[float]:
    """The largest slip that each relation allows, metres."""
    radii = [spec.top.radius * min(vocabulary.scales) for spec in vocabulary.objects.values() if spec.top]
    for relation in vocabulary.relations.values():
        planned_by = relation.axis.planned_by
        if planned_by in ORDERS:
            yield min(relation.margin, vocabulary.placement.clearance - relation.margin) / 2
        elif planned_by == "clumps":
            yield ((relation.distance or 0.0) - relation.margin) / 2 / _DIAGONAL
        elif planned_by == "stacks" and radii:
            yield (min(radii) - relation.margin) / _DIAGONAL


def shift(vocabulary: Vocabulary) -> float:
    """How far from the middle of a top an object may rest, in any direction, metres."""
    return slip(vocabulary) * _DIAGONAL


def can_carry(vocabulary: Vocabulary, lower: str, upper: str) -> bool:
    """Whether an object of category `upper` can rest on one of `lower`, whatever their sizes."""
    top, foot = vocabulary.objects[lower].top, vocabulary.objects[upper].foot
    if top is None or foot is None:
        return False
    return foot * max(vocabulary.scales) + shift(vocabulary) <= top.radius * min(vocabulary.scales)


def can_hold(relation: Relation, subject: str, other: str, vocabulary: Vocabulary) -> bool:
    """Whether a relation can hold of an object of category `subject` and one of `other` in any scene."""
    if relation.axis.planned_by != "stacks":
        return True
    upper, lower, _ = relation.axis.asked(relation.name, subject, other)
    return can_carry(vocabulary, lower, upper)
