"""Answers that were given already, by the names of their questions, in a SQLite file for each model."""

import json
from dataclasses import asdict
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import TypeAdapter

from evaluator.models.contracts import Answer
from evaluator.scoring.store import Store

_ANSWER = TypeAdapter(Answer)


class AnswerStore(Store[Answer]):
    """Answers of the model `key` in a file of `folder`, the user's cache for None. An answer is on disk when `put`
    returns, so a killed run asks none again."""

    def __init__(self, key: str, folder: Path | None):
        super().__init__((folder or user_cache_path("jackalope") / "answers") / f"{key}.sqlite")
        with self._open() as database:
            database.execute("PRAGMA journal_mode=WAL")  # answers come one by one: each takes a quarter of the time

    def encode(self, name: str, value: Answer) -> bytes:
        """As JSON."""
        return json.dumps(asdict(value)).encode()

    def decode(self, name: str, kept: bytes) -> Answer | None:
        """None where it is no answer."""
        try:
            return _ANSWER.validate_json(kept)
        except ValueError:
            return None
