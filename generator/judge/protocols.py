"""The protocols that the judge knows: which slots the items of each kind have, and which foils.

Written from docs/dataset.md and docs/protocols.md. Items of other protocols, which users may add, are judged for truth,
leaks and familiarity, and not for their form.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

TRAIN = "train"
"""The protocol whose items are training data, and the split of their scenes."""

Slots = Mapping[str, tuple[int, int]]
"""By slot: how many true and how many false candidates an item has there."""


@dataclass(frozen=True)
class Form:
    """The form of the items of one protocol and kind.

    `slots`: None where the number depends on the item (`slot_fault`). `foils`: what the column `kind` of false candidates
    may say. `skills`: what the column `skill` of the item may say.
    """

    slots: Slots | None
    foils: frozenset[str | None]
    skills: frozenset[str | None]


def _form(slots: Slots | None, foils: tuple[str | None, ...], skills: tuple[str | None, ...]) -> Form:
    return Form(slots, frozenset(foils), frozenset(skills))


_CHOICE: Slots = {"c": (1, 0), "n": (0, 1)}
_TRIPLE: Slots = {"c": (1, 0), "n": (0, 1), "p": (1, 0)}
_IMAGES: Slots = {"0": (1, 1), "1": (1, 1)}
_COMPOUNDS = ("attribute", "relation")
_REPEATS = ("none", "attribute", "category", "both")


def _set(n: int) -> Slots:
    return {"c": (1, 0), "n": (0, n)}


FORMS: dict[tuple[str, str], Form] = {
    **{
        ("train", kind): _form(None, ("swap", "replace", "flip", "neg"), (None,))
        for kind in ("plain", "relations", "graded", "synonyms", "statistics")
    },
    ("train", "label"): _form({"c": (1, 0)}, (), (None,)),
    ("binary", "swap"): _form(_CHOICE, ("swap",), ("attribute",)),
    ("binary", "flip"): _form(_CHOICE, ("flip",), ("relation",)),
    ("binary", "order"): _form(_CHOICE, ("order",), ("relation",)),
    ("binary", "denial"): _form(_CHOICE, ("neg",), ("negation",)),
    ("retrieval", "grid"): _form({"c": (2, 0)}, (), ("attribute",)),
    ("pairs", "attribute"): _form(_IMAGES, (None,), ("attribute",)),
    ("pairs", "relation"): _form(_IMAGES, (None,), ("relation",)),
    ("systematicity", "raw"): _form({"c": (1, 0)}, (), _COMPOUNDS),
    ("systematicity", "atom"): _form(_set(4), ("atom",), _COMPOUNDS),
    ("systematicity", "comp"): _form(_set(6), ("comp",), _COMPOUNDS),
    ("systematicity", "both"): _form(_set(10), ("atom", "comp"), _COMPOUNDS),
    ("productivity", "atom"): _form(_set(5), ("atom",), (None,)),
    ("productivity", "swap"): _form(_set(5), ("swap",), (None,)),
    ("productivity", "neg"): _form(_set(5), ("neg",), (None,)),
    ("productivity", "all"): _form(_set(15), ("atom", "swap", "neg"), (None,)),
    ("integration", "composed"): _form(None, ("object", "attribute", "relation"), (None,)),
    ("skill", "targeted"): _form(_set(4), ("object", "attribute", "relation"), ("object", "attribute", "relation")),
    ("hard_positives", "replace"): _form(_TRIPLE, ("matched",), ("object", "attribute", "relation")),
    ("hard_positives", "swap"): _form(_TRIPLE, ("swap",), ("attribute",)),
    ("hard_positives", "converse"): _form(_TRIPLE, ("flip",), ("relation",)),
    ("hard_positives", "swap-matched"): _form(_TRIPLE, ("matched",), ("attribute",)),
    ("hard_positives", "converse-matched"): _form(_TRIPLE, ("matched",), ("relation",)),
    ("hard_positives", "replace+swap"): _form(_TRIPLE, ("matched",), ("attribute",)),
    ("hard_positives", "replace+converse"): _form(_TRIPLE, ("matched",), ("relation",)),
    ("confusion", "assignments"): _form({"c": (2, 0), "n": (0, 14)}, _REPEATS, ("attribute",)),
    ("context", "environment"): _form({"c": (1, 0), "n": (0, 1), "context": (1, 1)}, ("swap",), ("attribute",)),
    ("gzsl", "single"): _form(None, ("label",), ("attribute",)),
    # a hard negative is named after what differs: the tested kind or the category, in the words of the vocabulary
    ("gzsl", "two-object"): _form(_set(4), ("distractor",), ("attribute",)),
    ("gzsl", "three-object"): _form(_set(6), ("distractor",), ("attribute",)),
    ("gzsl", "relational"): _form({**_set(4), "zsl": (1, 2)}, ("flip", "order", "distractor"), ("relation",)),
}
RAW = ("systematicity", "raw")
"""Captions without a question of their own, for raw retrieval; the only items over scenes with unseen atoms."""
UNSEEN_ATOMS = "unseen_atoms"
KNOWN = frozenset(protocol for protocol, _ in FORMS)


def slot_fault(form: Form, protocol: str, found: Counter[tuple[str, bool]]) -> str | None:
    """What is wrong with the slots of an item; None if they are as its form says. `found`: candidates by (slot, truth)."""
    slots = form.slots if form.slots is not None else _own_slots(protocol, found)
    due = {(slot, truth): n for slot, both in slots.items() for truth, n in zip((True, False), both, strict=True) if n}
    return None if found == due else f"it has {_words(found)}, expected {_words(due)}"


def _own_slots(protocol: str, found: Counter[tuple[str, bool]]) -> Slots:
    """The slots of forms whose numbers depend on the item."""
    false = found["n", False]
    if protocol == TRAIN:  # a caption with any negatives and positives
        return {"c": (1, 0), "n": (0, false), "p": (found["p", True], 0)}
    if protocol == "integration":
        return {"c": (1, 0), "n": (0, max(1, false)), **{f"d{n}": (1, 1) for n in range(1, false + 1)}}
    return {"c": (1, 0), "n": (0, max(1, false))}


def _words(slots: Mapping[tuple[str, bool], int]) -> str:
    told = [f"{n} {'true' if truth else 'false'} in {slot}" for (slot, truth), n in sorted(slots.items()) if n]
    return ", ".join(told) or "no candidates"
