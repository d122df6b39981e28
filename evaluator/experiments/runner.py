"""Runs stages in order, each in a process of its own. What is done is not done again; what fails stops only what reads
it.
"""

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evaluator.experiments.stages import Stage
from evaluator.provenance.exposure import RECORD
from generator.base.errors import UserError
from generator.base.files import locked

logger = logging.getLogger(__name__)

LOG, DONE = "log.txt", "done"
_MAIN = """
import sys
from pathlib import Path
from generator.base.files import locked
from {}.cli.main import main
with locked(Path(sys.argv.pop(1))):
    main(prog_name={!r})
"""
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


def run_stages(
    stages: Sequence[Stage], root: Path, tell: Callable[[Stage, int], object] = lambda stage, number: None
) -> dict[str, Failure]:
    """Run those of `stages` (in order) that have not ended; `tell` is called before each, with its number among all
    from 1.

    Returns why stages have not ended, by their names: their own failure, or that of a stage that they read.
    """
    failures: dict[str, Failure] = {}
    for number, stage in enumerate(stages, 1):
        if is_done(stage, root):
            continue
        cause = next((failures[read.name] for read in stage.reads if read.name in failures), None)
        if cause is None:
            tell(stage, number)
            cause = run_stage(stage, root)
        if cause:
            failures[stage.name] = cause
    return failures


def is_done(stage: Stage, root: Path) -> bool:
    """Whether a stage has ended, in the folder of all stages."""
    return (root / stage.name / DONE).is_file()


def run_stage(stage: Stage, root: Path) -> Failure | None:
    """Run a stage, or continue it; None once it has ended. Another process that works on it is waited for.

    Its output is in `log.txt` of its folder, which has the empty file `done` once the stage has ended.
    """
    folder = root / stage.name
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / ".lock", stage):
        with _locked(folder / ".command.lock", stage):
            pass  # a command goes on when the process that started it is killed
        if is_done(stage, root):
            return None
        trained = (stage.out(root) / RECORD).exists()  # its process was killed before it could note so
        if stage.amended:
            _copy(stage.amended.out(root), stage.out(root))
        if not trained and (code := _run(stage, root)):
            return Failure(stage, code, folder / LOG)
        (folder / DONE).touch()
    return None


@contextmanager
def _locked(path: Path, stage: Stage) -> Iterator[None]:
    try:
        with locked(path, "busy"):
            pass
    except UserError:
        logger.info(f"Another command works on {stage.name}; waiting until it ends.")
    with locked(path):
        yield


def _run(stage: Stage, root: Path) -> int:
    words = stage.arguments(root)
    main = _MAIN.format(_PACKAGES[words[0]], words[0])
    with (root / stage.name / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", main, str(root / stage.name / ".command.lock"), *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            return process.wait()
        except BaseException:
            _stop(process)
            raise


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process; Ctrl-C in a terminal has reached it too."""
    try:
        process.wait(_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def _copy(source: Path, goal: Path) -> None:
    """Copy a folder anew, with hard links where the file system allows it: our commands replace files and never change
    them.
    """
    shutil.rmtree(goal, ignore_errors=True)
    shutil.copytree(source, goal, copy_function=_link)


def _link(source: str, goal: str) -> None:
    try:
        os.link(source, goal)
    except OSError:
        shutil.copy2(source, goal)
