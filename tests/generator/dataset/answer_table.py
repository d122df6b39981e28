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
}
"""The options of each kind of question; "yes" is a question for yes or no."""
REASONS = {CUT_OFF: "cut", REFUSED: "refused", UNREAD: "unread"}


class Row(NamedTuple):
    """An answer of the table."""

    style: str
    question: str
    """A key of CAPTIONS, or "yes"."""
    finish: str
    answer: str
    label: str
    """What a person reads: a letter, "yes", "no", or one of the values of REASONS."""


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
