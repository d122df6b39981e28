"""Tells directions in an object's own frame from other held-out triples, and says them in one
phrase.

A direction such as `own-left` is held out with the object whose left it is, and with everything
else on that side. So one such direction is as many triples as there are categories, of which pages
and headlines name only the object.
"""

from collections.abc import Iterable, Mapping, Sequence

from generator.dataset.relations import AXIS_OF


def is_own_direction(relation: str) -> bool:
    """Whether a relation means a direction of its second object.

    Example:
        >>> is_own_direction("own-left"), is_own_direction("left"), is_own_direction("orbiting")
        (True, False, False)
    """
    axis = AXIS_OF.get(relation)
    return axis is not None and axis.frame == "object"


def own_frames_of(triples: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Find the objects in whose own frame directions are held out.

    Args:
        triples: Held-out (subject, relation, object).

    Returns:
        The directions of each object, sorted; objects in the order of the triples.

    Example:
        >>> own_frames_of([("fox", "own-left", "lion"), ("fox", "left", "lion")])
        {'lion': ('own-left',)}
    """
    directions_of: dict[str, set[str]] = {}
    for _, relation, ground in triples:
        if is_own_direction(relation):
            directions_of.setdefault(ground, set()).add(relation)
    return {ground: tuple(sorted(directions)) for ground, directions in directions_of.items()}


def other_triples(triples: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """List the triples whose relation is no direction in an object's own frame."""
    return [tuple(triple) for triple in triples if not is_own_direction(triple[1])]


def describe_own_frames(own_frames: Mapping[str, Sequence[str]]) -> str:
    """Say in one phrase which directions of which objects are held out.

    Args:
        own_frames: As of `own_frames_of`.

    Example:
        >>> sides = ("own-left", "own-right")
        >>> describe_own_frames({"lion": sides, "fox": sides})
        'own-left/own-right of: lion, fox'
    """
    grounds_of: dict[str, list[str]] = {}
    for ground, directions in own_frames.items():
        # A block holds out the same axis of all its objects, so objects are grouped by their
        # directions.
        grounds_of.setdefault("/".join(directions), []).append(ground)
    phrases = [
        f"{directions} of: {', '.join(grounds)}" for directions, grounds in grounds_of.items()
    ]
    return "; ".join(phrases)
