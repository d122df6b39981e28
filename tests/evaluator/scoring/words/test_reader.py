"""How the answer to a question is read: by its form, its letters and the words of its options."""

from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.models.contracts import FAILED, Answer
from evaluator.scoring.words.prompt import read_prompt
from evaluator.scoring.words.reader import read_answer
from generator.dataset.answer_reader import CUT_OFF, UNREAD, read_choice
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, YES_NO, Question

CUBE, BALL = "a red cube", "a blue ball"
ROWS: Any = SimpleNamespace(text=[CUBE, BALL, CUBE, CUBE])
"""Candidates: two captions of an image, and one caption of two images."""
PROMPT = read_prompt(None)


def label(form: str, text: str, options: tuple[int, ...] = (0, 1), finish: str = "stop") -> Any:
    """The label of an answer, or why it has none."""
    true = None if form == YES_NO else options[0]
    question = Question("item", form, options, true, 0)
    answered = read_answer(question, Answer(text, finish), sample=3, rows=ROWS, prompt=PROMPT)
    assert (answered.question, answered.sample, answered.answer.text) == (question, 3, text)
    reading = answered.reading
    return reading.why if reading.label is None else reading.label


def test_letters_choose_options_in_the_order_shown() -> None:
    assert [label(CHOICE, letter) for letter in "AB"] == [0, 1]
    assert [label(IMAGES, letter, (2, 3)) for letter in "AB"] == [0, 1]
    assert [label(MATCHING, letter) for letter in "AB"] == [0, 1]


def test_letters_beyond_the_options_choose_nothing() -> None:
    assert label(CHOICE, "C") == UNREAD
    assert label(CHOICE, "C", (0, 1, 2)) == 2


def test_the_words_of_a_caption_choose_it() -> None:
    assert label(CHOICE, f"It shows {BALL}.") == 1
    assert label(CHOICE, f"It shows {BALL}.", (1, 0)) == 0


def test_the_words_of_an_assignment_choose_it() -> None:
    first, second = PROMPT.assignments([CUBE, BALL])
    assert first != second
    assert [label(MATCHING, text) for text in (first, second)] == [0, 1]


def test_a_caption_does_not_choose_an_image() -> None:
    """Both options are images of the same caption, whose words say nothing."""
    assert label(IMAGES, f"It shows {CUBE}.", (2, 3)) == UNREAD


def test_yes_and_no_are_read_without_letters() -> None:
    assert [label(YES_NO, text, (0,)) for text in ("Yes.", "No", "A")] == [0, 1, UNREAD]


@pytest.mark.parametrize("form", [CHOICE, IMAGES, MATCHING, YES_NO])
def test_a_failed_request_has_no_label_whatever_its_text(form: str) -> None:
    options = (0,) if form == YES_NO else (0, 1)
    reason = f"{FAILED}no connection"
    assert label(form, "A. Yes.", options, reason) == reason


def test_an_answer_that_is_cut_off_has_no_label() -> None:
    assert label(CHOICE, "The answer is probably", finish="length") == CUT_OFF


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # Each option is discussed in a line of its own; the last line concludes.
        ("A shows a cube.\nB shows a ball.\nSo the answer is B.", 1),
        ("B. It could be.\nA. It matches better.\nTherefore, the correct option is A.", 0),
        # No line concludes, so neither is chosen.
        ("A shows a cube.\nB shows a ball.", UNREAD),
        ("A: a cube.\nB: a ball.\nBoth are in the scene.", UNREAD),
        # One line concludes alone.
        ("So the answer is B.", 1),
    ],
)
def test_the_last_line_concludes_an_answer_of_several_lines(answer: str, expected: Any) -> None:
    reading = read_choice(answer, "stop", "AB")
    assert (reading.why if reading.label is None else reading.label) == expected
