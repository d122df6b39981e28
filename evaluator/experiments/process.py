"""Runs the command of a stage in a process of its own, and keeps its log and what it took."""

import logging
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from evaluator.experiments.amounts import amount_of
from evaluator.experiments.stages import Stage
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.base.lock import Lock

logger = logging.getLogger(__name__)

LOG, DONE = "log.txt", "done.json"
_MAIN = "import sys; from {}.cli.main import main; main(prog_name={!r})"
_PACKAGES = {"gen": "generator", "score": "evaluator"}
_LINES, _SECONDS = 5, 10


@dataclass(frozen=True)
class Failure:
    """A stage whose command failed, with its exit code and its log."""

    stage: Stage
    code: int
    log: Path

    @property
    def said(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_LINES:]
        return "\n".join(lines) or "It said nothing."


def done(stage: Stage, root: Path) -> bool:
    """Whether a stage has ended, in the folder of all stages."""
    return (root / stage.name / DONE).is_file()


def run_stage(stage: Stage, root: Path) -> Failure | None:
    """Run a stage, or continue it; None once it has ended. Another process that works on it is waited for.

    Its output is in `log.txt` of its folder. Once it has ended, `done.json` holds the seconds that it took, null if it was
    stopped in between, and the amount of its work.
    """
    folder = root / stage.name
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder / ".lock", stage) as lock:
        if done(stage, root):
            return None
        fresh, begun = not (folder / LOG).exists(), time.monotonic()
        if not _finished(stage, root):
            if stage.kind.amends:
                _copy(stage.amended.out(root), stage.out(root))
            code = _run(stage, root, lock)
            if code:
                return Failure(stage, code, folder / LOG)
        seconds = round(time.monotonic() - begun, 1) if fresh else None
        write_json(folder / DONE, {"seconds": seconds, "like": stage.like, **amount_of(stage, root)})
    return None


def _lock(path: Path, stage: Stage) -> Lock:
    try:
        with Lock(path, "busy"):
            pass
    except UserError:
        logger.info(f"Another command works on {stage.name}; waiting until it ends.")
    return Lock(path)


def _finished(stage: Stage, root: Path) -> bool:
    """Whether its command has ended, though the process that started it was killed before it could note so."""
    return bool(stage.kind.finished) and (stage.out(root) / stage.kind.finished).exists()


def _run(stage: Stage, root: Path, lock: Lock) -> int:
    words = stage.arguments(root)
    main = _MAIN.format(_PACKAGES[words[0]], words[0])
    with (root / stage.name / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", main, *words[1:]], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            pass_fds=[lock.fileno()],  # if this process is killed, the lock is held until that of the command has ended
        )  # fmt: skip
        try:
            return process.wait()
        except BaseException:
            _stop(process)
            raise


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process; after Ctrl-C in a terminal it was told so already."""
    try:
        process.wait(_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def _copy(source: Path, goal: Path) -> None:
    """Copy a folder anew, with hard links where the file system allows it: our commands replace files and never change them."""
    shutil.rmtree(goal, ignore_errors=True)
    shutil.copytree(source, goal, copy_function=_link)


def _link(source: str, goal: str) -> None:
    try:
        os.link(source, goal)
    except OSError:
        shutil.copy2(source, goal)
