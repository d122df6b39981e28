"""Files of labels for tests of judging splits made by others."""

import csv
from itertools import permutations
from pathlib import Path
from typing import Any

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.judge.foreign.verify import verify_splits
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from generator.vocabulary.tables import ObjectSpec

LEAKING = {
    "train": ["cube left sphere", "cylinder left sphere", "cone right sphere", "cone right cylinder"],
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


def judged(path: Path, text: str, *columns: str, **more: Any) -> dict[str, Any]:
    """What is found in a file with that text, of which all is one task."""
    path.write_text(text, encoding="utf-8")
    (found,) = verify_splits(path, columns, **more).values()
    return found


def said(found: dict[str, Any], fault: str) -> list[str]:
    return [each["what"] for each in found["findings"] if each["fault"] == fault]


def rows(header: str, *lines: str) -> str:
    return "\n".join([header, *lines]) + "\n"


def grid() -> tuple[list[str], list[str]]:
    """8 colours and 12 animals."""
    colors = "red blue green yellow brown purple cyan gray"
    animals = "crow,fox,deer stag,wolf,lion,zebra,deer doe,bear,owl,hare,newt,bat"
    return colors.split(), animals.split(",")


def vocabulary(colors: list[str], animals: list[str]) -> Vocabulary:
    clevr = read_vocabulary("clevr")
    value, kind = clevr.attributes["color"]["red"], clevr.objects["cube"]
    assert isinstance(kind, ObjectSpec)
    attributes = {**clevr.attributes, "color": dict.fromkeys(colors, value)}
    return clevr.model_copy(update={"attributes": attributes, "objects": dict.fromkeys(animals, kind)})


def split_by_block(scenes: list[tuple[str, str, str, str]], words: Vocabulary, seed: int, path: Path) -> dict[str, Any]:
    """What is found in scenes (animal, animal, colour, colour), split by a generated block."""
    plan = SplitPlan(words, draw_block("3x3", words, seed))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["character_name", "character2_name", "character_texture", "character2_texture", "filename", "fold"]
        )
        for n, (one, other, first, second) in enumerate(scenes):
            split = plan.place(((first, one), (second, other))).split
            writer.writerow([one, other, first, second, f"{n:07}.png", split or ""])
    roles = ["split=fold,first=character_name,first.color=character_texture"]
    (found,) = verify_splits(path, [*roles, "second=character2_name,second.color=character2_texture"]).values()
    return found


def check_block(found: dict[str, Any]) -> None:
    """Protocols, section 1: the counts of an 8x12 grid with a 3x3 block."""
    assert (found["status"], found["findings"], found["rows"]) == ("clean", [], 7392)
    table = {row["split"]: row for row in found["familiarity"]["color"]}
    every = table["all"]
    assert (every["seen"], every["seen_unequal"], every["partial"] - every["partial_unequal"]) == (6042, 810, 504)
    assert (every["partial_unequal"], every["unseen"], every["unseen_unequal"]) == (810, 36, 0)
    assert (table["train"]["seen_unequal"], table["no split"]["partial_unequal"]) == (810, 810)
    assert (table["partial"]["partial"], table["unseen"]["unseen"]) == (504, 36)
    assert sum(table[name]["seen"] for name in ("train", "val", "seen")) == 6042
    assert "7,392 rows (3,696 arrangements) in 5 splits" in found["sentence"]


ANIMALS = ["crow", "fox", "wolf", "lion", "bear"]


def spar(paint: list[tuple[str, str]]) -> str:
    """Labels as of SPAR: two animals, left and right, in pairs of textures."""
    lines = [f"{a},{b},{x},{y},left,right" for a, b in permutations(ANIMALS, 2) for x, y in paint]
    return rows("character,character2,texture,texture2,pos,pos2", *lines)


SPAR = (
    "first=character,second=character2,first.texture=texture,second.texture=texture2,"
    "first.position=pos,second.position=pos2",
)
