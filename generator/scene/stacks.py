"""Objects that rest on others: which can rest on which, and how far from the middle."""

from collections.abc import Iterator

from generator.vocabulary.relation_rules import DIRECTIONS, DISTANCES
from generator.vocabulary.schema import Vocabulary

_MOST_SLIP = 0.03
_DIAGONAL = 1.5  # more than the square root of 2: slips along two directions add up


def slip(vocabulary: Vocabulary) -> float:
    """How far aside, along each ground direction, an object may rest from the middle of what carries it, metres.

    So little that no relation is in doubt for it: it rests within the top, by the margin; neither of the two is left
    or in front of the other; and where the one is near, far, left or behind, so is the other.
    """
    return max(0.0, min(_MOST_SLIP, *_bounds(vocabulary)))


def _bounds(vocabulary: Vocabulary) -> Iterator[float]:
    radii = [kind.top.radius * min(vocabulary.scales) for kind in vocabulary.objects.values() if kind.top]
    for relation in vocabulary.relations.values():
        if relation.rule in DIRECTIONS:
            yield min(relation.margin, vocabulary.placement.clearance - relation.margin) / 2
        elif relation.rule in DISTANCES:
            yield ((relation.distance or 0.0) - relation.margin) / 2 / _DIAGONAL
        elif radii:
            yield (min(radii) - relation.margin) / _DIAGONAL


def shift(vocabulary: Vocabulary) -> float:
    """How far in any direction an object may rest from the middle of what carries it, metres."""
    return slip(vocabulary) * _DIAGONAL


def can_carry(vocabulary: Vocabulary, lower: str, upper: str) -> bool:
    """Whether an object of one category can rest on one of another, whatever their sizes: its foot finds a flat top."""
    top, foot = vocabulary.objects[lower].top, vocabulary.objects[upper].foot
    if top is None or foot is None:
        return False
    return foot * max(vocabulary.scales) + shift(vocabulary) <= top.radius * min(vocabulary.scales)
