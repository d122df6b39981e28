"""answers.parquet of a run: what is written is read, and answers to impossible questions are
refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from evaluator.models.contracts import Answer
from evaluator.scoring.words.files import ANSWERS, read_answers, write_answers
from evaluator.scoring.words.prompt import read_prompt
from evaluator.scoring.words.reader import read_answer
from generator.base.errors import UserError
from generator.base.tables import write_table
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, YES_NO, Question

ROWS: Any = SimpleNamespace(item=["i"] * 6 + ["other"], text=[f"caption {n}" for n in range(7)])
"""Six candidates of an item, and one of another item."""
PROMPT = read_prompt(None)
VALID = {
    "item_id": "i",
    "form": CHOICE,
    "options": [0, 1],
    "true": 0,
    "order": 0,
    "sample": 0,
    "says": "0",
    "answer": "A",
    "finish": "stop",
    "prompt_tokens": 3,
    "completion_tokens": None,
}


def write_rows(folder: Path, *rows: dict[str, Any]) -> None:
    table = pa.Table.from_pylist(list(rows), ANSWERS)
    write_table(folder / "answers.parquet", table, ANSWERS)


def test_written_answers_are_read(tmp_path: Path) -> None:
    questions = [
        Question("i", CHOICE, (0, 1, 2, 3, 4), 0, 0),
        Question("i", IMAGES, (1, 0), 0, 1),
        Question("i", MATCHING, (0, 1), 0, 0),
        Question("i", YES_NO, (5,), None, 0),
    ]
    answered = [
        read_answer(question, Answer("A", "stop", 3, 1), sample=k, rows=ROWS, prompt=PROMPT)
        for k, question in enumerate(questions)
    ]
    write_answers(tmp_path, answered)
    assert read_answers(tmp_path, ROWS, PROMPT) == answered


def test_unknown_numbers_of_tokens_are_0(tmp_path: Path) -> None:
    write_rows(tmp_path, VALID)
    (answered,) = read_answers(tmp_path, ROWS, PROMPT)
    assert (answered.answer.prompt_tokens, answered.answer.completion_tokens) == (3, 0)
    assert answered.reading.label == 0


@pytest.mark.parametrize(
    "change",
    [
        {"order": None},
        {"sample": None},
        {"answer": None},
        {"finish": None},
        {"form": "essay"},
        {"options": None},
        {"options": [0]},
        {"options": [0, 0]},
        {"options": [0, 6]},
        {"options": [0, 7]},
        {"options": [0, -1]},
        {"options": [0, None]},
        {"options": [0, 1, 2, 3, 4, 5]},
        {"form": MATCHING, "options": [0, 1, 2]},
        {"true": 2},
        {"true": None},
        {"form": YES_NO, "options": [0, 1]},
        {"item_id": "other"},
    ],
)
def test_an_answer_to_an_impossible_question_is_refused(
    change: dict[str, Any], tmp_path: Path
) -> None:
    write_rows(tmp_path, VALID, VALID | change)
    with pytest.raises(UserError, match="an answer has other options than its item"):
        read_answers(tmp_path, ROWS, PROMPT)


def test_lost_answers_name_the_command(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has lost its answers\.parquet; run `score ask` again"):
        read_answers(tmp_path, ROWS, PROMPT)
