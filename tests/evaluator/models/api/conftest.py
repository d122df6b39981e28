"""A running server, and the requests that it got."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.models.api import chat_server


class Server:
    """A process of chat_server.py."""

    def __init__(self, log: Path, port: int = 0):
        self._log = log
        log.touch()
        code = [sys.executable, chat_server.__file__, str(log), str(port)]
        self._process = subprocess.Popen(code, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def spec(self, model: str) -> str:
        """How a model of the server is named."""
        return f"api:http://127.0.0.1:{self.port}/v1@{model}"

    def requests(self) -> list[dict[str, Any]]:
        """What was asked so far, in order."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def stop(self) -> None:
        """End the process; its port answers no more."""
        self._process.kill()
        self._process.wait()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = Server(tmp_path / "requests.jsonl")
    yield running
    running.stop()
