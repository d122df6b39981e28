"""What a benchmark holds out of training, in one phrase, for headlines of results."""

from collections.abc import Mapping, Sequence
from typing import Any

_MOST_NAMES = 6
"""More combinations than this are counted and not named, so that the phrase stays on one line."""


def describe_holdout(holdout: Mapping[str, Any] | None) -> str:
    """What is held out; "" if nothing is, or if the benchmark has no holdout.

    Args:
        holdout: the contents of holdout.json, or None.

    >>> pairs = [["gray", "cube"], ["gray", "cone"], ["blue", "cube"], ["blue", "cone"]]
    >>> describe_holdout({"kind": "color", "category": "shape", "bindings": pairs})
    'gray, blue on cube, cone: 4 combinations of color and shape'
    >>> describe_holdout({"kind": "color", "category": "shape", "bindings": pairs[:3]})
    'gray cube, gray cone, blue cube: 3 combinations of color and shape'
    """
    if holdout is None:
        return ""
    kind, category = holdout.get("kind"), holdout.get("category")
    parts = []
    if bindings := holdout.get("bindings"):
        names = _name_bindings(bindings)
        parts.append(f"{names}{len(bindings):,} combinations of {kind} and {category}")
    if triples := holdout.get("triples"):
        named = [" ".join(triple) for triple in triples]
        parts.append(f"{_listed(named)}{len(triples):,} relations between two objects")
    # Bindings of an absent value or object are no combinations of their own: training lacks the
    # word.
    absent = [*holdout.get("absent_values", ()), *holdout.get("absent_objects", ())]
    if absent:
        parts.append(f"{_listed(absent)}{len(absent):,} values and objects")
    if not parts and (classes := holdout.get("classes")):
        parts.append(f"{len(classes):,} lists of classes")
    return "; ".join(parts)


def _name_bindings(bindings: Sequence[Sequence[str]]) -> str:
    """The names of bindings with a colon: of a full block its values and objects, else each one."""
    values = list(dict.fromkeys(value for value, _ in bindings))
    objects = list(dict.fromkeys(thing for _, thing in bindings))
    is_block = len(bindings) == len(values) * len(objects) > len(values)
    if is_block and len(values) + len(objects) <= 2 * _MOST_NAMES:
        return f"{', '.join(values)} on {', '.join(objects)}: "
    return _listed([" ".join(binding) for binding in bindings])


def _listed(names: Sequence[str]) -> str:
    """The names with a colon; "" for too many to name."""
    return f"{', '.join(names)}: " if len(names) <= _MOST_NAMES else ""
