"""Says from the held-out bindings alone which splits of a holdout can have scenes, before anything
is planned.

A scene of an evaluation split must be symmetric (`membership.symmetric`): however its values are
paired with its objects, equally many bindings are held out. So `unseen` needs two values that are
held out with the same two objects, and `partial` needs two values held out with the same object, or
one value held out with two objects.
"""

from collections.abc import Collection, Sequence
from itertools import combinations, permutations

from generator.holdout.holdout import Holdout


def splits_without_scenes(
    holdout: Holdout, values: Sequence[str], objects: Collection[str], n: int
) -> list[str]:
    """Return the splits among val, seen, partial and unseen for which no scene of n objects exists.

    Relations are not counted: if triples are held out, `partial` may have scenes by relations
    alone.

    Args:
        holdout: The holdout.
        values: The values of the tested kind that scenes may show.
        objects: The objects that scenes may show.
        n: The number of objects of a scene, at least 2.

    >>> block = Holdout("color", "shape", bindings=(("gray", "cube"), ("blue", "cube")))
    >>> splits_without_scenes(block, ["gray", "blue", "red"], ["cube", "cone", "torus"], 2)
    ['unseen']
    """
    if not holdout.bindings:
        return []
    present_values = [value for value in values if value not in holdout.absent_values]
    present = frozenset(objects) - {*holdout.absent_objects}
    # Two objects must be the only ones of their categories, so that a caption can name them. If
    # there are more objects, those need a third category.
    needed = min(n, 3)
    familiar, unseen = False, False
    partial = bool(holdout.triples)
    for first, second in combinations(present_values, 2):
        held_out_with_first = holdout.objects_with(first) & present
        held_out_with_second = holdout.objects_with(second) & present
        with_both = held_out_with_first & held_out_with_second
        with_neither = present - held_out_with_first - held_out_with_second
        # unseen: two different values that are held out with all objects of the scene.
        unseen = unseen or len(with_both) >= needed
        # val and seen: with none of them.
        familiar = familiar or len(with_neither) >= needed
        # partial: both values are held out with the same objects, and a scene has some of these and
        # some others.
        has_one_of_each = bool(with_both) and bool(with_neither)
        partial = partial or (has_one_of_each and len(with_both) + len(with_neither) >= needed)
    for first, second in permutations(present_values, 2):
        # partial: one value is held out with all objects of the scene, the other with none of them.
        only_first = holdout.objects_with(first) - holdout.objects_with(second)
        partial = partial or len(only_first & present) >= needed
    possible = {"val": familiar, "seen": familiar, "partial": partial, "unseen": unseen}
    return [split for split, has_scenes in possible.items() if not has_scenes]


def splits_that_stay_empty(holdout: Holdout) -> list[str]:
    """Return the splits among partial and unseen that have no scene in any vocabulary, because of
    the bindings' shape.

    >>> single = Holdout("color", "shape", ("gray",), ("cube",), bindings=(("gray", "cube"),))
    >>> splits_that_stay_empty(single)
    ['partial', 'unseen']
    """
    # A value and two objects that nothing is held out with stand for the rest of any vocabulary.
    values = [*dict.fromkeys(value for value, _ in holdout.bindings), ""]
    # Names that no vocabulary has.
    objects = {object_name for _, object_name in holdout.bindings} | {" ", "  "}
    empty = splits_without_scenes(holdout, values, objects, 2)
    return [split for split in empty if split in ("partial", "unseen")]


def balance_note(holdout: Holdout) -> str | None:
    """Return one sentence on the splits that stay empty and what fills them; None if no split stays
    empty."""
    empty = splits_that_stay_empty(holdout)
    if "unseen" not in empty:
        return None
    named = ", ".join(f"{value}:{object_name}" for value, object_name in holdout.bindings[:3])
    more = ", …" if len(holdout.bindings) > 3 else ""
    return (
        f"{' and '.join(empty)} stay{'s' if len(empty) == 1 else ''} empty, because a foil would "
        f"be more familiar than its caption ({named}{more}); asymmetric_seen and "
        f"asymmetric_unseen test what is held out; to fill unseen, hold out the same two objects "
        f"with two values."
    )
