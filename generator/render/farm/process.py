"""A worker process, as the one who gives it scenes sees it."""

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

from generator.dataset.errors import UserError
from generator.plan.record import Planned

_FROM_OUTSIDE = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, -signal.SIGQUIT}
_START, _FAREWELL = 300.0, 60.0  # seconds that loading Blender and ending may take


class WorkerProcess:
    """Runs generator.render.blender.worker on some cores and speaks its protocol.

    `job` is the scene it has in hand, `made` how many it has answered, `ready` whether it has started, `deadline` the
    time (time.monotonic) by which it must answer.
    """

    def __init__(self, setup: Mapping[str, Any], cores: list[int], timeout: float):
        self.cores, self.made, self.ready = cores, 0, False
        self.job: Planned | None = None
        self._timeout, self._partial, self._hung = timeout, b"", False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the worker)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "generator.render.blender.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C reaches the parent alone, which ends its workers itself
        )
        self._send({**setup, "cores": cores}, _START)

    def fileno(self) -> int:
        """The descriptor to wait on for answers."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def give(self, job: Planned) -> None:
        """Have it render a scene."""
        self.job = job
        self._send(asdict(job), self._timeout)

    def dismiss(self) -> None:
        """Let it end by itself; it has no scene in hand."""
        self.deadline = time.monotonic() + _FAREWELL
        assert self._process.stdin is not None
        self._process.stdin.close()

    def answers(self) -> Iterator[dict[str, Any]] | None:
        """What it says, when there is something to read; None at its end.

        Raises UserError when no scene can be rendered at all (Blender does not load, the disk is full).
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

    def patience(self) -> float:
        """Seconds until it is overdue."""
        return max(0.0, self.deadline - time.monotonic())

    def kill_if_overdue(self) -> None:
        """Kill it when it hangs."""
        if time.monotonic() >= self.deadline and not self._hung:
            self._hung = True
            self._process.kill()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._close()

    def end(self) -> tuple[bool, str]:
        """Whether it was killed from outside, rather than by a fault of its own, and what there is to say of its end."""
        code = self._process.wait()
        if self._hung:
            patience = self._timeout if self.ready else _START
            reason = f"the render worker gave no answer in {patience:.0f} s"
        else:
            reason = f"the render worker ended with code {code}{self._last_words()}"
        self._close()
        return code in _FROM_OUTSIDE and not self._hung, reason

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1].strip()})" if lines else ""

    def _send(self, message: Mapping[str, Any], patience: float) -> None:
        self.deadline = time.monotonic() + patience
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it died: the end of its stdout says so

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
