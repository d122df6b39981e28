"""What a benchmark holds out of training, in one phrase, for headlines of results."""

from collections.abc import Mapping, Sequence
from typing import Any

from generator.dataset.own_frames import describe_own_frames, other_triples, own_frames_of

_MOST_NAMES = 6
"""More combinations than this are counted and not named, so that the phrase stays on one line."""


def describe_holdout(holdout: Mapping[str, Any] | None) -> str:
    """What is held out, in one phrase.

    Args:
        holdout: The contents of holdout.json; None if the benchmark has none.

    Returns:
        The phrase; "" if nothing is held out.

    Example:
        >>> pairs = [["gray", "cube"], ["gray", "cone"], ["blue", "cube"], ["blue", "cone"]]
        >>> describe_holdout({"kind": "color", "category": "shape", "bindings": pairs})
        'gray, blue on cube, cone: 4 combinations of color and shape'
        >>> describe_holdout({"kind": "color", "category": "shape", "bindings": pairs[:3]})
        'gray cube, gray cone, blue cube: 3 combinations of color and shape'
        >>> triples = [["fox", "own-left", "lion"], ["cat", "own-left", "lion"]]
        >>> describe_holdout({"triples": triples})
        'own-left of: lion'
    """
    if holdout is None:
        return ""
    kind = holdout.get("kind")
    category = holdout.get("category")
    parts = []
    bindings = holdout.get("bindings")
    if bindings:
        names = _name_bindings(bindings)
        parts.append(f"{names}{len(bindings):,} combinations of {kind} and {category}")
    all_triples = holdout.get("triples", ())
    triples = other_triples(all_triples)
    if triples:
        names = _list_names([" ".join(triple) for triple in triples])
        parts.append(f"{names}{len(triples):,} relations between two objects")
    own_frames = own_frames_of(all_triples)
    if own_frames:
        parts.append(describe_own_frames(own_frames))
    # Bindings of an absent value or object are not combinations that were held out: training lacks
    # the word.
    absent = [*holdout.get("absent_values", ()), *holdout.get("absent_objects", ())]
    if absent:
        parts.append(f"{_list_names(absent)}{len(absent):,} values and objects")
    classes = holdout.get("classes")
    if not parts and classes:
        parts.append(f"{len(classes):,} lists of classes")
    return "; ".join(parts)


def _name_bindings(bindings: Sequence[Sequence[str]]) -> str:
    """The names of bindings with a colon: of a full block its values and objects, else each one."""
    values = list(dict.fromkeys(value for value, _ in bindings))
    objects = list(dict.fromkeys(category for _, category in bindings))
    # A block of one value or one object reads better as a list of its bindings.
    is_block = len(bindings) == len(values) * len(objects) > len(values)
    if is_block and len(values) + len(objects) <= 2 * _MOST_NAMES:
        return f"{', '.join(values)} on {', '.join(objects)}: "
    return _list_names([" ".join(binding) for binding in bindings])


def _list_names(names: Sequence[str]) -> str:
    """The names with a colon; "" for too many to name."""
    return f"{', '.join(names)}: " if len(names) <= _MOST_NAMES else ""
