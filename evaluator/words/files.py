"""Files of answers: answers.parquet in a run's folder, and OpenAI's batch files, out and in."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.models.api import answer_of
from evaluator.models.contracts import FAILED, Answer, Chat
from evaluator.protocols.scores import ItemScores
from evaluator.words.answers import Answered, item_scores, read
from evaluator.words.prompt import Prompt, prompt_of
from evaluator.words.questions import Candidates, Question
from generator.base.errors import UserError
from generator.base.files import draft_of
from generator.base.limits import MOST_JSON, check_file
from generator.base.parquet import read_table, write_table
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
"""A row for each answer. options, true: rows of the benchmark's candidates. says: the place of the option that it
chooses (of yes or no 0 or 1), or why it says nothing, as it was read first."""
_MOST_LINES, _MOST_BYTES = 50_000, 190 << 20
"""Of a batch file; OpenAI takes 50,000 requests and 200 MB."""


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
    """The answers of a run, read anew. Raises UserError where they are missing, or no answers to these candidates."""
    path = folder / "answers.parquet"
    if not path.exists():
        raise UserError(f"{folder} has lost its answers.parquet; run `score ask` again.")
    found = []
    for row in read_table(path, ANSWERS).to_pylist():
        options = tuple(row["options"] or ())
        if not options or not all(0 <= each < len(rows.item) and rows.item[each] == row["item_id"] for each in options):
            raise UserError(f"{path} is damaged: an answer has other options than its item; run `score ask` again.")
        question = Question(row["item_id"], row["form"], options, row["true"], row["order"])
        answer = Answer(row["answer"], row["finish"], row["prompt_tokens"], row["completion_tokens"])
        found.append(read(question, row["sample"], answer, rows, prompt))
    return found


def read_item_scores(folder: Path, benchmark: Benchmark, words: dict[str, Any]) -> tuple[ItemScores, ItemScores]:
    """The scores of a run in words, from its answers: by questions about one image, and by those about two."""
    rows = Candidates(benchmark)
    return item_scores(read_answers(folder, rows, prompt_of(words["prompt"])), rows, words["samples"])


def write_batch(path: Path, chats: Iterable[Chat], request: Callable[[Chat], dict[str, Any]]) -> list[Path]:
    """Write questions as OpenAI's batch format has them, one a line; returns the files, FILE, FILE-2 …, each within the
    limits of OpenAI. request: the body of a question's request."""
    paths: list[Path] = []
    with ExitStack() as whole:
        lines, size, file = _MOST_LINES, 0, None
        for chat in chats:
            body = {"custom_id": chat.name, "method": "POST", "url": "/v1/chat/completions", "body": request(chat)}
            line = json.dumps(body) + "\n"
            if file is None or lines >= _MOST_LINES or size + len(line) > _MOST_BYTES:
                paths.append(path.with_stem(f"{path.stem}-{len(paths) + 1}") if paths else path)
                file = whole.enter_context(whole.enter_context(draft_of(paths[-1])).open("w", encoding="utf-8"))
                lines = size = 0
            file.write(line)
            lines, size = lines + 1, size + len(line)
    return paths


def read_batch(paths: Sequence[Path]) -> Iterator[tuple[str, Answer]]:
    """The names of questions and their answers in files of OpenAI's batch format; those that failed with the reason.

    Raises UserError for a line that is no such answer.
    """
    for path in paths:
        check_file(path)
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_JSON), b""), 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                    yield str(record["custom_id"]), _answer(record)
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    raise UserError(
                        f"Line {number} of {path} is no answer in OpenAI's batch format, a JSON object with custom_id "
                        "and response; give the file of results as the batch wrote it."
                    ) from None


def _answer(record: dict[str, Any]) -> Answer:
    response = record.get("response") or {}
    body = response.get("body") or {}
    failed = record.get("error") or body.get("error")
    if failed or response.get("status_code", 200) != 200:
        said = failed.get("message") if isinstance(failed, dict) else failed
        return Answer("", f"{FAILED}{said or response.get('status_code')}")
    return answer_of(body)
