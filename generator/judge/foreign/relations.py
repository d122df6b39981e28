"""Words of relations, as labels made elsewhere have them, and what each says the other way round."""

import re

_WORDS = {
    "left": ("left", "left of", "to the left of", "on the left", "on the left of", "on the left side of", "leftof"),
    "right": ("right", "right of", "to the right of", "on the right", "on the right of", "on the right side of", "rightof"),
    "front": ("front", "in front", "front of", "in front of"),
    "behind": ("behind", "in back of", "at the back of"),
    "above": ("above", "over"),
    "below": ("below", "under", "underneath"),
    "on": ("on", "on top of", "atop"),
    "beneath": ("beneath",),
    "near": ("near", "close to", "near to"),
    "beside": ("beside", "next to"),
    "far": ("far", "far from", "far away from"),
    "touching": ("touching",),
    "larger": ("larger than", "bigger than"),
    "smaller": ("smaller than",),
    "taller": ("taller than",),
    "shorter": ("shorter than",),
    **{word: (word,) for word in ("inside", "in", "within", "outside", "around", "against", "holding", "wearing", "covering",
                                  "facing", "through", "across", "along")},
}  # fmt: skip
_PAIRS = (("left", "right"), ("front", "behind"), ("above", "below"), ("on", "beneath"), ("larger", "smaller"),
          ("taller", "shorter"))  # fmt: skip
_SYMMETRIC = ("near", "beside", "far", "touching")

CONVERSE = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}, **{name: name for name in _SYMMETRIC}}
"""By name of a relation: the one that says the same with its objects exchanged; a symmetric relation is its own."""

FIRST = tuple(first for first, _ in _PAIRS)
"""Of each pair of converse relations the one that arrangements are compared in."""

_NAMES = {phrase: name for name, phrases in _WORDS.items() for phrase in phrases}
PHRASE = re.compile(rf"\b(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))})\b")
"""Finds relations in a text in lower case, the longest first."""


def relation_name(words: str) -> str:
    """The name of a relation; words that are not known are a relation of their own, without converse.

    >>> relation_name("to the left of"), relation_name("orbiting")
    ('left', 'orbiting')
    """
    plain = " ".join(words.casefold().replace("_", " ").split())
    return _NAMES.get(plain, plain)
