"""What answers do to the outcome of their item: right, wrong, wrong without a label, or
unscored."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.models.contracts import FAILED, Answer
from evaluator.scoring.words.answers import item_scores
from evaluator.scoring.words.reader import AnsweredQuestion
from generator.dataset.answer_reader import UNREAD, Reading
from generator.dataset.questions import CHOICE, YES_NO, Question

ROWS: Any = SimpleNamespace(item=["i", "i", "other"], truth=[True, False, True])
"""Candidates: the true and the false caption of the item i, and a caption of an item that is not
asked."""
RIGHT, WRONG, NOTHING, BROKEN = "right", "wrong", "nothing", "broken"
KINDS = (RIGHT, WRONG, NOTHING, BROKEN)


def reading(kind: str, right: int) -> Reading:
    return {
        RIGHT: Reading(right),
        WRONG: Reading(1 - right),
        NOTHING: Reading(None, UNREAD),
        BROKEN: Reading(None, f"{FAILED}no connection"),
    }[kind]


def choices(kinds: list[str], sample: int = 0) -> list[AnsweredQuestion]:
    """The answers to a choice in its two orders."""
    orders = (Question("i", CHOICE, (0, 1), 0, 0), Question("i", CHOICE, (1, 0), 0, 1))
    return [
        AnsweredQuestion(question, sample, Answer(""), reading(kind, question.options.index(0)))
        for question, kind in zip(orders, kinds, strict=True)
    ]


def yes_or_no(kinds: list[str]) -> list[AnsweredQuestion]:
    """The answers about the true and the false caption, each asked alone."""
    return [
        AnsweredQuestion(Question("i", YES_NO, (row,)), 0, Answer(""), reading(kind, row))
        for row, kind in zip((0, 1), kinds, strict=True)
    ]


def outcome(answered: list[AnsweredQuestion], sample: int = -1) -> str:
    """Whether the item is right, wrong, wrong without a label ("unread"), or unscored."""
    samples = 1 + max(answer.sample for answer in answered)
    scores = item_scores(answered, ROWS, samples=samples)[CHOICE]
    true, false = scores.values[sample, :2]
    assert not scores.in_question[2]
    assert scores.in_asked_item.tolist() == [True, True, False]
    if scores.reasons[sample, 0]:
        assert np.isnan([true, false]).all()
        return "unscored"
    if scores.unread[sample, 0]:
        assert true <= false
        return "unread"
    return RIGHT if true > false else WRONG


def expected(kinds: list[str]) -> str:
    """The rule: wrong in one order is wrong; then unread is wrong; then a failed request leaves the
    item unscored."""
    for kind, result in ((WRONG, WRONG), (NOTHING, "unread"), (BROKEN, "unscored")):
        if kind in kinds:
            return result
    return RIGHT


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("ask", [choices, yes_or_no])
def test_the_outcome_of_an_item(first: str, second: str, ask: Any) -> None:
    assert outcome(ask([first, second])) == expected([first, second])


@given(st.lists(st.sampled_from(KINDS), min_size=3, max_size=3))
def test_the_majority_is_of_the_answers_that_have_a_label(kinds: list[str]) -> None:
    answered = [
        answer for sample, kind in enumerate(kinds) for answer in choices([kind, kind], sample)
    ]
    labels = [kind for kind in kinds if kind in (RIGHT, WRONG)]
    right, wrong = labels.count(RIGHT), labels.count(WRONG)
    majority = outcome(answered)
    if right > wrong:
        assert majority == RIGHT
    elif labels:
        assert majority in (WRONG, "unread")
    else:
        assert majority == ("unread" if NOTHING in kinds else "unscored")
    for sample, kind in enumerate(kinds):
        assert outcome(answered, sample) == expected([kind])
