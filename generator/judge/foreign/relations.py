"""Words for relations in labels made by others, and their converses."""

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
"""The converse of each relation. A symmetric relation is its own converse."""

FIRST = tuple(first for first, _ in _PAIRS)
"""The relation of each converse pair that normal forms use."""

_NAMES = {phrase: name for name, phrases in _WORDS.items() for phrase in phrases}
PHRASE = re.compile(rf"\b(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))})\b")
"""Matches relations in lower-case text, the longest first."""


def relation_name(words: str) -> str:
    """The name of a relation. Unknown words name a relation of their own, without a converse.

    >>> relation_name("to the left of"), relation_name("orbiting")
    ('left', 'orbiting')
    """
    plain = " ".join(words.casefold().replace("_", " ").split())
    return _NAMES.get(plain, plain)
