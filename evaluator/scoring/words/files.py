"""Store answers in words: answers.parquet in the folder of a run, and a SQLite cache for each
model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from platformdirs import user_cache_path
from pydantic import TypeAdapter

from evaluator.models.contracts import Answer
from evaluator.protocols.scores import ItemScores
from evaluator.scoring.store import Store
from evaluator.scoring.words.answers import item_scores
from evaluator.scoring.words.prompt import Prompt, prompt_of
from evaluator.scoring.words.reader import AnsweredQuestion, read_answer
from generator.base.errors import UserError
from generator.base.tables import read_table, write_table
from generator.dataset.questions import (
    CHOICE,
    IMAGES,
    MATCHING,
    MOST,
    VIEW_FORMS,
    YES_NO,
    Candidates,
    Question,
)
from generator.dataset.reader import Benchmark

ANSWERS = pa.schema(
    [
        ("item_id", pa.string()),
        ("form", pa.string()),
        ("options", pa.list_(pa.int32())),
        ("true", pa.int32()),
        ("order", pa.int32()),
        ("sample", pa.int32()),
        ("says", pa.string()),
        ("answer", pa.string()),
        ("finish", pa.string()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
    ]
)
"""A row for each answer. options, true: rows of the benchmark's candidates. says: the index of the
chosen option (yes 0, no 1), or why there is none, as read when the file was written."""


def write_answers(folder: Path, answered: Sequence[AnsweredQuestion]) -> None:
    """Write answers.parquet in the folder of a run.

    Args:
        folder: The folder.
        answered: The questions with their answers, in the order of the rows.
    """
    rows = [
        {
            "item_id": answer.question.item,
            "form": answer.question.form,
            "options": answer.question.options,
            "true": answer.question.true,
            "order": answer.question.order,
            "sample": answer.sample,
            "says": answer.reading.why or str(answer.reading.label),
            # A model may emit half a character, which Parquet cannot hold.
            "answer": answer.answer.text.encode("utf-8", "replace").decode(),
            "finish": answer.answer.finish,
            "prompt_tokens": answer.answer.prompt_tokens,
            "completion_tokens": answer.answer.completion_tokens,
        }
        for answer in answered
    ]
    write_table(folder / "answers.parquet", pa.Table.from_pylist(rows, ANSWERS), ANSWERS)


def read_answers(folder: Path, rows: Candidates, prompt: Prompt) -> list[AnsweredQuestion]:
    """Read the answers of a run, and read their labels anew.

    Args:
        folder: The folder of the run.
        rows: The candidates of its benchmark.
        prompt: The prompt that asked.

    Raises:
        UserError: The answers are missing, or answer questions about other candidates.
    """
    path = folder / "answers.parquet"
    if not path.exists():
        raise UserError(f"{folder} has lost its answers.parquet; run `score ask` again.")
    answered = []
    for row in read_table(path, ANSWERS).to_pylist():
        question = _question_of_row(row, rows)
        if question is None:
            raise UserError(
                f"{path} is damaged: an answer has other options than its item; run `score ask` "
                f"again."
            )
        answer = Answer(
            row["answer"], row["finish"], row["prompt_tokens"] or 0, row["completion_tokens"] or 0
        )
        answered.append(
            read_answer(question, answer, sample=row["sample"], rows=rows, prompt=prompt)
        )
    return answered


def _question_of_row(row: Mapping[str, Any], rows: Candidates) -> Question | None:
    """The question of a row of answers.parquet; None if no item has such a question."""
    if None in (row["order"], row["sample"], row["answer"], row["finish"]):
        return None
    item = row["item_id"]
    form = row["form"]
    options = tuple(row["options"] or ())
    for option in options:
        is_row = option is not None and 0 <= option < len(rows.item)
        if not is_row or rows.item[option] != item:
            return None
    if form == YES_NO:
        # Whether its single option is true is known from the candidates.
        return Question(item, form, options, None, row["order"]) if len(options) == 1 else None
    if form not in (CHOICE, IMAGES, MATCHING, *VIEW_FORMS) or row["true"] not in options:
        return None
    if form in VIEW_FORMS and form != rows.view_form_of(item):
        return None
    are_distinct = len(set(options)) == len(options)
    if not are_distinct or not 2 <= len(options) <= (2 if form == MATCHING else MOST):
        return None
    return Question(item, form, options, row["true"], row["order"])


def read_item_scores(
    folder: Path, benchmark: Benchmark, words: dict[str, Any]
) -> dict[str, ItemScores]:
    """The scores of a run in words, from its answers.

    Args:
        folder: The folder of the run.
        benchmark: Its benchmark.
        words: The entry `words` of its run.json.

    Returns:
        As `item_scores`.
    """
    rows = Candidates(benchmark)
    answered = read_answers(folder, rows, prompt_of(words["prompt"]))
    return item_scores(answered, rows, samples=words["samples"])


_ANSWER = TypeAdapter(Answer)


class AnswerStore(Store[Answer]):
    """The answers of a model in a SQLite file. Each `put` writes to disk, so that no question is
    asked again after a kill.

    Args:
        key: The cache key of the model, which names the file.
        folder: The folder of the file; None for the user's cache.
    """

    def __init__(self, key: str, folder: Path | None):
        super().__init__((folder or user_cache_path("jackalope") / "answers") / f"{key}.sqlite")
        with self._open() as database:
            # Answers come one by one: with a write-ahead log a write takes a quarter of the time.
            database.execute("PRAGMA journal_mode=WAL")

    def encode(self, name: str, value: Answer) -> bytes:
        """The answer as JSON."""
        return json.dumps(asdict(value)).encode()

    def decode(self, name: str, stored: bytes) -> Answer | None:
        """The answer; None if it is not valid."""
        try:
            return _ANSWER.validate_json(stored)
        except ValueError:
            return None
