"""Store answers in words: answers.parquet in the folder of a run, and a SQLite cache for each
model."""

import json
from collections.abc import Sequence
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
from evaluator.scoring.words.reader import Answered, read_answer
from generator.base.errors import UserError
from generator.base.tables import read_table, write_table
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, MOST, YES_NO, Candidates, Question
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


def write_answers(folder: Path, answered: Sequence[Answered]) -> None:
    """Write answers.parquet in the folder of a run."""
    rows = [
        {
            "item_id": each.question.item,
            "form": each.question.form,
            "options": each.question.options,
            "true": each.question.true,
            "order": each.question.order,
            "sample": each.sample,
            "says": each.reading.why or str(each.reading.label),
            "answer": each.answer.text.encode("utf-8", "replace").decode(),
            "finish": each.answer.finish,
            "prompt_tokens": each.answer.prompt_tokens,
            "completion_tokens": each.answer.completion_tokens,
        }
        for each in answered
    ]
    write_table(folder / "answers.parquet", pa.Table.from_pylist(rows, ANSWERS), ANSWERS)


def read_answers(folder: Path, rows: Candidates, prompt: Prompt) -> list[Answered]:
    """The answers of a run; reads their labels again. Raises UserError if they are missing or of
    other candidates."""
    path = folder / "answers.parquet"
    if not path.exists():
        raise UserError(f"{folder} has lost its answers.parquet; run `score ask` again.")
    found = []
    for row in read_table(path, ANSWERS).to_pylist():
        form, options, true = row["form"], tuple(row["options"] or ()), row["true"]
        whole = None not in (row["order"], row["sample"], row["answer"], row["finish"])
        whole &= all(
            0 <= each < len(rows.item) and rows.item[each] == row["item_id"] for each in options
        )
        if form == YES_NO:
            whole, true = whole and len(options) == 1, None
        else:
            whole &= form in (CHOICE, IMAGES, MATCHING) and true in options
            whole &= 2 <= len(set(options)) == len(options) <= (2 if form == MATCHING else MOST)
        if not whole:
            raise UserError(
                f"{path} is damaged: an answer has other options than its item; run `score ask` "
                f"again."
            )
        question = Question(row["item_id"], form, options, true, row["order"])
        answer = Answer(
            row["answer"], row["finish"], row["prompt_tokens"] or 0, row["completion_tokens"] or 0
        )
        found.append(read_answer(question, row["sample"], answer, rows, prompt))
    return found


def read_item_scores(
    folder: Path, benchmark: Benchmark, words: dict[str, Any]
) -> dict[str, ItemScores]:
    """The scores of a run in words, from its answers, as `item_scores` returns them."""
    rows = Candidates(benchmark)
    return item_scores(
        read_answers(folder, rows, prompt_of(words["prompt"])), rows, words["samples"]
    )


_ANSWER = TypeAdapter(Answer)


class AnswerStore(Store[Answer]):
    """The answers of the model `key` in a file of `folder`; None for the user's cache. Each `put`
    writes to disk, so that no question is asked again after a kill."""

    def __init__(self, key: str, folder: Path | None):
        super().__init__((folder or user_cache_path("jackalope") / "answers") / f"{key}.sqlite")
        with self._open() as database:
            database.execute(
                "PRAGMA journal_mode=WAL"
            )  # answers come one by one: a write takes a quarter of the time

    def encode(self, name: str, value: Answer) -> bytes:
        """The answer as JSON."""
        return json.dumps(asdict(value)).encode()

    def decode(self, name: str, kept: bytes) -> Answer | None:
        """The answer; None if it is not valid."""
        try:
            return _ANSWER.validate_json(kept)
        except ValueError:
            return None
