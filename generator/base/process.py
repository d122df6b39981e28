"""Child processes that answer lines of JSON. If one crashes or hangs, its parent goes on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import RLock, Timer
from types import TracebackType
from typing import Any, Self

_NO_MEMORY_OF_RUST = "memory allocation of "
"""How the line begins with which a program in Rust ends without memory."""
_OUTSIDE_SIGNALS = {
    -signal.SIGKILL,
    -signal.SIGTERM,
    -signal.SIGINT,
    -signal.SIGHUP,
    -signal.SIGQUIT,
}
"""Exit codes of a process that something outside killed, such as the system when memory is
short."""
_STOP = 60.0
"""Seconds that an idle process may take to end."""
_KEPT_NAMES = {
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "LANG", "LANGUAGE", "TZ"),
    # Where shared libraries and the code of this project are, and the meshes of the user
    *(
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "DYLD_LIBRARY_PATH",
        "PYTHONPATH",
        "XDG_CACHE_HOME",
        "JACKALOPE_ASSETS",
    ),
}
# The language, and which GPUs are seen.
_KEPT_BEGINNINGS = (
    "LC_",
    "CUDA_",
    "NVIDIA_",
    "HIP_",
    "ROCR_",
    "ONEAPI_",
    "ZE_",
)


def worker_environment() -> dict[str, str]:
    """Choose the environment of a process that reads files of others or renders.

    Blender, Cycles, its libraries and Python read many variables, and some change pixels or run
    code: OCIO names another colour configuration, BLENDER_USER_SCRIPTS a folder of scripts.

    Returns:
        The variables of this process that such a process needs.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_NAMES or name.startswith(_KEPT_BEGINNINGS)
    }


class ProcessEndError(Exception):
    """A process ended without an answer."""

    def __init__(self, reason: str, killed: bool):
        """Make the error.

        Args:
            reason: How it ended, as a clause.
            killed: Whether something outside killed it.
        """
        super().__init__(reason)
        self.killed = killed
        """Whether something outside killed it."""


class AnsweringProcess:
    """Runs a module of this project in a child process that answers lines of JSON on stdin with
    lines on stdout.

    Nothing is imported from the working directory (`-P`): it may be an untrusted dataset. Of the
    environment it sees what `worker_environment` keeps.
    """

    def __init__(self, module: str):
        """Start the process.

        Args:
            module: Name of the module, which calls `answer_with`.
        """
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the process)
        self._busy = True
        self._hung = False
        self._ending = RLock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=worker_environment(),
            # So that Ctrl-C reaches only the parent, which ends its processes
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message without waiting for its answer.

        Args:
            message: The message, ready for JSON.
        """
        self._busy = True
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        except BrokenPipeError:
            # The process has ended, which the end of its stdout shows.
            pass

    def answer(self, timeout: float) -> dict[str, Any]:
        """Wait for the next answer.

        Args:
            timeout: Seconds to wait; then the process is killed.

        Returns:
            The answer.

        Raises:
            ProcessEndError: The process ends, or is killed.
        """
        watch = Timer(timeout, self._kill_hung)
        try:
            watch.start()
            line = self._output.readline()
        finally:
            # On Ctrl-C too: Python waits for its threads before it ends.
            watch.cancel()
        if not line.endswith(b"\n"):
            raise self._end(timeout)
        return dict(json.loads(line))

    def ask(self, message: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Send a message and wait for its answer.

        Args:
            message: The message, ready for JSON.
            timeout: Seconds to wait; then the process is killed.

        Returns:
            The answer.

        Raises:
            ProcessEndError: As for `answer`.
        """
        self.send(message)
        answer = self.answer(timeout)
        self._busy = False
        return answer

    def close(self) -> None:
        """End the process. Wait up to 60 s if its last `ask` was answered, then kill it; else kill
        it at once."""
        # Two threads may close it.
        with self._ending:
            with suppress(BrokenPipeError):
                self._input.close()
            try:
                self._process.wait(0 if self._busy else _STOP)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._output.close()
            self._errors.close()

    def _kill_hung(self) -> None:
        self._hung = True
        self._process.kill()

    def _end(self, timeout: float) -> ProcessEndError:
        """Wait for the end of the process, and say how it ended."""
        code = self._process.wait()
        if self._hung:
            return ProcessEndError(f"gave no answer in {timeout:.0f} s", killed=False)
        if code == -signal.SIGXCPU:
            return ProcessEndError("took more processor time than it may", killed=False)
        with self._ending:
            lines = [] if self._errors.closed else self._error_lines()
        # Libraries in Rust abort with this line, and others after it.
        if any(line.startswith(_NO_MEMORY_OF_RUST) for line in lines):
            return ProcessEndError("needed more memory than it may", killed=False)
        last = f" ({lines[-1].strip()})" if lines else ""
        return ProcessEndError(f"ended with code {code}{last}", code in _OUTSIDE_SIGNALS)

    def _error_lines(self) -> list[str]:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip().splitlines()


def answer_with() -> Callable[..., None]:
    """Prepare the child process for answering. All other output goes to stderr from now on.

    Returns:
        A function that writes its keyword arguments to stdout as a line of JSON.
    """
    answers = os.fdopen(os.dup(1), "w")
    # Libraries print to stdout, which would be read as an answer.
    os.dup2(2, 1)

    def answer(**message: Any) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    return answer
