"""Files in OpenAI's batch format: one question or one answer in each line."""

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
"""Limits of a batch file; OpenAI accepts 50,000 requests and 200 MB."""


def write_batch(
    path: Path, chats: Iterable[Chat], *, make_body: Callable[[Chat], dict[str, Any]]
) -> list[Path]:
    """Write questions as batch files, each within OpenAI's limits.

    Args:
        path: The first file.
        chats: The questions.
        make_body: Makes the body of a question's request.

    Returns:
        The files FILE, FILE-2 and so on; none if there are no questions.
    """
    paths: list[Path] = []
    file, lines, size = None, 0, 0
    with ExitStack() as open_files:
        for chat in chats:
            request = {
                "custom_id": chat.name,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": make_body(chat),
            }
            line = json.dumps(request) + "\n"
            is_full = lines >= _MOST_LINES or size + len(line) > _MOST_BYTES
            if file is None or is_full:
                next_path = path
                if paths:
                    next_path = path.with_stem(f"{path.stem}-{len(paths) + 1}")
                paths.append(next_path)
                draft = open_files.enter_context(draft_of(next_path))
                file = open_files.enter_context(draft.open("w", encoding="utf-8"))
                lines = 0
                size = 0
            file.write(line)
            lines += 1
            size += len(line)
    return paths


def read_batch(paths: Sequence[Path]) -> Iterator[tuple[str, Answer]]:
    """Read answers from batch files.

    Args:
        paths: The files of results, as the batch wrote them.

    Yields:
        The name of a question and its answer. The answer to a failed request holds the reason.

    Raises:
        UserError: A line is not an answer.
    """
    for path in paths:
        check_file(path)
        with path.open("rb") as file:
            # A longer line is read in pieces, and none of these is an answer.
            for number, line in enumerate(iter(lambda: file.readline(MOST_JSON), b""), 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                    yield str(record["custom_id"]), _answer_of_record(record)
                # A file of someone else may hold any JSON, deeply nested too.
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    raise UserError(
                        f"Line {number} of {path} is no answer in OpenAI's batch format, a JSON "
                        f"object with custom_id "
                        "and response; give the file of results as the batch wrote it."
                    ) from None


def _answer_of_record(record: dict[str, Any]) -> Answer:
    response = record.get("response") or {}
    body = response.get("body") or {}
    error = record.get("error") or body.get("error")
    if not error and response.get("status_code", 200) == 200:
        return answer_of(body)
    message = error.get("message") if isinstance(error, dict) else error
    return Answer("", f"{FAILED}{message or response.get('status_code')}")
