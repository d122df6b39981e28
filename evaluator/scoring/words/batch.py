"""OpenAI's batch files: questions out, answers in."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evaluator.models.api import answer_of
from evaluator.models.contracts import FAILED, Answer, Chat
from generator.base.errors import UserError
from generator.base.files import draft_of
from generator.base.limits import MOST_JSON, check_file

_MOST_LINES, _MOST_BYTES = 50_000, 190 << 20
"""Of a batch file; OpenAI takes 50,000 requests and 200 MB."""


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
