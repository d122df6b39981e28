"""Runs the process in which Blender reads and draws users' meshes (generator/render/blender/asset_worker.py)."""

import json
import queue
import subprocess
import sys
import tempfile
import threading
from types import TracebackType
from typing import Any

from generator.base.errors import UserError

_TIMEOUT = 600.0  # seconds for one answer


class AssetWorker:
    """A Blender process that starts with the first request and ends with the context."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "AssetWorker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()
            self._errors.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer (the requests are listed in asset_worker.py).

        Raises UserError where the request is refused, and where Blender crashes or takes too long.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        answers: queue.Queue[str] = queue.Queue()
        reader = threading.Thread(target=lambda out=process.stdout: answers.put(out.readline()), daemon=True)
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        reader.start()
        try:
            line = answers.get(timeout=_TIMEOUT)
        except queue.Empty:
            raise UserError(
                f"Blender gave no answer in {_TIMEOUT:.0f} s: the mesh is too heavy or damaged; export it again."
            ) from None
        if not line:
            raise UserError(f"Blender ended over it{self._last_words()}: the file is damaged; export it again.")
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise UserError(answer["refused"])
        return answer

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  (it lives as long as the process)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "generator.render.blender.asset_worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            )  # fmt: skip
        return self._process

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return f" ({lines[-1].strip()})" if lines else ""
