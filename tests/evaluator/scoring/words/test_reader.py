"""What answers say, by a table of real-looking, odd and hostile ones; and that hostile ones take no time."""

import json
import time
from pathlib import Path

import pytest

from evaluator.scoring.words.reader import CUT_OFF, REFUSED, UNREAD, read_choice, read_yes_no

TWO = ("There is a red cube left of a blue sphere.", "There is a blue cube left of a red sphere.")
CAPTIONS = {
    "2": TWO,
    "5": (*TWO, "There is a green cone right of a red cube.", "There is a cone.", "There is a green cone."),
    "image": ("", ""),
}
WHY = {CUT_OFF: "cut", REFUSED: "refused", UNREAD: "unread"}
TABLE = [json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text("utf-8").splitlines()]


def read(question: str, finish: str, answer: str) -> str:
    """What an answer says in the words of the table."""
    if question == "yes":
        found = read_yes_no(answer, finish)
        return WHY[found.why] if found.label is None else ("yes", "no")[found.label]
    captions = CAPTIONS[question]
    found = read_choice(answer, finish, "ABCDE"[: len(captions)], captions)
    return WHY[found.why] if found.label is None else "ABCDE"[found.label]


def test_the_table() -> None:
    wrong = [(row, found) for row in TABLE if (found := read(*row[:3])) != row[3]]
    assert wrong == []
    assert len(TABLE) >= 200


def test_words_of_another_language() -> None:
    words = (("ja",), ("nein",))
    assert read_yes_no("Ja, das stimmt.", "stop", *words).label == 0
    assert read_yes_no("Antwort: nein", "stop", *words).label == 1
    assert read_yes_no("yes", "stop", *words).why == UNREAD


@pytest.mark.parametrize("letter", ["A", "B"])
def test_long_reasoning_changes_nothing(letter: str) -> None:
    for before in ("Answer: A\n", "\\boxed{B} ", "Both. ", "I cannot say. "):
        assert read("2", "stop", f"<think>{before * 1000}</think>Answer: {letter}") == letter


@pytest.mark.parametrize(
    "part",
    [
        "<think>",
        "</think>",
        "\\boxed{",
        "<answer>",
        "answer:",
        "the answer is ",
        "A ",
        "A or ",
        "(",
        "not ",
        "*",
        "\n",
        "A. no\n",
    ],
)
def test_a_megabyte_is_read_at_once(part: str) -> None:
    start = time.process_time()
    read("2", "stop", part * (1_000_000 // len(part)))
    read("yes", "stop", part * (1_000_000 // len(part)))
    assert time.process_time() - start < 10
