"""Files of labels for tests of judging splits made by others."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.vocabulary.schema import read_vocabulary

LEAKING = {
    "train": [
        "cube left sphere",
        "cylinder left sphere",
        "cone right sphere",
        "cone right cylinder",
    ],
    "ood_val": [
        "cube left cone",
        "sphere left cylinder",
        "sphere right cylinder",
        "cone right cube",
        "cube right cone",
    ],
    "ood_test": ["cone left cube", "cylinder right sphere", "cylinder right cube"],
}

THREE = [
    '"cylinder left sphere" (train, label 2) = "sphere right cylinder" (ood_val, label 3)',
    '"sphere left cylinder" (ood_val, label 2) = "cylinder right sphere" (ood_test, label 2)',
    '"cube right cone" (ood_val, label 5) = "cone left cube" (ood_test, label 1)',
]


Judged = Callable[..., dict[str, Any]]


def said(found: dict[str, Any], fault: str) -> list[str]:
    return [each["what"] for each in found["findings"] if each["fault"] == fault]


def rows(header: str, *lines: str) -> str:
    return "\n".join([header, *lines]) + "\n"


COLORS = ["red", "blue", "green", "yellow", "brown", "purple", "cyan", "gray"]
ANIMALS = [
    "crow",
    "fox",
    "deer stag",
    "wolf",
    "lion",
    "zebra",
    "deer doe",
    "bear",
    "owl",
    "hare",
    "newt",
    "bat",
]


def grid(colors: int, animals: int) -> list[tuple[str, str, str, str]]:
    """Scenes of two of so many animals in two of so many colours: animal, animal, colour,
    colour."""
    paints = list(permutations(COLORS[:colors], 2))
    return [(*pair, *paint) for pair in permutations(ANIMALS[:animals], 2) for paint in paints]


def split_by_block(seed: int) -> tuple[str, ...]:
    """A table of scenes of 8 colours and 12 animals, split by a generated block, and what its
    columns are."""
    clevr = read_vocabulary("clevr")
    attributes = {
        **clevr.attributes,
        "color": dict.fromkeys(COLORS, clevr.attributes["color"]["red"]),
    }
    objects = dict.fromkeys(ANIMALS, clevr.objects["cube"])
    words = clevr.model_copy(update={"attributes": attributes, "objects": objects})
    plan = SplitPlan(words, draw_block("3x3", words, seed))
    lines = [
        f"{one},{other},{first},{second},{n:07}.png,{plan.place(((first, one), (second, other))).split or ''}"
        for n, (one, other, first, second) in enumerate(grid(8, 12))
    ]
    table = rows(
        "character_name,character2_name,character_texture,character2_texture,filename,fold", *lines
    )
    roles = "split=fold,first=character_name,first.color=character_texture"
    return table, roles, "second=character2_name,second.color=character2_texture"


def check_block(found: dict[str, Any]) -> None:
    """Protocols, section 1: the counts of an 8x12 grid with a 3x3 block."""
    assert (found["status"], found["findings"], found["rows"]) == ("clean", [], 7392)
    table = {row["split"]: row for row in found["familiarity"]["color"]}
    every = table["all"]
    assert (every["seen"], every["seen_unequal"], every["partial"] - every["partial_unequal"]) == (
        6042,
        810,
        504,
    )
    assert (every["partial_unequal"], every["unseen"], every["unseen_unequal"]) == (810, 36, 0)
    assert (table["train"]["seen_unequal"], table["no split"]["partial_unequal"]) == (810, 810)
    assert (table["partial"]["partial"], table["unseen"]["unseen"]) == (504, 36)
    assert sum(table[name]["seen"] for name in ("train", "val", "seen")) == 6042
    assert "7,392 rows (3,696 arrangements) in 5 splits" in found["sentence"]


def spar(paint: list[tuple[str, str]]) -> str:
    """Labels as of SPAR: two animals, left and right, in pairs of textures."""
    lines = [
        f"{a},{b},{x},{y},left,right" for a, b in permutations(ANIMALS[:5], 2) for x, y in paint
    ]
    return rows("character,character2,texture,texture2,pos,pos2", *lines)


SPAR = (
    "first=character,second=character2,first.texture=texture,second.texture=texture2,"
    "first.position=pos,second.position=pos2",
)
