"""The table of answers, in the styles of several families of models, with the label that a person
reads."""

import json
from pathlib import Path
from typing import NamedTuple

from generator.dataset.answer_reader import CUT_OFF, REFUSED, UNREAD, Reading

LEFT = "There is a red cube left of a blue sphere."
SWAPPED = "There is a blue cube left of a red sphere."
CAPTIONS = {
    "2": (LEFT, SWAPPED),
    "5": (
        LEFT,
        SWAPPED,
        "There is a green cone right of a red cube.",
        "There is a cone.",
        "There is a green cone.",
    ),
    "image": ("", ""),
    "mats": (
        "The gray jackalope is left of the red mat.",
        "The red jackalope is left of the gray mat.",
        "The gray jackalope is right of the red mat.",
    ),
    "count": (
        "two green frogs and a wooden chair",
        "a green frog and two wooden chairs",
        "two wooden frogs and a green chair",
        "a wooden frog and two green chairs",
    ),
    "cups in images": (
        'The first image shows "a red cup", the second image "a blue cup"',
        'The first image shows "a blue cup", the second image "a red cup"',
    ),
    "bear": (
        "a purple bear behind a metal bucket",
        "a metal bear behind a purple bucket",
    ),
    "four": (
        "A yellow boat is in front of a black sofa.",
        "A black boat is in front of a yellow sofa.",
        "A yellow boat is behind a black sofa.",
        "A yellow sofa is in front of a black boat.",
    ),
    "horse": (
        "There is no white horse.",
        "There is a white horse.",
        "There are two white horses.",
    ),
    "lamp": (
        "There is a small brown lamp and a large pink fox.",
        "There is a small pink lamp and a large brown fox.",
        "There is a large brown lamp and a small pink fox.",
    ),
    "two": (
        "The orange key is to the right of the teal drum.",
        "The teal key is to the right of the orange drum.",
    ),
    "owl": (
        "There are three silver owls on a glass table.",
        "There are three glass owls on a silver table.",
        "There is one silver owl on a glass table.",
        "There are three silver owls under a glass table.",
    ),
    "tie": (
        "a striped tie and a plain hat",
        "a plain tie and a striped hat",
    ),
    "dog and cat": (
        'The first image shows "a wet dog", the second image "a dry cat"',
        'The first image shows "a dry cat", the second image "a wet dog"',
    ),
    "kite": (
        "A wooden elephant is left of a red kite, which is left of a metal ladder.",
        "A metal elephant is left of a red kite, which is left of a wooden ladder.",
        "A wooden elephant is right of a red kite.",
    ),
    "cups": (
        "There are exactly two cyan cups.",
        "There are exactly three cyan cups.",
        "There are no cyan cups.",
        "There are more cyan cups than plates.",
    ),
    "fan": (
        "The wolf holds a round white fan.",
        "The wolf holds a square white fan.",
        "The bear holds a round white fan.",
    ),
    "door": (
        "There is a tall wooden door behind a short stone well.",
        "There is a short wooden door behind a tall stone well.",
    ),
    "pig and hen": (
        'The first image shows "a fat pig", the second image "a thin hen"',
        'The first image shows "a thin hen", the second image "a fat pig"',
    ),
    "ant": (
        "A giant ant stands behind a tiny piano.",
        "A tiny ant stands behind a giant piano.",
        "A giant ant stands in front of a tiny piano.",
        "A giant piano stands behind a tiny ant.",
    ),
    "mug": (
        "the mug is rubber and the plate is brass",
        "the mug is brass and the plate is rubber",
    ),
    "cow": (
        "a blue cow on green grass",
        "a green cow on blue grass",
        "a blue cow on blue grass",
    ),
    "row": (
        "The spoon is between the fork and the knife.",
        "The fork is between the spoon and the knife.",
        "The knife is between the spoon and the fork.",
    ),
}
"""The options of each question; "yes" is a question for yes or no. Images have no words."""
REASONS = {CUT_OFF: "cut", REFUSED: "refused", UNREAD: "unread"}


class Row(NamedTuple):
    """An answer of the table."""

    style: str
    question: str
    """A key of CAPTIONS, or "yes"."""
    finish: str
    answer: str
    label: str
    """What a person reads: a letter, "yes", "no", or one of the values of REASONS. It was decided
    before the reader read the answer."""
    new_set: int = 0
    """Number of the set of new answers that were first read together, from 1; docs/words.md has
    the figures of each set's first try. 0 for answers that the rules were written against."""


TABLE = [
    Row(*json.loads(line))
    for line in Path(__file__)
    .with_name("answers_by_style.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def label_of(row: Row, reading: Reading) -> str:
    """What was read of a row's answer, in the words of the table."""
    if reading.label is None:
        return REASONS[reading.why]
    return (("yes", "no") if row.question == "yes" else "ABCDE")[reading.label]
