"""Answers that were given already, by the names of their questions, in a SQLite file for each model."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import TypeAdapter

from evaluator.models.contracts import Answer
from generator.base.errors import UserError
from generator.base.files import check_output

_ROWS = 500
_ANSWER = TypeAdapter(Answer)


class AnswerStore:
    """Answers in a file of `folder`, the user's cache for None. An answer is on disk when `put` returns, so a killed
    run asks none again. Threads may share it. Raises UserError where the file is damaged or the disk is full."""

    def __init__(self, key: str, folder: Path | None):
        self._path = (folder or user_cache_path("jackalope") / "answers") / f"{key}.sqlite"
        check_output(self._path, "set XDG_CACHE_HOME to another folder")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        with self._explained():
            self._database = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, answer TEXT NOT NULL)")

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    def put(self, name: str, answer: Answer) -> None:
        """Keep the answer to a question."""
        row = name, json.dumps(asdict(answer))
        with self._lock, self._explained(), self._database:
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)

    def get(self, names: Iterable[str]) -> dict[str, Answer]:
        """The answers to those questions that have one."""
        asked, found = list(dict.fromkeys(names)), {}
        for start in range(0, len(asked), _ROWS):
            part = asked[start : start + _ROWS]
            query = f"SELECT name, answer FROM answers WHERE name IN ({','.join('?' * len(part))})"
            with self._lock, self._explained():
                for name, answer in self._database.execute(query, part).fetchall():
                    found[name] = _ANSWER.validate_json(answer)
        return found

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise UserError(
                f"The answers in {self._path} cannot be used ({error}); delete it, free some space, or set "
                "XDG_CACHE_HOME."
            ) from None
