"""The parent's side of a worker process."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from generator.base.errors import UserError
from generator.scene.planned import Planned

_OUTSIDE_SIGNALS = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, -signal.SIGQUIT}
_START, _STOP = 300.0, 60.0  # seconds that a worker may take to load Blender and to end


class WorkerProcess:
    """Runs generator.render.blender.worker on some cores: JSON lines go to its stdin and come from its stdout.

    The working directory may be a dataset of someone else's, so nothing is imported from it (`-P`).

    `job`: the scene that it is rendering. `made`: how many it has answered. `ready`: whether Blender has loaded.
    `deadline`: the time (time.monotonic) by which it must answer.
    """

    def __init__(self, setup: Mapping[str, Any], cores: list[int], timeout: float):
        self.cores, self.made, self.ready = cores, 0, False
        self.job: Planned | None = None
        self._timeout, self._partial, self._hung = timeout, b"", False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the worker)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "generator.render.blender.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # so that Ctrl-C reaches only the parent, which ends its workers
        )
        self._send({**setup, "cores": cores}, _START)

    def fileno(self) -> int:
        """The file descriptor of its answers, for a selector."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def give(self, job: Planned) -> None:
        """Send it a scene to render."""
        self.job = job
        self._send(asdict(job), self._timeout)

    def dismiss(self) -> None:
        """Close its input, so that it ends. Call it only while it renders nothing."""
        self.deadline = time.monotonic() + _STOP
        assert self._process.stdin is not None
        self._process.stdin.close()

    def answers(self) -> Iterator[dict[str, Any]] | None:
        """The answers that have arrived; None if the process has ended. Call it only if there is something to read.

        Raises UserError if no scene can be rendered at all, as when Blender does not load or the disk is full.
        """
        data = os.read(self.fileno(), 1 << 20)
        return self._parsed(data) if data else None

    def _parsed(self, data: bytes) -> Iterator[dict[str, Any]]:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if "broken" in answer:
                raise UserError(
                    answer["broken"] + ". Finished images are kept: mend this and run the same command again."
                )
            yield answer

    def seconds_left(self) -> float:
        """Seconds until its deadline, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def kill_if_overdue(self) -> None:
        """Kill it if its deadline has passed."""
        if time.monotonic() >= self.deadline and not self._hung:
            self._hung = True
            self._process.kill()

    def kill(self) -> None:
        """Kill it at once."""
        self._process.kill()
        self._process.wait()
        self._close()

    def end(self) -> tuple[bool, str]:
        """Wait for its end. Returns whether something outside killed it, and the reason to report."""
        code = self._process.wait()
        if self._hung:
            limit = self._timeout if self.ready else _START
            reason = f"the render worker gave no answer in {limit:.0f} s"
        else:
            reason = f"the render worker ended with code {code}{self._last_error_line()}"
        self._close()
        return code in _OUTSIDE_SIGNALS and not self._hung, reason

    def _last_error_line(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1].strip()})" if lines else ""

    def _send(self, message: Mapping[str, Any], timeout: float) -> None:
        self.deadline = time.monotonic() + timeout
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended, which the end of its stdout shows

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
